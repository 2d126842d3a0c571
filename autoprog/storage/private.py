"""Folders and files that only the process's user can read."""

from __future__ import annotations

import os
from pathlib import Path

_FOLDER, _FILE = 0o700, 0o600
_OTHERS = 0o077


def make_folder(folder: Path) -> None:
    """Make a folder and its missing parents; existing ones stay as they are."""
    missing = [each for each in folder.parents if not each.exists()]
    for each in (*reversed(missing), folder):
        each.mkdir(mode=_FOLDER, exist_ok=True)


def opener(path: str, flags: int) -> int:
    """Open a file for `open`; a new file is private."""
    return os.open(path, flags, _FILE)


def make_file(path: Path) -> None:
    """Make an empty file and its folder if absent."""
    make_folder(path.parent)
    with open(path, "ab", opener=opener):
        pass


def tighten(path: Path) -> None:
    """Remove other users' rights on a file or folder of ours from an earlier version."""
    if path.exists() and path.stat().st_uid == os.getuid() and path.stat().st_mode & _OTHERS:
        path.chmod(path.stat().st_mode & ~_OTHERS & 0o777)
