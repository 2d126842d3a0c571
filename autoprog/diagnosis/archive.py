"""Named arrays in one file: deterministic bytes, read without running code."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autoprog.errors import ArtifactError


def pack_arrays(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Write arrays of numbers as a compressed npz archive; the same arrays give the same bytes."""
    file = io.BytesIO()
    np.savez_compressed(file, allow_pickle=False, **arrays)
    return file.getvalue()


def unpack_arrays(data: bytes, what: str) -> dict[str, NDArray[Any]]:
    """Read what `pack_arrays` wrote; raises `ArtifactError`, whose text says `what` it should be, for other bytes."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except (ValueError, KeyError, OSError, EOFError, AttributeError, zipfile.BadZipFile, zipfile.LargeZipFile) as error:
        msg = f"the stored {what} cannot be read"
        raise ArtifactError(msg) from error
