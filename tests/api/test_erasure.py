"""Erasure of an owner, and of patients' data that are too old."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import func, select, update

from autoprog.errors import NotFoundError
from autoprog.storage.database import Database, database_now
from autoprog.storage.erasure import erase_expired, erase_owner
from autoprog.storage.files import Files, StoredFile
from autoprog.storage.repositories import AuditRepository
from autoprog.storage.repositories.audit import local_address
from autoprog.storage.stored_files import sweep
from autoprog.storage.tables import (
    Base,
    CohortRow,
    DiagnosisSessionRow,
    OwnerRow,
    SearchRow,
    SearchStatus,
    StoredFileRow,
)
from tests.api.conftest import MakeClient
from tests.api.diagnosing import make_model, open_session, without_groups
from tests.api.searching import SMALL, SMALL_SPEC, Driver, make_cohort, make_search, multipart, table
from tests.api.selecting import make_problem, open_round

ALL = ("read", "write", "predict", "approve")
ADDRESS = "root@server"


class Stuck(Files):
    """Files that cannot be removed."""

    def delete(self, file: StoredFile, *, unfinished: bool = False) -> None:
        raise PermissionError(file.sha256)


def use(client: TestClient, driver: Driver) -> dict[str, str]:
    """Leave something in as many tables as possible; return the paths of what can be read."""
    search = make_search(client)
    driver.run()
    model_id = client.get(f"/v1/searches/{search['id']}").json()["model_id"]
    again = client.post(f"/v1/models/{model_id}/recalibrations", json={"cohort_id": search["cohort_id"]}).json()
    validation = client.post(f"/v1/models/{model_id}/validations", json={"cohort_id": search["cohort_id"]})
    client.post(f"/v1/models/{again['id']}/status-changes", json={"status": "approved"})
    diagnosis = make_model(client, **without_groups(name="toy"))
    session = open_session(client, diagnosis["id"])
    problem = make_problem(client)
    open_round(client, problem)
    return {
        "cohort": f"/v1/cohorts/{search['cohort_id']}",
        "search": f"/v1/searches/{search['id']}",
        "model": f"/v1/models/{model_id}",
        "validation": validation.headers["Location"],
        "diagnosis": f"/v1/diagnosis/models/{diagnosis['id']}",
        "session": f"/v1/diagnosis/sessions/{session['id']}",
        "problem": f"/v1/test-selection/problems/{problem['id']}",
    }


def stored(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*") if path.is_file()}


def test_nothing_of_an_erased_owner_is_left_and_nothing_of_others_is_touched(
    database: Database, files: Files, client_of: MakeClient, driver: Driver, tmp_path: Path
) -> None:
    ada, bob = client_of("ada", *ALL), client_of("bob", *ALL)
    use(ada, driver)
    his = use(bob, driver)
    before = {name: bob.get(path).json() for name, path in his.items()}
    with database.session(read_only=True) as session:
        owner_id = session.scalars(select(OwnerRow.id).where(OwnerRow.name == "ada")).one()
    erased = erase_owner(database, files, "ada", ADDRESS)
    assert erased.owner_id == owner_id
    assert {"cohort", "search", "model", "model_status", "validation", "api_key", "diagnosis_session",
            "test_selection_round"} <= set(erased.rows)  # fmt: skip
    with database.session(read_only=True) as session:
        for table in Base.metadata.sorted_tables:
            if "owner_id" in table.c and table.name != "audit_event":
                left = select(func.count()).select_from(table).where(table.c.owner_id == owner_id)
                assert session.scalar(left) == 0, table.name
        AuditRepository(session).verify()
    assert {name: bob.get(path).json() for name, path in his.items()} == before
    assert ada.get("/v1/cohorts").status_code == 401
    assert all(not files.has(file) for file in erased.removed)
    assert "cohorts" in {file.kind for file in erased.kept}, "both have uploaded the same file"
    assert all(files.has(file) for file in erased.kept)
    with pytest.raises(NotFoundError):
        erase_owner(database, files, "ada", ADDRESS)
    last = erase_owner(database, files, "bob", ADDRESS)
    assert last.kept == ()
    assert {file.sha256 for file in erased.kept} <= {file.sha256 for file in last.removed}


def test_the_deletion_of_an_owner_is_recorded_though_a_file_cannot_be_removed(
    database: Database, client_of: MakeClient, tmp_path: Path
) -> None:
    make_cohort(client_of("ada", *ALL))
    with database.session(read_only=True) as session:
        owner_id = session.scalars(select(OwnerRow.id).where(OwnerRow.name == "ada")).one()
        end = AuditRepository(session).end().sequence
    erased = erase_owner(database, Stuck(str(tmp_path / "files")), "ada", ADDRESS)
    assert [file.kind for file in erased.left] == ["cohorts"]
    assert (erased.removed, erased.kept) == ((), ())
    with database.session(read_only=True) as session:
        assert session.scalars(select(OwnerRow)).all() == []
        events = [(event.action, event.resource, event.address) for event in AuditRepository(session).after(end)]
    assert ("owners delete", owner_id, ADDRESS) in events


def test_what_is_deleted_stays_deleted_though_its_file_cannot_be_removed(
    database: Database, files: Files, client_of: MakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = client_of("ada", *ALL)
    cohort = make_cohort(ada)
    with monkeypatch.context() as patch:
        patch.setattr(Files, "delete", Stuck.delete)
        assert ada.delete(f"/v1/cohorts/{cohort['id']}").status_code == 204
        assert ada.get(f"/v1/cohorts/{cohort['id']}").status_code == 404
    with database.session() as session:
        kept = [StoredFile(row.kind, row.sha256) for row in session.scalars(select(StoredFileRow))]
        session.execute(update(StoredFileRow).values(put_at=database_now(session) - timedelta(hours=2)))
    assert [files.has(file) for file in kept] == [True]
    sweep(database, files)
    assert [files.has(file) for file in kept] == [False]


def test_what_is_too_old_goes_and_models_stay(
    database: Database, files: Files, client_of: MakeClient, driver: Driver
) -> None:
    ada = client_of("ada", *ALL)
    paths = use(ada, driver)
    young = make_cohort(ada)
    with database.session() as session:
        limit = database_now(session) - timedelta(days=31)
        session.execute(update(CohortRow).where(CohortRow.id != young["id"]).values(created_at=limit))
        session.execute(update(DiagnosisSessionRow).values(created_at=limit))
    assert erase_expired(database, files, 32) == 0
    assert erase_expired(database, files, 30) == 2
    assert erase_expired(database, files, 30) == 0
    codes = {name: ada.get(path).status_code for name, path in paths.items()}
    gone = {name for name, code in codes.items() if code == 404}
    assert gone == {"cohort", "search", "session"}
    assert set(codes.values()) == {200, 404}
    assert ada.get(paths["model"]).json()["cohort_id"] is None
    assert ada.get(f"/v1/cohorts/{young['id']}").status_code == 200
    with database.session(read_only=True) as session:
        owner_id = session.scalars(select(CohortRow.owner_id)).one()
        events = AuditRepository(session).load_page(owner_id, action="retention").items
    assert {(event.action, event.resource, event.address, event.result) for event in events} == {
        (f"retention: {kind}", paths[name].rsplit("/", 1)[-1], local_address(), "done")
        for name, kind in (("cohort", "cohort"), ("session", "diagnosis session"))
    }
    assert len(events) == 2


def test_a_cohort_whose_search_runs_stays(database: Database, files: Files, client_of: MakeClient) -> None:
    ada = client_of("ada", *ALL)
    search = make_search(ada)
    with database.session() as session:
        session.execute(update(CohortRow).values(created_at=database_now(session) - timedelta(days=31)))
        session.execute(update(SearchRow).values(status=SearchStatus.RUNNING))
    assert erase_expired(database, files, 30) == 0
    assert ada.get(f"/v1/cohorts/{search['cohort_id']}").status_code == 200
    with database.session() as session:
        session.execute(update(SearchRow).values(status=SearchStatus.FAILED))
    assert erase_expired(database, files, 30) == 1


def test_a_file_that_cannot_be_removed_keeps_no_other_cohort_from_erasure(
    database: Database, files: Files, client_of: MakeClient, tmp_path: Path
) -> None:
    ada = client_of("ada", *ALL)
    make_cohort(ada)
    assert ada.post("/v1/cohorts", files=multipart(SMALL_SPEC, table(*SMALL))).status_code == 201
    with database.session() as session:
        session.execute(update(CohortRow).values(created_at=database_now(session) - timedelta(days=31)))
    assert erase_expired(database, Stuck(str(tmp_path / "files")), 30) == 2
    assert ada.get("/v1/cohorts").json()["items"] == []
