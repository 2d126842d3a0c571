"""What the audit trail tells, and that it cannot be told otherwise."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select, text
from sqlalchemy.exc import DBAPIError

from api.app import create_app
from api.audit_trail import AuditTrail
from autoprog.errors import ArtifactError, StoreUnavailableError
from autoprog.settings import Settings
from autoprog.storage.database import Database
from autoprog.storage.files import Files
from autoprog.storage.repositories import AuditEvent, AuditRepository, ChainEnd, KeyRepository
from autoprog.storage.repositories.audit import audit_document, local_address
from autoprog.storage.tables import AuditEventRow, OwnerRow
from tests.api.searching import multipart

EVENT = AuditEvent("POST /v1/cohorts", "0" * 32, "10.0.0.7", "201", "1" * 32)


@pytest.fixture
def database(empty_database: Database) -> Iterator[Database]:
    """One of its own: nothing can be removed from a trail."""
    empty_database.migrate()
    yield empty_database
    with empty_database.session() as session:
        session.execute(text("DROP TABLE audit_event"))


def told(database: Database) -> list[AuditEventRow]:
    with database.session(read_only=True) as session:
        return list(AuditRepository(session).after(0))


def keyed(database: Database, files: Files, *scopes: str, **settings: bool) -> tuple[TestClient, str]:
    """A client with a key, and the key's identifier."""
    with database.session() as session:
        row, key = KeyRepository(session).create("ada", scopes)
    app = create_app(Settings(**settings), database, files, local_owner=False)
    return TestClient(app, headers={"Authorization": f"Bearer {key}"}, client=("10.0.0.7", 50_000)), row.id


def test_who_did_what_to_what_from_where_and_what_came_of_it(database: Database, files: Files) -> None:
    client, key_id = keyed(database, files, "read", "write")
    made = client.post("/v1/cohorts", files=multipart())
    cohort_id = made.json()["id"]
    client.get(f"/v1/cohorts/{cohort_id}")
    client.post("/v1/searches", json={"cohort_id": cohort_id, "seed": -1})
    client.delete(f"/v1/cohorts/{cohort_id}")
    events = told(database)
    assert [(event.action, event.resource, event.result) for event in events] == [
        ("POST /v1/cohorts", cohort_id, "201"),
        ("POST /v1/searches", "", "422"),
        ("DELETE /v1/cohorts/{cohort_id}", cohort_id, "204"),
    ]
    with database.session(read_only=True) as session:
        owner_id = session.scalars(select(OwnerRow.id)).one()
    assert {(event.owner_id, event.key_id, event.address) for event in events} == {(owner_id, key_id, "10.0.0.7")}
    assert events[0].request_id == made.headers["x-request-id"]
    assert len({event.request_id for event in events}) == 3


def test_what_was_refused_is_told_too(database: Database, files: Files) -> None:
    client, key_id = keyed(database, files, "read")
    assert client.post("/v1/cohorts", files=multipart()).status_code == 403
    wrong = {"Authorization": f"Bearer ap_{key_id}_guessed"}
    assert client.get("/v1/cohorts", headers=wrong).status_code == 401
    assert client.get("/v1/cohorts", headers={"Authorization": ""}).status_code == 401
    assert client.post("/v1/patients/Jane%20Doe", json={}).status_code == 404
    assert client.get("/v1/cohorts").status_code == 200
    assert [(event.action, event.key_id, event.result, event.owner_id is None) for event in told(database)] == [
        ("POST /v1/cohorts", key_id, "403", False),
        ("GET /v1/cohorts", key_id, "401", True),
        ("GET /v1/cohorts", None, "401", True),
        ("POST (no such route)", key_id, "404", True),
    ]
    assert "Doe" not in "".join(event.resource + event.action for event in told(database))


def test_reads_are_told_where_that_is_asked_for(database: Database, files: Files) -> None:
    client, _ = keyed(database, files, "read", audit_reads=True)
    client.get("/v1/cohorts")
    client.get("/livez")
    assert [(event.action, event.result) for event in told(database)] == [("GET /v1/cohorts", "200")]


def test_the_chain_holds_for_many_at_once(database: Database) -> None:
    trail, other = AuditTrail(database), AuditTrail(database)  # of two processes
    threads = [threading.Thread(target=(trail, other)[i % 2].append, args=(EVENT,)) for i in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with database.session(read_only=True) as session:
        end = AuditRepository(session).verify()
        assert end.sequence == 40
        assert AuditRepository(session).verify(end) == end


def test_the_database_refuses_to_change_the_trail(database: Database) -> None:
    AuditTrail(database).append(EVENT)
    for statement in ("UPDATE audit_event SET result = '200'", "DELETE FROM audit_event"):
        with pytest.raises(DBAPIError, match="never changed"), database.session() as session:
            session.execute(text(statement))
    assert [event.result for event in told(database)] == ["201"]


def _unlock(database: Database) -> None:
    """What an administrator of the database can do."""
    with database.session() as session:
        if database.url.startswith("sqlite"):
            for what in ("update", "delete"):
                session.execute(text(f"DROP TRIGGER audit_event_no_{what}"))
        else:
            session.execute(text("DROP TRIGGER audit_event_no_change ON audit_event"))


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("UPDATE audit_event SET result = '200' WHERE sequence = 2", "event 2 is not the one that was written"),
        ("UPDATE audit_event SET address = '' WHERE sequence = 4", "event 4 is not the one that was written"),
        ("DELETE FROM audit_event WHERE sequence = 3", "event 3 is missing"),
        ("UPDATE audit_event SET sequence = sequence + 10 WHERE sequence >= 2", "event 2 is missing"),
        ("DELETE FROM audit_event WHERE sequence >= 3", "it ends at event 2, before the one that was noted"),
    ],
)
def test_who_changes_it_all_the_same_is_found_out(database: Database, statement: str, message: str) -> None:
    trail = AuditTrail(database)
    for _ in range(4):
        trail.append(EVENT)
    with database.session(read_only=True) as session:
        noted = AuditRepository(session).verify()
    _unlock(database)
    with database.session() as session:
        session.execute(text(statement))
    with database.session(read_only=True) as session, pytest.raises(ArtifactError, match=message):
        AuditRepository(session).verify(noted)


def test_a_chain_that_was_made_anew_is_not_the_one_that_was_noted(database: Database) -> None:
    AuditTrail(database).append(EVENT)
    other = ChainEnd(1, "f" * 64)
    with database.session(read_only=True) as session, pytest.raises(ArtifactError, match="another one than was noted"):
        AuditRepository(session).verify(other)


def be_away(*_: object) -> None:
    raise StoreUnavailableError("the database is away")


def test_what_cannot_be_written_is_written_later(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.audit_trail._PAUSE_S", 0.0)
    trail = AuditTrail(database)
    with monkeypatch.context() as patch:
        patch.setattr(AuditRepository, "append", be_away)
        trail.append(EVENT)
    assert told(database) == []
    trail.append(EVENT)
    assert [event.sequence for event in told(database)] == [1, 2]


def test_what_comes_while_a_full_trail_is_written_is_not_lost_or_its_number_is_told(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.audit_trail._PAUSE_S", 0.0)
    monkeypatch.setattr("api.audit_trail._MAX_LATE", 3)
    trail = AuditTrail(database)
    events = [replace(EVENT, request_id=f"{i:032x}") for i in range(8)]
    with monkeypatch.context() as patch:
        patch.setattr(AuditRepository, "append", be_away)
        for event in events[:4]:
            trail.append(event)
    append, begun, go_on = AuditRepository.append, threading.Event(), threading.Event()

    def wait_and_append(repository: AuditRepository, waiting: Sequence[AuditEvent]) -> None:
        append(repository, waiting)
        begun.set()
        assert go_on.wait(60)

    monkeypatch.setattr(AuditRepository, "append", wait_and_append)
    threads = [threading.Thread(target=trail.append, args=(event,)) for event in events[4:]]
    threads[0].start()
    assert begun.wait(60)
    for thread in threads[1:]:
        thread.start()
    time.sleep(0.5)  # most often they have added their events by then
    go_on.set()
    for thread in threads:
        thread.join(60)
    trail.append(events[0])
    written = told(database)
    numbers = [int(event.request_id, 16) for event in written if event.request_id]
    lost = sum(int(event.result) for event in written if event.action == "events lost")
    assert numbers[:3] == [0, 1, 2]
    assert lost == len(events) + 1 - len(numbers)
    assert lost > 0


def test_what_waits_is_written_when_the_server_ends(
    database: Database, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, _ = keyed(database, files, "read")
    with client:
        with monkeypatch.context() as patch:
            patch.setattr(AuditRepository, "append", be_away)
            client.post("/v1/patients", json={})
        assert told(database) == []
    assert [event.result for event in told(database)] == ["404"]


def test_a_user_without_a_name_is_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", {}.__getitem__)
    assert local_address() == f"{os.getuid()}@{socket.gethostname()}"


def test_nothing_of_a_body_is_in_the_trail(database: Database, files: Files) -> None:
    client, _ = keyed(database, files, "write")
    assert client.post("/v1/searches", json={"cohort_id": "Jane Doe"}).status_code == 404
    (event,) = told(database)
    assert "Doe" not in repr(audit_document(event))
