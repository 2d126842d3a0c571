"""Read a stored file within the work of a job."""

from __future__ import annotations

import hashlib

import fsspec

from autoprog.errors import ArtifactError
from autoprog.jobs.ports import FileRef


def read_file(ref: FileRef) -> bytes:
    """Read a stored file; raises ArtifactError if it is missing or its digest differs."""
    try:
        with fsspec.open(ref.url, "rb") as file:
            content: bytes = file.read()
    except FileNotFoundError:
        raise ArtifactError(f"the file {ref.sha256[:12]} is missing") from None
    if hashlib.sha256(content).hexdigest() != ref.sha256:
        raise ArtifactError(f"the file {ref.sha256[:12]} was altered after it was stored")
    return content
