"""Zip archives that are reproducible byte by byte, and are checked before they are opened."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from autoprog.errors import ArtifactError

# A forest of 500 deep trees on 10^5 patients unpacks to some hundred MiB.
MAX_UNPACKED_BYTES = 4 * 2**30
MAX_ENTRIES = 100_000

_TIMESTAMP = (1980, 1, 1, 0, 0, 0)


def pack(files: Mapping[str, bytes], *, compress: bool) -> bytes:
    """Write a zip file of the files in order, with one fixed time stamp; do not deflate what is compressed."""
    buffer = BytesIO()
    with ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            entry = ZipInfo(name, _TIMESTAMP)
            archive.writestr(entry, content, compress_type=ZIP_DEFLATED if compress else ZIP_STORED)
    return buffer.getvalue()


def unpack(content: bytes) -> dict[str, bytes]:
    """Read a zip file; raises ArtifactError as `check_bounds`, or if an entry's content is not as stated."""
    check_bounds(content)
    with _damage_named(), ZipFile(BytesIO(content)) as archive:
        return {entry.filename: archive.read(entry) for entry in archive.infolist()}


def check_bounds(content: bytes) -> None:
    """Raise ArtifactError, before unpacking, for no zip file, too large or too many entries, or a repeated name."""
    # Reading an entry ends at its stated size, so it cannot hold more.
    with _damage_named(), ZipFile(BytesIO(content)) as archive:
        entries = archive.infolist()
    if len(entries) > MAX_ENTRIES:
        raise ArtifactError(f"the archive has {len(entries):,} entries; at most {MAX_ENTRIES:,} are read")
    if (size := sum(entry.file_size for entry in entries)) > MAX_UNPACKED_BYTES:
        raise ArtifactError(f"the archive unpacks to {size:,} bytes; at most {MAX_UNPACKED_BYTES:,} are read")
    if len({entry.filename for entry in entries}) < len(entries):
        raise ArtifactError("the archive uses a name twice")


@contextmanager
def _damage_named() -> Iterator[None]:
    try:
        yield
    except (BadZipFile, zlib.error, EOFError, NotImplementedError, OSError, RuntimeError, ValueError) as error:
        raise ArtifactError(f"the archive is damaged: {error}") from error
