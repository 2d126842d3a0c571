from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import event, select

from autoprog.errors import ConflictError, InvalidInputError
from autoprog.storage.database import Database, database_now, new_id
from autoprog.storage.repositories import CohortRepository, IdempotencyRepository, StoredAnswer
from autoprog.storage.repositories.idempotency import delete_old_answers
from autoprog.storage.tables import IdempotencyKeyRow
from autoprog.storage.test_selection_tables import FrontierRow
from tests.storage.support import add_cohort, add_owner, add_search

BODY, OTHER_BODY = "a" * 64, "b" * 64
ROUTE = "POST /v1/cohorts"
ANSWER = StoredAnswer(201, {"Location": "/v1/cohorts/1"}, b'{"id": "1"}')


@pytest.fixture
def owner_id(database: Database) -> str:
    with database.session() as session:
        return add_owner(session)


def begin(
    database: Database, owner_id: str, body: str = BODY, route: str = ROUTE, key: str = "k", attempt: str = "first"
) -> StoredAnswer | None:
    with database.session() as session:
        return IdempotencyRepository(session, owner_id, route, key, attempt).begin(body)


def finish(database: Database, owner_id: str) -> None:
    with database.session() as session:
        IdempotencyRepository(session, owner_id, ROUTE, "k", "first").finish(ANSWER)


def age(database: Database, by: timedelta) -> None:
    with database.session() as session:
        row = session.scalars(select(IdempotencyKeyRow)).one()
        assert row.lease_until is not None
        row.created_at, row.lease_until = row.created_at - by, row.lease_until - by


def test_the_same_request_gets_the_first_answer_again(database: Database, owner_id: str) -> None:
    assert begin(database, owner_id) is None
    finish(database, owner_id)
    assert begin(database, owner_id) == ANSWER
    assert begin(database, owner_id) == ANSWER


def test_another_body_under_the_same_key_is_refused(database: Database, owner_id: str) -> None:
    begin(database, owner_id)
    for _ in range(2):
        with pytest.raises(InvalidInputError, match="another body"):
            begin(database, owner_id, OTHER_BODY)
        finish(database, owner_id)


def test_a_request_that_still_runs_is_a_conflict(database: Database, owner_id: str) -> None:
    begin(database, owner_id)
    with pytest.raises(ConflictError, match="still running"):
        begin(database, owner_id)


def test_keys_are_told_apart_by_owner_and_route(database: Database, owner_id: str) -> None:
    with database.session() as session:
        other_id = add_owner(session, "ward-4")
    assert begin(database, owner_id) is None
    assert begin(database, other_id) is None
    assert begin(database, owner_id, route="POST /v1/searches") is None
    assert begin(database, owner_id, key="k2") is None


def test_what_was_forgotten_may_be_asked_again(database: Database, owner_id: str) -> None:
    begin(database, owner_id)
    with database.session() as session:
        IdempotencyRepository(session, owner_id, ROUTE, "k", "first").forget()
    assert begin(database, owner_id, OTHER_BODY) is None


def test_an_answer_that_was_stored_is_not_forgotten(database: Database, owner_id: str) -> None:
    begin(database, owner_id)
    finish(database, owner_id)
    with database.session() as session:
        IdempotencyRepository(session, owner_id, ROUTE, "k", "first").forget()
    assert begin(database, owner_id, attempt="second") == ANSWER


def test_an_answer_is_kept_for_a_day(database: Database, owner_id: str) -> None:
    begin(database, owner_id)
    finish(database, owner_id)
    age(database, timedelta(hours=23, minutes=59))
    assert begin(database, owner_id) == ANSWER
    age(database, timedelta(minutes=1))
    assert begin(database, owner_id, OTHER_BODY) is None


def test_a_request_whose_process_died_blocks_the_key_for_seconds(database: Database, owner_id: str) -> None:
    begin(database, owner_id)
    age(database, timedelta(seconds=9))
    with pytest.raises(ConflictError, match="still running"):
        begin(database, owner_id, attempt="second")
    age(database, timedelta(seconds=1))
    assert begin(database, owner_id, attempt="second") is None


def test_a_request_that_tells_of_itself_keeps_the_key(database: Database, owner_id: str) -> None:
    begin(database, owner_id)
    age(database, timedelta(seconds=9))
    with database.session() as session:
        IdempotencyRepository(session, owner_id, ROUTE, "k", "first").extend()
    age(database, timedelta(seconds=9))
    with pytest.raises(ConflictError, match="still running"):
        begin(database, owner_id, attempt="second")


def test_a_request_that_was_taken_for_dead_leaves_nothing(database: Database, owner_id: str) -> None:
    begin(database, owner_id)
    age(database, timedelta(seconds=10))
    assert begin(database, owner_id, attempt="second") is None
    with pytest.raises(ConflictError, match="begun meanwhile"):
        finish(database, owner_id)
    with database.session() as session:
        IdempotencyRepository(session, owner_id, ROUTE, "k", "first").forget()
    with pytest.raises(ConflictError, match="still running"):
        begin(database, owner_id, attempt="third")


def test_an_answer_is_kept_only_if_the_work_is(database: Database, owner_id: str) -> None:
    begin(database, owner_id)
    with database.session() as session:
        IdempotencyRepository(session, owner_id, ROUTE, "k", "first").finish(ANSWER)
        session.rollback()
    with pytest.raises(ConflictError):
        begin(database, owner_id)


def test_old_keys_are_cleared_away(database: Database, owner_id: str) -> None:
    begin(database, owner_id)
    finish(database, owner_id)
    age(database, timedelta(days=2))
    begin(database, owner_id, key="k2")
    with database.session() as session:
        delete_old_answers(session)
        assert session.scalars(select(IdempotencyKeyRow.key)).all() == ["k2"]


def finish_about(database: Database, owner_id: str, key: str, subject_id: str) -> None:
    begin(database, owner_id, key=key)
    with database.session() as session:
        IdempotencyRepository(session, owner_id, ROUTE, key, "first").finish(replace(ANSWER, subject_id=subject_id))


def test_answers_go_with_what_they_tell_of_and_with_its_parts(database: Database, owner_id: str) -> None:
    with database.session() as session:
        other_id = add_owner(session, "ward-4")
        cohort, kept = (add_cohort(session, owner_id) for _ in range(2))
        search = add_search(session, owner_id, cohort.id)
        frontier = FrontierRow(
            id=new_id(), owner_id=owner_id, search_id=search.id, document={}, created_at=database_now(session)
        )
        session.add(frontier)
    for key, subject in (("cohort", cohort), ("search", search), ("frontier", frontier), ("kept", kept)):
        finish_about(database, owner_id, key, subject.id)
    finish_about(database, other_id, "refused", cohort.id)
    with database.session() as session:
        CohortRepository(session).delete(owner_id, cohort.id, models="keep")
    with database.session(read_only=True) as session:
        assert set(session.scalars(select(IdempotencyKeyRow.key))) == {"kept", "refused"}


@contextmanager
def plans_of(database: Database) -> Iterator[list[str]]:
    """How SQLite finds the rows for the statements of the block, a line a table."""
    sent: list[tuple[str, Any]] = []

    def note(*arguments: Any) -> None:
        sent.append((arguments[2], arguments[3]))

    plans: list[str] = []
    event.listen(database._writer, "before_cursor_execute", note)
    try:
        yield plans
    finally:
        event.remove(database._writer, "before_cursor_execute", note)
    with database._reader.connect() as connection:
        for statement, parameters in sent:
            if statement.startswith(("DELETE", "SELECT", "UPDATE")):
                found = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)
                plans += [row.detail for row in found]


def test_no_answer_is_read_for_the_sake_of_another(database: Database, owner_id: str) -> None:
    if database.url.startswith("postgresql"):
        pytest.skip("PostgreSQL plans by how many rows there are")
    with database.session() as session:
        cohort = add_cohort(session, owner_id)
    with plans_of(database) as plans:
        begin(database, owner_id)
        finish(database, owner_id)
        begin(database, owner_id)
        with database.session() as session:
            delete_old_answers(session)
            CohortRepository(session).delete(owner_id, cohort.id, models="keep")
    of_answers = [plan for plan in plans if "idempotency_key" in plan]
    assert len(of_answers) >= 6
    assert [plan for plan in of_answers if not plan.startswith("SEARCH")] == []
