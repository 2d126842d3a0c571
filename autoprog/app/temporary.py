"""An installation of one process for one search: a temporary database and files, and an engine that stays."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
import threading
import weakref
import zlib
from pathlib import Path

from autoprog.engine import LocalEngine
from autoprog.search.runner import Runner
from autoprog.storage.database import Database
from autoprog.storage.files import Files
from autoprog.storage.store import DatabaseStore

# A third of it passes before an interruption is noticed.
_LEASE_S = 3.0

# By slots and process: a forked process must not use its parent's.
_engines: dict[tuple[int, int], LocalEngine] = {}
_making = threading.Lock()


class TemporaryInstallation:
    """Database and files in a temporary folder."""

    def __init__(self) -> None:
        folder = Path(tempfile.mkdtemp(prefix="autoprog-"))
        # Called when the process ends too.
        self._remove_folder = weakref.finalize(self, _remove, folder)
        self._file = folder / "search.db"
        self.database, self.files = Database(f"sqlite:///{self._file}"), Files(str(folder / "files"))

    def restore(self, content: bytes) -> None:
        """Have the database that was archived; nothing may have been written before."""
        self._file.write_bytes(zlib.decompress(content))
        self.database.create()  # what an earlier version archived lacks the tables added since

    def archived(self) -> bytes:
        """Return the database, compressed."""
        connection = sqlite3.connect(self._file)
        try:
            return zlib.compress(connection.serialize(), 1)
        finally:
            connection.close()

    def runner(self, engine: LocalEngine) -> Runner:
        """Make a runner of this database's search, which teaches later searches nothing."""
        store = DatabaseStore(self.database, self.files)
        return Runner(store, engine, runner_id="estimator", lease_s=_LEASE_S, teaches=False)

    def remove(self) -> None:
        """Close the database and remove the folder."""
        self.database.close()
        self._remove_folder()


def _remove(folder: Path) -> None:
    """Remove a folder that the thread of a search that was left may still write to: by then it has another name."""
    renamed = folder.with_name(f"{folder.name}-removed")
    try:
        folder.rename(renamed)
    except FileNotFoundError:
        return
    shutil.rmtree(renamed, ignore_errors=True)


def open_engine(slots: int) -> LocalEngine:
    """Return the process's engine with this number of slots; it serves all later searches."""
    with _making:
        place = slots, os.getpid()
        if place not in _engines:
            _engines[place] = LocalEngine(slots)
        return _engines[place]


def close_engines() -> None:
    """End the processes that searches ran in; a later search starts new ones."""
    with _making:
        for engine in _engines.values():
            engine.close()
        _engines.clear()
