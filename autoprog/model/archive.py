"""Zip archives that are the same bytes for the same content, and that are opened with suspicion."""

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
    """Write an archive.

    Parameters
    ----------
    files : mapping
        Name -> content, in the order to be written.
    compress : bool
        Whether to deflate; not for what is compressed already.

    Returns
    -------
    bytes
        The zip file, with one fixed time stamp.
    """
    buffer = BytesIO()
    with ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            entry = ZipInfo(name, _TIMESTAMP)
            archive.writestr(entry, content, compress_type=ZIP_DEFLATED if compress else ZIP_STORED)
    return buffer.getvalue()


def unpack(content: bytes) -> dict[str, bytes]:
    """Read an archive.

    Parameters
    ----------
    content : bytes
        A zip file.

    Returns
    -------
    dict
        Name -> content.

    Raises
    ------
    ArtifactError
        As `check_bounds` does, or if what an entry holds is not what it states.
    """
    check_bounds(content)
    with _damage_named(), ZipFile(BytesIO(content)) as archive:
        return {entry.filename: archive.read(entry) for entry in archive.infolist()}


def check_bounds(content: bytes) -> None:
    """Refuse an archive that would unpack to too much, without unpacking it.

    Parameters
    ----------
    content : bytes
        A zip file. Reading an entry ends at the size that the entry states, so that it cannot hold more.

    Raises
    ------
    ArtifactError
        If it is no zip file, states a size or a number of entries beyond the bounds, or uses a name twice.
    """
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
