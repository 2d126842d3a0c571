"""Patients' data on the disk are their owner's alone, whatever the mask of the process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from autoprog.app.service import Service
from autoprog.settings import Settings
from tests.storage.support import add_owner


@pytest.fixture(autouse=True)
def _wide_mask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def _store_something(data_dir: Path) -> None:
    with closing(Service(Settings(data_dir=data_dir))) as service:
        service.database.migrate()
        with service.database.session() as session:
            add_owner(session)
        service.files.put("cohorts", b"patients")
        assert (data_dir / "autoprog.db-wal").exists()


def _rights(folder: Path) -> dict[str, int]:
    paths = [folder, *folder.rglob("*")]
    return {str(path.relative_to(folder.parent)): path.stat().st_mode & 0o077 for path in paths}


def test_what_is_stored_is_readable_by_nobody_else(tmp_path: Path) -> None:
    data_dir = tmp_path / "new" / "data"
    _store_something(data_dir)
    rights = _rights(tmp_path / "new")
    assert len(rights) >= 6
    assert rights == dict.fromkeys(rights, 0)


def test_what_an_earlier_version_left_open_is_closed(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    _store_something(data_dir)
    (data_dir / "files").chmod(0o755)
    (data_dir / "autoprog.db").chmod(0o644)
    data_dir.chmod(0o755)
    _store_something(data_dir)
    rights = _rights(data_dir)
    # The folder itself may hold other things than ours, and stays as its owner has it.
    assert {name: right for name, right in rights.items() if right} == {"data": 0o055}
