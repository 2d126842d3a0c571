"""A temporary installation: the database that it takes over, and its removal whoever still writes in it."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from sqlalchemy import text

from autoprog.app.temporary import TemporaryInstallation
from autoprog.storage.tables import Base, ModelCohortRow


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


def test_tables_added_since_a_search_was_archived_are_made() -> None:
    earlier, later = TemporaryInstallation(), TemporaryInstallation()
    earlier.database.create()
    with earlier.database.session() as session:
        session.execute(text(f"DROP TABLE {ModelCohortRow.__tablename__}"))
    later.restore(earlier.archived())
    with later.database.session(read_only=True) as session:
        tables = set(session.scalars(text("SELECT name FROM sqlite_master WHERE type = 'table'")))
    assert tables == set(Base.metadata.tables)
    for installation in (earlier, later):
        installation.remove()
