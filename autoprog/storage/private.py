"""Folders and files that nobody reads but the user whose process made them."""

from __future__ import annotations

import os
from pathlib import Path

_FOLDER, _FILE = 0o700, 0o600
_OTHERS = 0o077


def make_folder(folder: Path) -> None:
    """Make a folder, with those above it that are missing; one that is there stays as it is."""
    missing = [each for each in folder.parents if not each.exists()]
    for each in (*reversed(missing), folder):
        each.mkdir(mode=_FOLDER, exist_ok=True)


def opener(path: str, flags: int) -> int:
    """Open a file for `open`, so that one that is new is private."""
    return os.open(path, flags, _FILE)


def make_file(path: Path) -> None:
    """Make an empty file where there is none, and a folder for it."""
    make_folder(path.parent)
    with open(path, "ab", opener=opener):
        pass


def tighten(path: Path) -> None:
    """Take from others what they may do with a file or folder of ours that an earlier version made."""
    if path.exists() and path.stat().st_uid == os.getuid() and path.stat().st_mode & _OTHERS:
        path.chmod(path.stat().st_mode & ~_OTHERS & 0o777)
