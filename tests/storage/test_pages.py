from __future__ import annotations

import base64
import json

import pytest
from sqlalchemy import select

from autoprog.errors import InvalidInputError
from autoprog.storage.database import Database, new_id
from autoprog.storage.repositories import (
    AuditRepository,
    CatalogueRepository,
    CohortRepository,
    EvaluationRepository,
    ModelRepository,
    SearchRepository,
)
from autoprog.storage.tables import CohortRow
from tests.storage.support import add_cohort, add_owner, queue_searches


def cursor_of(position: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(position).encode()).decode()


BAD_CURSORS = [
    "",
    "not a cursor",
    "é",
    "====",
    base64.urlsafe_b64encode(b"\xff\xfe").decode(),
    base64.urlsafe_b64encode(b"[" * 100_000).decode(),
    *map(
        cursor_of,
        [
            None,
            {},
            [],
            [1],
            [1, 2, 3],
            "ab",
            ["2026-01-01T00:00:00+00:00", "a\0b"],
            ["2026-01-01T00:00:00+00:00", None],
            ["yesterday", "a" * 32],
            ["0001-01-01T00:00:00+23:00", "a" * 32],
            [1.5, "a" * 32],
        ],
    ),
]


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 6, 200])
def test_pages_cover_the_list_once_in_order_of_creation(database: Database, limit: int) -> None:
    with database.session() as session:
        owner_id, other_id = add_owner(session), add_owner(session, "ward-4")
        rows = [add_cohort(session, owner_id) for _ in range(6)]
        for row in rows[2:5]:
            row.created_at = rows[2].created_at  # within one tick of the clock the identifier decides
        add_cohort(session, other_id)
    expected = [row.id for row in sorted(rows, key=lambda row: (row.created_at, row.id))]
    found: list[str] = []
    cursor: str | None = None
    with database.session(read_only=True) as session:
        while True:
            page = CohortRepository(session).page(owner_id, limit=limit, cursor=cursor)
            assert len(page.items) <= limit
            found += [row.id for row in page.items]
            cursor = page.next_cursor
            if cursor is None:
                break
    assert found == expected


def test_a_cursor_holds_while_rows_come_and_go(database: Database) -> None:
    with database.session() as session:
        owner_id = add_owner(session)
        rows = [add_cohort(session, owner_id) for _ in range(4)]
        page = CohortRepository(session).page(owner_id, limit=2)
        session.delete(session.get_one(CohortRow, page.items[1].id))
        newest = add_cohort(session, owner_id)
        rest = CohortRepository(session).page(owner_id, cursor=page.next_cursor)
    assert {row.id for row in rest.items} == {rows[2].id, rows[3].id, newest.id}


@pytest.mark.parametrize("cursor", BAD_CURSORS)
def test_a_cursor_that_is_none_is_refused(database: Database, cursor: str) -> None:
    (search_id,) = queue_searches(database)
    with database.session(read_only=True) as session:
        owner_id = session.connection().exec_driver_sql("SELECT owner_id FROM search").scalar_one()
        with pytest.raises(InvalidInputError, match="/cursor"):
            CohortRepository(session).page(owner_id, cursor=cursor)
        with pytest.raises(InvalidInputError, match="/cursor"):
            EvaluationRepository(session).page(owner_id, search_id, sort="score", cursor=cursor)


@pytest.mark.parametrize("position", [[-1], [2**31], ["1"], [1.0], [None], [0.5, 1], [True]])
def test_a_cursor_of_another_order_is_refused(database: Database, position: list[object]) -> None:
    (search_id,) = queue_searches(database)
    with database.session(read_only=True) as session:
        owner_id = session.connection().exec_driver_sql("SELECT owner_id FROM search").scalar_one()
        with pytest.raises(InvalidInputError, match="/cursor"):
            EvaluationRepository(session).page(owner_id, search_id, cursor=cursor_of(position))


@pytest.mark.parametrize("position", [[float("nan"), 1], [float("inf"), 1], ["0.5", 1], [1, 1], [0.5, 2**31]])
def test_a_score_that_is_none_is_refused(database: Database, position: list[object]) -> None:
    (search_id,) = queue_searches(database)
    with database.session(read_only=True) as session:
        owner_id = session.connection().exec_driver_sql("SELECT owner_id FROM search").scalar_one()
        with pytest.raises(InvalidInputError, match="/cursor"):
            EvaluationRepository(session).page(owner_id, search_id, sort="score", cursor=cursor_of(position))


def test_identifiers_of_unknown_shape_find_nothing(database: Database) -> None:
    with database.session(read_only=True) as session:
        assert CohortRepository(session).page(new_id()).items == ()


def test_a_text_that_no_name_can_hold_finds_nothing(database: Database) -> None:
    queue_searches(database, 1)
    with database.session(read_only=True) as session:
        (owner_id,) = session.scalars(select(CohortRow.owner_id))
        named = (CohortRepository(session), SearchRepository(session), ModelRepository(session))
        lists = [repository.find(owner_id, "a\0b") for repository in (*named, CatalogueRepository(session))]
        assert all(page.items == () for page in (*lists, AuditRepository(session).load_page(owner_id, action="\0")))
