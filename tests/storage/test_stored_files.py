from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from sqlalchemy import select, update

from autoprog.app.service import Service
from autoprog.settings import Settings
from autoprog.storage.database import Database, database_now
from autoprog.storage.files import Files, Kind, StoredFile
from autoprog.storage.repositories import CohortRepository
from autoprog.storage.stored_files import remove_unreferenced, store_file, store_files, sweep
from autoprog.storage.tables import CohortRow, StoredFileRow
from tests.storage.support import PATIENTS, SHA256, add_cohort, add_owner, wait_until_someone_waits

COHORT = StoredFile("cohorts", SHA256)


def keep(database: Database, files: Files, content: bytes = PATIENTS) -> CohortRow:
    with database.session() as session:
        sha256 = store_file(database, files, session, "cohorts", content)
        return add_cohort(session, add_owner(session), sha256)


def delete(database: Database, row: CohortRow) -> None:
    with database.session() as session:
        assert CohortRepository(session).delete(row.owner_id, row.id, models="keep") == (COHORT,)


def die_before_the_row(database: Database, files: Files) -> None:
    with database.session() as session:
        store_file(database, files, session, "cohorts", PATIENTS)
        raise KeyboardInterrupt


def age(database: Database, hours: float) -> None:
    with database.session() as session:
        session.execute(update(StoredFileRow).values(put_at=database_now(session) - timedelta(hours=hours)))


def recorded(database: Database) -> set[str]:
    with database.session(read_only=True) as session:
        return set(session.scalars(select(StoredFileRow.sha256)))


def test_files_are_stored_by_kind(database: Database, files: Files) -> None:
    contents: dict[Kind, bytes] = {"test_selection_tables": b"a table", "test_selection_arms": b"the arms"}
    with database.session() as session:
        stored = store_files(database, files, session, contents)
    assert {kind: files.get(kind, sha256) for kind, sha256 in stored.items()} == contents
    assert recorded(database) == set(stored.values())


def test_a_file_is_not_removed_while_the_same_is_being_stored(database: Database, files: Files) -> None:
    delete(database, keep(database, files))
    with ThreadPoolExecutor() as pool:
        with database.session() as session:
            store_file(database, files, session, "cohorts", PATIENTS)
            removing = pool.submit(remove_unreferenced, database, files, [COHORT])
            wait_until_someone_waits(database)
            row = add_cohort(session, add_owner(session))
        removing.result(60)
    assert files.get(*COHORT) == PATIENTS
    delete(database, row)
    remove_unreferenced(database, files, [COHORT])
    assert not files.has(COHORT)


def test_a_file_that_was_removed_before_its_row_was_locked_is_stored_again(database: Database, tmp_path: Path) -> None:
    class Raced(Files):
        removals = 0

        def put(self, kind: Kind, content: bytes) -> str:
            sha256 = super().put(kind, content)
            if not self.removals:
                self.removals += 1
                remove_unreferenced(database, self, [StoredFile(kind, sha256)])
                assert not self.has(StoredFile(kind, sha256))
            return sha256

    files = Raced(str(tmp_path), b"key")
    keep(database, files)
    assert files.get(*COHORT) == PATIENTS


def test_whoever_has_a_row_has_its_file(database: Database, files: Files) -> None:
    """Three at once store the same and delete it again."""

    def come_and_go() -> None:
        for _ in range(8):
            row = keep(database, files)
            assert files.has(COHORT)
            delete(database, row)
            remove_unreferenced(database, files, [COHORT])

    with database.session() as session:
        add_owner(session)
    with ThreadPoolExecutor() as pool:
        for each in [pool.submit(come_and_go) for _ in range(3)]:
            each.result(240)
    assert not files.has(COHORT)


def test_what_a_process_left_that_died_is_swept_after_an_hour(database: Database, files: Files, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        die_before_the_row(database, files)
    unfinished = Path(files.url(*COHORT).removeprefix("file://")).with_name(f".{SHA256}.0123")
    unfinished.write_bytes(PATIENTS[:3])
    age(database, hours=0.9)  # somebody may still be storing it
    sweep(database, files)
    assert files.has(COHORT)
    age(database, hours=1.1)
    sweep(database, files)
    assert [path for path in (tmp_path / "files").rglob("*") if path.is_file()] == []
    assert recorded(database) == set()
    sweep(database, files)


def test_what_a_deletion_has_not_come_to_is_swept(database: Database, files: Files) -> None:
    delete(database, keep(database, files))
    age(database, hours=2)
    sweep(database, files)
    assert not files.has(COHORT)


def test_what_is_needed_or_not_known_is_not_swept(database: Database, files: Files) -> None:
    keep(database, files)
    unknown = StoredFile("cohorts", files.put("cohorts", b"of another database"))
    age(database, hours=24)
    sweep(database, files)
    assert files.has(COHORT)
    assert files.has(unknown)
    assert recorded(database) == {SHA256}


def stick(files: Files, file: StoredFile) -> None:
    """Make a file one that cannot be removed."""
    path = Path(files.url(*file).removeprefix("file://"))
    path.unlink()
    path.mkdir()


def test_a_file_that_cannot_be_removed_keeps_no_other_from_being_swept(database: Database, files: Files) -> None:
    stored = []
    for content in (b"the first", b"a second", b"a third"):
        with database.session() as session:
            stored.append(StoredFile("cohorts", store_file(database, files, session, "cohorts", content)))
    stick(files, stored[0])
    age(database, hours=2)
    sweep(database, files)
    assert [files.has(file) for file in stored] == [True, False, False]
    assert recorded(database) == {stored[0].sha256}  # to be tried again


def test_retention_is_kept_while_a_file_cannot_be_swept(tmp_path: Path) -> None:
    with closing(Service(Settings(data_dir=tmp_path, retention_days=30))) as service:
        service.database.migrate()
        with pytest.raises(KeyboardInterrupt):
            die_before_the_row(service.database, service.files)
        stick(service.files, COHORT)
        keep(service.database, service.files, b"other patients")
        age(service.database, hours=2)
        with service.database.session() as session:
            session.execute(update(CohortRow).values(created_at=database_now(session) - timedelta(days=31)))
        service._sweep()
        with service.database.session(read_only=True) as session:
            assert session.scalars(select(CohortRow)).all() == []


def test_a_process_that_runs_searches_sweeps(tmp_path: Path) -> None:
    with closing(Service(Settings(data_dir=tmp_path))) as service:
        service.database.migrate()
        with pytest.raises(KeyboardInterrupt):
            die_before_the_row(service.database, service.files)
        age(service.database, hours=2)
        vars(service)["engine"] = SimpleNamespace(close=lambda: None)  # nothing is queued for it
        with service.running():
            deadline = time.monotonic() + 60
            while service.files.has(COHORT):
                assert time.monotonic() < deadline
                time.sleep(0.01)
