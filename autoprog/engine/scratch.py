"""Temporary folders of workers, and the removal of those that killed workers left.

A worker locks its folder; the system releases the lock however the process ends. The process's number would not do: in
a restarted container, the next worker has the same number.
"""

from __future__ import annotations

import fcntl
import logging
import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from shutil import rmtree

_PREFIX = "autoprog-worker-"
# Not locked yet, so that it must not be found in the search for unlocked folders.
_NEW_PREFIX = "autoprog-new-"
_log = logging.getLogger(__name__)


class Scratch:
    """A private temporary folder; making one removes those of this user's dead workers, `close` removes it."""

    def __init__(self, parent: Path | None = None) -> None:
        parent = Path(tempfile.gettempdir()) if parent is None else parent
        remove_leftovers(parent)
        made = Path(tempfile.mkdtemp(prefix=_NEW_PREFIX, dir=parent))
        self._lock = os.open(made, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self.folder = made.rename(parent / f"{_PREFIX}{os.getpid()}-{made.name.removeprefix(_NEW_PREFIX)}")

    def close(self) -> None:
        """Remove the folder with everything in it; no child may be alive."""
        _remove(self.folder)
        os.close(self._lock)


def remove_leftovers(parent: Path) -> None:
    """Remove the folders that killed workers of this user left in `parent`."""
    for folder in parent.glob(f"{_PREFIX}*"):
        with suppress(FileNotFoundError):  # another starting worker has removed it
            status = folder.lstat()
            if stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid():
                _remove_unlocked(folder)


def _remove_unlocked(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return  # its worker lives
    else:
        _remove(folder)
    finally:
        os.close(descriptor)


def _remove(folder: Path) -> None:
    try:
        rmtree(folder)
    except OSError as error:
        # A killed worker's child lives on for a few seconds and may write meanwhile. The next worker tries again.
        _log.warning("the temporary folder %s cannot be removed: %s", folder, error)
