"""Free space on disks, and the error if there is none."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path

from autoprog.errors import StorageFullError

MIN_FREE = 64 * 2**20
"""Free bytes below which a disk counts as full, so that running work can still end."""

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


def has_room(place: Path) -> bool:
    """Check whether something can be stored at a local path, which need not exist yet."""
    there = next(each for each in (place, *place.absolute().parents) if each.exists())
    return shutil.disk_usage(there).free >= MIN_FREE


def is_full(error: BaseException) -> bool:
    """Check whether the system reports a full disk or quota."""
    return isinstance(error, OSError) and error.errno in _FULL


def full(error: BaseException) -> StorageFullError:
    """Convert an error of the system or a database to StorageFullError."""
    return StorageFullError(f"no room is left: {' '.join(str(error).split())}")
