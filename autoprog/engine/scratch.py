"""A private folder for the child processes of one worker, and what workers that were killed left of theirs.

A worker holds a lock on its folder, which the system lets go of when the process ends, however it ends. The number of
the process would not do: in a container that is started again, the next worker has the number of the last one.
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
# Not yet locked, and so not to be found by those who look for folders without a lock.
_NEW_PREFIX = "autoprog-new-"
_log = logging.getLogger(__name__)


class Scratch:
    """A folder for temporary files that only this user can read, made here and removed by `close`.

    Folders of workers of this user that live no more are removed first.

    Parameters
    ----------
    parent : pathlib.Path or None
        Where it is made; by default the system's folder for temporary files.

    Attributes
    ----------
    folder : pathlib.Path
        The folder; its name holds the number of this process.

    Raises
    ------
    OSError
        If no folder can be made there.
    """

    def __init__(self, parent: Path | None = None) -> None:
        parent = Path(tempfile.gettempdir()) if parent is None else parent
        remove_leftovers(parent)
        made = Path(tempfile.mkdtemp(prefix=_NEW_PREFIX, dir=parent))
        self._lock = os.open(made, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self.folder = made.rename(parent / f"{_PREFIX}{os.getpid()}-{made.name.removeprefix(_NEW_PREFIX)}")

    def close(self) -> None:
        """Remove the folder with all that is in it; no child may be alive."""
        _remove(self.folder)
        os.close(self._lock)


def remove_leftovers(parent: Path) -> None:
    """Remove the folders of workers of this user that were killed.

    Parameters
    ----------
    parent : pathlib.Path
        Where they lie.
    """
    for folder in parent.glob(f"{_PREFIX}*"):
        with suppress(FileNotFoundError):  # another worker that starts now removed it
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
        # A child of a killed worker lives on for a few seconds and may write meanwhile. The next worker tries again.
        _log.warning("the temporary folder %s cannot be removed: %s", folder, error)
