"""A temporary installation is removed whoever still writes in it."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from autoprog.app.temporary import TemporaryInstallation


def test_folder_that_is_still_written_to_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    installation = TemporaryInstallation()
    (folder,) = tmp_path.iterdir()
    writing, written = threading.Event(), []

    def write() -> None:
        try:
            for number in range(1_000_000):
                (folder / f"{number}").touch()
                written.append(number)
                writing.set()
        except FileNotFoundError:
            return

    thread = threading.Thread(target=write)
    thread.start()
    assert writing.wait(10)
    installation.remove()
    thread.join(10)
    assert written
    assert list(tmp_path.iterdir()) == []
