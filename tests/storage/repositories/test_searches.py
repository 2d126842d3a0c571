from __future__ import annotations

import pytest
from sqlalchemy import func, select

from autoprog.errors import ConflictError, NotFoundError
from autoprog.storage.database import Database, new_id
from autoprog.storage.files import Files
from autoprog.storage.repositories import ModelRepository, SearchRepository
from autoprog.storage.store import DatabaseStore
from autoprog.storage.tables import EvaluationRow, ProposalRow, SearchEventRow, SearchRow
from tests.storage.support import (
    add_cohort,
    add_owner,
    add_search,
    make_evaluation,
    make_proposal,
    make_result,
    queue_searches,
)


def owner_of(database: Database, search_id: str) -> str:
    with database.session(read_only=True) as session:
        return session.get_one(SearchRow, search_id).owner_id


def run(database: Database, files: Files, *, finish: bool) -> None:
    store = DatabaseStore(database, files)
    claim = store.claim("runner", 60)
    assert claim is not None
    store.record_proposal(claim, make_proposal(0))
    for number in range(3):
        store.record_evaluation(claim, make_evaluation(number))
    if finish:
        store.finish(claim, make_result(), cancelled=False)


def test_a_new_search_waits_in_the_queue(database: Database) -> None:
    (search_id,) = queue_searches(database, metric="brier")
    with database.session(read_only=True) as session:
        row = SearchRepository(session).get(session.get_one(SearchRow, search_id).owner_id, search_id)
        assert (row.status, row.phase, row.token, row.model_id, row.warnings) == ("queued", None, 0, None, [])
        assert row.settings["metric"] == "brier"
        assert row.settings["budget"] == {"evaluations": 100, "time_s": 600.0}


def test_another_owner_finds_and_changes_nothing(database: Database) -> None:
    (search_id,) = queue_searches(database)
    owner_id = owner_of(database, search_id)
    with database.session() as session:
        stranger = add_owner(session, "ward-4")
        searches = SearchRepository(session)
        cohort_id = searches.get(owner_id, search_id).cohort_id
        for use in (
            lambda: searches.get(stranger, search_id),
            lambda: searches.request_cancel(stranger, search_id),
            lambda: searches.delete(stranger, search_id),
            lambda: add_search(session, stranger, cohort_id),
        ):
            with pytest.raises(NotFoundError):
                use()
        assert searches.page(stranger).items == ()
        searches.request_cancel(owner_id, search_id)
        assert len(searches.events(owner_id, search_id)) == 1
        assert searches.events(stranger, search_id) == []


@pytest.mark.parametrize("search_id", ["", "\0", "é", "'; DROP TABLE search; --", "a" * 32, "A" * 32])
def test_an_unknown_identifier_is_not_found(database: Database, search_id: str) -> None:
    with database.session() as session, pytest.raises(NotFoundError, match="no search with this id"):
        SearchRepository(session).get(add_owner(session), search_id)


def test_events_go_on_after_the_last_that_is_known(database: Database, files: Files) -> None:
    (search_id,) = queue_searches(database)
    run(database, files, finish=True)
    owner_id = owner_of(database, search_id)
    with database.session(read_only=True) as session:
        searches = SearchRepository(session)
        assert [event.sequence for event in searches.events(owner_id, search_id)] == [1, 2, 3, 4]
        assert [event.sequence for event in searches.events(owner_id, search_id, after=2)] == [3, 4]
        assert [event.sequence for event in searches.events(owner_id, search_id, after=1, limit=2)] == [2, 3]
        assert searches.events(owner_id, search_id, after=4) == []


def test_cancel_is_asked_once_and_may_be_asked_again(database: Database, files: Files) -> None:
    queued_first, queued_second = queue_searches(database, 2)
    run(database, files, finish=False)
    owner_id = owner_of(database, queued_first)
    seen = []
    for _ in range(2):
        with database.session() as session:
            searches = SearchRepository(session)
            running = searches.request_cancel(owner_id, queued_first)
            waiting = searches.request_cancel(owner_id, queued_second)
            seen.append((running.status, running.cancel_requested_at, waiting.status, waiting.finished_at))
            assert len(searches.events(owner_id, queued_second)) == 1
    assert seen[0] == seen[1]
    assert (seen[0][0], seen[0][2]) == ("running", "cancelled")


def test_an_ended_search_cannot_be_cancelled(database: Database, files: Files) -> None:
    (search_id,) = queue_searches(database)
    run(database, files, finish=True)
    owner_id = owner_of(database, search_id)
    with database.session() as session, pytest.raises(ConflictError, match="already succeeded"):
        SearchRepository(session).request_cancel(owner_id, search_id)


def test_deleting_a_search_keeps_its_model_and_nothing_else(database: Database, files: Files) -> None:
    kept, gone = queue_searches(database)[0], queue_searches(database)[0]
    run(database, files, finish=True)
    run(database, files, finish=True)
    owner_id = owner_of(database, gone)
    with database.session() as session:
        model_id = SearchRepository(session).get(owner_id, gone).model_id
        assert model_id is not None
        SearchRepository(session).delete(owner_id, gone)
    with database.session(read_only=True) as session:
        assert [row.id for row in SearchRepository(session).page(owner_id).items] == [kept]
        for table in (EvaluationRow, ProposalRow, SearchEventRow):
            assert set(session.scalars(select(table.search_id))) == {kept}
        model = ModelRepository(session).get(owner_id, model_id)
        assert model.search_id is None
        assert model.cohort_id is not None


def test_a_running_search_is_not_deleted(database: Database, files: Files) -> None:
    (search_id,) = queue_searches(database)
    run(database, files, finish=False)
    owner_id = owner_of(database, search_id)
    with database.session() as session, pytest.raises(ConflictError, match="running"):
        SearchRepository(session).delete(owner_id, search_id)
    with database.session(read_only=True) as session:
        assert session.scalar(select(func.count()).select_from(EvaluationRow)) == 3


def test_a_list_holds_the_owner_s_searches_with_their_models(database: Database, files: Files) -> None:
    ids = queue_searches(database, 3)
    run(database, files, finish=True)
    owner_id = owner_of(database, ids[0])
    with database.session() as session:
        stranger = add_owner(session, "ward-4")
        add_search(session, stranger, add_cohort(session, stranger).id)
        rows = SearchRepository(session).page(owner_id).items
        assert [row.id for row in rows] == ids
        assert [row.model_id is not None for row in rows] == [True, False, False]


def test_a_search_on_an_unknown_cohort_is_refused(database: Database) -> None:
    with database.session() as session, pytest.raises(NotFoundError, match="no cohort"):
        add_search(session, add_owner(session), new_id())
