"""Room on the disks: whether there is some, and how its lack is told."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path

from autoprog.errors import StorageFullError

MIN_FREE = 64 * 2**20
"""Bytes below which a disk counts as full: what is running must be able to end."""

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


def has_room(place: Path) -> bool:
    """Whether something can be stored at a place of this machine, which need not be there yet."""
    there = next(each for each in (place, *place.absolute().parents) if each.exists())
    return shutil.disk_usage(there).free >= MIN_FREE


def is_full(error: BaseException) -> bool:
    """Whether the system says that a disk, or a quota, is full."""
    return isinstance(error, OSError) and error.errno in _FULL


def full(error: BaseException) -> StorageFullError:
    """The error of our own for one of the system or of a database."""
    return StorageFullError(f"no room is left: {' '.join(str(error).split())}")
