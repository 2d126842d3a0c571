from __future__ import annotations

import pytest

from autoprog.errors import NotFoundError
from autoprog.evaluation import Status
from autoprog.storage.database import Database, new_id
from autoprog.storage.files import Files
from autoprog.storage.repositories import EvaluationRepository, Tally
from autoprog.storage.repositories.evaluations import EvaluationOrder
from autoprog.storage.store import DatabaseStore
from autoprog.storage.tables import EvaluationRow, SearchRow
from tests.storage.support import make_evaluation, queue_searches

# Ties, failures, and scores that decimal text would confuse.
SCORES = [0.7, None, 0.1 + 0.2, 0.3, 0.7, None, 0.9, 0.7, 0.0, None]
BEST_FIRST = [6, 0, 4, 7, 2, 3, 8, 1, 5, 9]
LEAST_FIRST = [8, 3, 2, 0, 4, 7, 6, 1, 5, 9]


def fill(database: Database, files: Files, *metrics: str) -> list[SearchRow]:
    store = DatabaseStore(database, files)
    ids = [queue_searches(database, metric=metric)[0] for metric in metrics]
    for _ in metrics:
        claim = store.claim("runner", 60)
        assert claim is not None
        for number, score in enumerate(SCORES):
            status = Status.SUCCEEDED if score is not None else Status.MEMORY
            store.record_evaluation(claim, make_evaluation(number, score=score, status=status))
    with database.session(read_only=True) as session:
        return [session.get_one(SearchRow, each) for each in ids]


def read_all(database: Database, search: SearchRow, sort: EvaluationOrder, limit: int) -> list[EvaluationRow]:
    rows: list[EvaluationRow] = []
    cursor: str | None = None
    with database.session(read_only=True) as session:
        repository = EvaluationRepository(session)
        while True:
            page = repository.page(search.owner_id, search.id, sort=sort, limit=limit, cursor=cursor)
            rows += page.items
            cursor = page.next_cursor
            if cursor is None:
                return rows


@pytest.mark.parametrize("limit", [1, 3, 10, 200])
def test_every_order_covers_all_pages_once(database: Database, files: Files, limit: int) -> None:
    greater, less = fill(database, files, "auc_roc", "brier")
    assert [row.number for row in read_all(database, greater, "created", limit)] == list(range(10))
    assert [row.number for row in read_all(database, greater, "score", limit)] == BEST_FIRST
    assert [row.number for row in read_all(database, less, "score", limit)] == LEAST_FIRST


def test_all_at_once_are_in_the_order_of_the_pages(database: Database, files: Files) -> None:
    greater, less = fill(database, files, "auc_roc", "brier")
    with database.session(read_only=True) as session:
        repository = EvaluationRepository(session)
        assert [row.number for row in repository.list_all(greater.owner_id, greater.id)] == list(range(10))
        assert [row.number for row in repository.list_all(greater.owner_id, greater.id, sort="score")] == BEST_FIRST
        assert [row.number for row in repository.list_all(less.owner_id, less.id, sort="score")] == LEAST_FIRST


def test_rows_hold_what_the_client_is_shown(database: Database, files: Files) -> None:
    (search,) = fill(database, files, "auc_roc")
    rows = read_all(database, search, "created", 200)
    evaluation = make_evaluation(0, score=0.7)
    assert rows[0].configuration == evaluation.configuration.to_json()
    assert (rows[0].score, rows[0].fold_scores, rows[0].duration_s) == (0.7, [0.1 + 0.2, 1 / 3, 0.8], 1.25)
    assert (rows[1].status, rows[1].score, rows[1].fold_scores, rows[1].reason) == ("memory", None, [], "after 60 s")


def test_tallies_count_by_status_and_know_the_direction(database: Database, files: Files) -> None:
    greater, less = fill(database, files, "auc_roc", "brier")
    (idle_id,) = queue_searches(database)
    with database.session(read_only=True) as session:
        idle = session.get_one(SearchRow, idle_id)
        tallies = EvaluationRepository(session).tallies([greater, less, idle])
        assert EvaluationRepository(session).tallies([]) == {}
    counts = {"succeeded": 7, "memory": 3}
    assert tallies == {greater.id: Tally(counts, 0.9), less.id: Tally(counts, 0.0), idle_id: Tally({}, None)}


def test_another_owner_finds_nothing(database: Database, files: Files) -> None:
    (search,) = fill(database, files, "auc_roc")
    with database.session(read_only=True) as session, pytest.raises(NotFoundError):
        EvaluationRepository(session).page(new_id(), search.id)
    with database.session(read_only=True) as session, pytest.raises(NotFoundError):
        EvaluationRepository(session).list_all(new_id(), search.id)
