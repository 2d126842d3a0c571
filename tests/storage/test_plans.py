"""How SQLite finds rows in tables that grow over the years; it keeps no statistics of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import event
from sqlalchemy.orm import Session

from autoprog.storage.database import Database, new_id
from autoprog.storage.leases import take_next
from autoprog.storage.pages import Page
from autoprog.storage.repositories import AuditRepository, CohortStatisticsRepository, SearchRepository
from autoprog.storage.tables import JobRow
from tests.storage.support import add_owner, queue_searches


@pytest.fixture
def backend() -> str:
    return "sqlite"


@contextmanager
def plans_of(session: Session) -> Iterator[list[str]]:
    """Collect the plans of the statements that a block runs."""
    sent: list[tuple[str, Any]] = []
    plans: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, parameters: Any, *_: object) -> None:
        sent.append((statement, parameters))

    connection = session.connection()
    event.listen(connection, "before_cursor_execute", note)
    yield plans
    event.remove(connection, "before_cursor_execute", note)
    for statement, parameters in sent:
        rows = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)
        plans.append("\n".join(row.detail for row in rows))


@pytest.mark.parametrize("before", [None, 1000])
def test_the_audit_trail_is_read_from_its_latest_event_on(database: Database, before: int | None) -> None:
    with database.session(read_only=True) as session, plans_of(session) as plans:
        AuditRepository(session).load_page(new_id(), before=before)
    own = [plan for plan in plans if "ix_audit_event_owner_id_sequence (owner_id=?" in plan]
    assert own
    assert not any("TEMP B-TREE" in plan or "SCAN audit_event" in plan for plan in own)


@pytest.mark.parametrize("list_page", [SearchRepository.page, SearchRepository.find])
def test_a_later_page_begins_where_the_one_before_ended(
    database: Database, list_page: Callable[..., Page[Any]]
) -> None:
    queue_searches(database, 2)
    with database.session() as session:
        owner_id = add_owner(session)
        first = list_page(SearchRepository(session), owner_id, limit=1)
        with plans_of(session) as plans:
            list_page(SearchRepository(session), owner_id, limit=1, cursor=first.next_cursor)
    assert any("ix_search_owner_id_created_at_id (owner_id=? AND (created_at,id)" in plan for plan in plans)


def test_a_claim_counts_an_owner_s_rows_once(database: Database) -> None:
    with database.session() as session, plans_of(session) as plans:
        take_next(session, JobRow, "a runner", 10.0, most_running=3)
    assert plans
    assert not any("CORRELATED" in plan for plan in plans)


def test_whose_statistics_are_known_is_read_from_an_index(database: Database) -> None:
    with database.session(read_only=True) as session, plans_of(session) as plans:
        CohortStatisticsRepository(session).known("auc_roc")
    assert any("COVERING INDEX ix_cohort_statistics_metric" in plan for plan in plans)
