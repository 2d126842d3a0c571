from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import numpy as np
import pytest
from sqlalchemy import select
from sqlalchemy.orm import undefer

from autoprog.errors import ConflictError, LeaseLostError
from autoprog.evaluation import Evaluation, Status
from autoprog.metalearning import meta_features
from autoprog.optimizer import Start
from autoprog.search.ports import Claim, Phase
from autoprog.search.settings import SearchSettings
from autoprog.storage.database import Database
from autoprog.storage.files import Files
from autoprog.storage.leases import Hold, take_next
from autoprog.storage.repositories import CohortRepository, SearchRepository
from autoprog.storage.store import DatabaseStore
from autoprog.storage.tables import (
    CohortRow,
    CohortStatisticsRow,
    EvaluationRow,
    ModelRow,
    ProposalRow,
    SearchEventRow,
    SearchRow,
)
from tests.cohorts import mixed_cohort
from tests.metalearning.repositories import collect_statistics
from tests.storage.support import (
    SHA256,
    add_cohort,
    add_owner,
    add_search,
    make_configuration,
    make_evaluation,
    make_proposal,
    make_result,
    queue_searches,
    wait_until_someone_waits,
)

LONG = 60.0
STATISTICS = collect_statistics("to be named", meta_features(mixed_cohort()), [0.01, 0.02])
EXPIRED = -1.0  # a lease that is over as soon as it is given


@pytest.fixture
def store(database: Database, files: Files) -> DatabaseStore:
    return DatabaseStore(database, files)


def read_search(database: Database, search_id: str) -> SearchRow:
    with database.session(read_only=True) as session:
        return session.get_one(SearchRow, search_id, options=[undefer("*")])


def events_of(database: Database, search_id: str) -> list[tuple[int, str]]:
    with database.session(read_only=True) as session:
        rows = session.scalars(
            select(SearchEventRow).where(SearchEventRow.search_id == search_id).order_by(SearchEventRow.sequence)
        )
        return [(row.sequence, row.type) for row in rows]


def cancel(database: Database, search_id: str) -> None:
    with database.session() as session:
        owner_id = session.get_one(SearchRow, search_id).owner_id
        SearchRepository(session).request_cancel(owner_id, search_id)


def assert_same_evaluation(left: Evaluation, right: Evaluation) -> None:
    for name in ("number", "batch", "configuration", "status", "score", "fold_scores", "duration_s", "reason"):
        assert getattr(left, name) == getattr(right, name)
    if left.risks is None or right.risks is None:
        assert left.risks is right.risks
    else:
        assert left.risks.dtype == right.risks.dtype
        np.testing.assert_array_equal(left.risks, right.risks)


def take(store: DatabaseStore, lease_s: float = LONG) -> Claim:
    claim = store.claim("runner", lease_s)
    assert claim is not None
    return claim


def test_an_empty_queue_gives_no_claim(store: DatabaseStore) -> None:
    assert store.claim("runner", LONG) is None


def test_searches_are_claimed_oldest_first_and_each_once(database: Database, store: DatabaseStore) -> None:
    ids = queue_searches(database, 3)
    claims = [take(store) for _ in ids]
    assert [claim.search_id for claim in claims] == ids
    assert {claim.token for claim in claims} == {1}
    assert store.claim("other", LONG) is None


def queue_of(database: Database, owner: str, n: int) -> list[str]:
    with database.session() as session:
        owner_id = add_owner(session, owner)
        cohort = add_cohort(session, owner_id)
        return [add_search(session, owner_id, cohort.id).id for _ in range(n)]


def test_owners_take_turns_however_long_one_s_queue_is(database: Database, store: DatabaseStore) -> None:
    ada, bob, cy = (queue_of(database, owner, n) for owner, n in (("ada", 4), ("bob", 2), ("cy", 1)))
    taken = []
    for _ in range(7):  # one runner: each ends before the next is taken
        claim = take(store)
        taken.append(claim.search_id)
        store.fail(claim, "search-failed", "")
    assert taken == [ada[0], bob[0], cy[0], ada[1], bob[1], ada[2], ada[3]]


def test_whoever_has_fewest_running_is_next(database: Database, store: DatabaseStore) -> None:
    ada, bob = queue_of(database, "ada", 3), queue_of(database, "bob", 3)
    claims = [take(store) for _ in range(4)]
    assert [claim.search_id for claim in claims] == [ada[0], bob[0], ada[1], bob[1]]
    store.fail(claims[3], "search-failed", "")
    store.fail(claims[1], "search-failed", "")
    assert take(store).search_id == bob[2]
    assert take(store).search_id == ada[2]


def test_one_owner_has_no_more_running_than_may_be(database: Database, files: Files) -> None:
    store = DatabaseStore(database, files, most_running=1)
    ada, bob = queue_of(database, "ada", 2), queue_of(database, "bob", 1)
    claims = [take(store), take(store)]
    assert [claim.search_id for claim in claims] == [ada[0], bob[0]]
    assert store.claim("other", LONG) is None
    put_back(database, 2 * LONG)  # both runners die: what they had is taken over all the same
    assert {take(store).search_id, take(store).search_id} == {ada[0], bob[0]}
    assert store.claim("other", LONG) is None


def test_runners_that_claim_at_once_take_no_more_than_may_run(database: Database) -> None:
    queue_of(database, "ada", 2)
    found: list[Hold | None] = []

    def take_second() -> None:
        with database.session() as session:
            found.append(take_next(session, SearchRow, "second", LONG, most_running=1))

    second = threading.Thread(target=take_second)
    with database.session() as session:
        assert take_next(session, SearchRow, "first", LONG, most_running=1) is not None
        second.start()
        wait_until_someone_waits(database)
    second.join()
    assert found == [None]


def test_a_claim_starts_the_search(database: Database, store: DatabaseStore) -> None:
    (search_id,) = queue_searches(database)
    before = database.now()
    take(store)
    row = read_search(database, search_id)
    assert row.status == "running"
    assert row.runner_id == "runner"
    assert row.started_at is not None
    assert row.lease_until is not None
    assert before <= row.started_at <= database.now()
    assert (row.lease_until - row.started_at).total_seconds() == LONG


def test_an_expired_lease_is_taken_over_and_the_clock_goes_on(database: Database, store: DatabaseStore) -> None:
    (search_id,) = queue_searches(database)
    first = take(store, EXPIRED)
    started_at = read_search(database, search_id).started_at
    second = take(store)
    assert second == Claim(search_id, first.token + 1, losses=1)
    assert read_search(database, search_id).started_at == started_at


def test_a_lease_runs_out_by_itself_and_not_before(database: Database, store: DatabaseStore) -> None:
    queue_searches(database)
    take(store, 0.4)
    assert store.claim("other", LONG) is None
    deadline = time.monotonic() + 10
    while store.claim("other", LONG) is None:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_an_older_search_whose_runner_died_goes_before_a_queued_one(database: Database, store: DatabaseStore) -> None:
    ids = queue_searches(database, 2)
    take(store, EXPIRED)
    assert take(store).search_id == ids[0]


def test_every_write_under_an_old_token_is_refused_and_leaves_nothing(database: Database, store: DatabaseStore) -> None:
    (search_id,) = queue_searches(database)
    old = take(store, EXPIRED)
    new = take(store)
    for write in (
        lambda: store.heartbeat(old, LONG),
        lambda: store.load(old),
        lambda: store.record_phase(old, Phase.SEARCH),
        lambda: store.record_start(old, Start()),
        lambda: store.record_proposal(old, make_proposal(0)),
        lambda: store.record_evaluation(old, make_evaluation(0)),
        lambda: store.finish(old, make_result(), cancelled=False),
        lambda: store.fail(old, "search-failed", "nothing succeeded"),
    ):
        with pytest.raises(LeaseLostError, match=search_id):
            write()
    store.release(old)
    row = read_search(database, search_id)
    assert (row.status, row.token, row.phase) == ("running", new.token, None)
    assert events_of(database, search_id) == []
    with database.session(read_only=True) as session:
        assert session.scalars(select(ModelRow)).all() == []
        assert session.scalars(select(EvaluationRow)).all() == []
        assert session.scalars(select(ProposalRow)).all() == []
    assert store.claim("third", LONG) is None


def test_a_late_heartbeat_keeps_a_search_that_nobody_has_taken(database: Database, store: DatabaseStore) -> None:
    queue_searches(database)
    claim = take(store, EXPIRED)
    assert store.heartbeat(claim, LONG) is False
    assert store.claim("other", LONG) is None


def test_a_released_search_is_free_at_once(database: Database, store: DatabaseStore) -> None:
    (search_id,) = queue_searches(database)
    claim = take(store)
    store.release(claim)
    assert take(store) == Claim(search_id, claim.token + 1)


def test_load_gives_back_everything_exactly(database: Database, store: DatabaseStore, files: Files) -> None:
    queue_searches(database, metric="brier", folds=3, space={"prediction": ["logistic_regression"]})
    claim = take(store)
    assert store.load(claim).start is None
    start = Start((make_configuration(),), {"prediction/random_forest": 0.1 + 0.2}, {"subspaces": 5}, 0.02, 0.5, 3)
    store.record_start(claim, start)
    proposals = [make_proposal(batch) for batch in range(3)]
    evaluations = [
        make_evaluation(0),
        make_evaluation(1, status=Status.TIMEOUT),
        make_evaluation(2, score=0.1 + 0.2),
        make_evaluation(10, score=1e-17),
    ]
    for proposal in proposals:
        store.record_proposal(claim, proposal)
    for evaluation in (evaluations[2], evaluations[0], evaluations[3], evaluations[1]):
        store.record_evaluation(claim, evaluation)

    state = store.load(claim)

    assert state.search_id == claim.search_id
    assert state.cohort.sha256 == SHA256
    assert state.cohort.url == files.url("cohorts", SHA256)
    assert state.settings == SearchSettings(metric="brier", folds=3, space={"prediction": ["logistic_regression"]})
    assert state.start == start
    assert state.proposals == tuple(proposals)
    assert len(state.evaluations) == len(evaluations)
    for loaded, written in zip(state.evaluations, evaluations, strict=True):
        assert_same_evaluation(loaded, written)
        assert loaded.configuration.key == written.configuration.key
    assert 0 <= state.elapsed_s < LONG


def put_back(database: Database, seconds: float) -> None:
    """Let so much time pass, or the clock be put forward by it: all moments of the searches lie further back."""
    with database.session() as session:
        for search in session.scalars(select(SearchRow)):
            for name in ("created_at", "started_at", "heard_at", "lease_until"):
                if (moment := getattr(search, name)) is not None:
                    setattr(search, name, moment - timedelta(seconds=seconds))


def test_seconds_are_spent_from_one_sign_of_life_to_the_next(database: Database, store: DatabaseStore) -> None:
    queue_searches(database)
    claim = take(store)
    put_back(database, 20)
    assert 20 <= store.load(claim).elapsed_s < 30
    store.heartbeat(claim, LONG)
    put_back(database, 15)
    store.heartbeat(claim, LONG)
    assert 35 <= store.load(claim).elapsed_s < 45
    put_back(database, 5)
    store.release(claim)
    put_back(database, 3600)
    assert 40 <= store.load(take(store)).elapsed_s < 50


@pytest.mark.parametrize("away_s", [600.0, 20 * 365 * 86_400.0], ids=["downtime", "a clock put forward"])
def test_what_nobody_worked_is_not_spent(database: Database, store: DatabaseStore, away_s: float) -> None:
    queue_searches(database)
    claim = take(store)
    put_back(database, 20)
    store.heartbeat(claim, 10.0)
    put_back(database, away_s)
    again = take(store)
    assert (again.token, again.losses) == (claim.token + 1, 1)
    assert 20 <= store.load(again).elapsed_s < 40


def test_a_clock_that_is_put_forward_costs_a_living_runner_no_more_than_its_lease(
    database: Database, store: DatabaseStore
) -> None:
    queue_searches(database)
    claim = take(store, 10.0)
    put_back(database, 3600)
    store.heartbeat(claim, 10.0)
    assert 10 <= store.load(claim).elapsed_s < 20
    store.finish(claim, make_result(), cancelled=False)
    row = read_search(database, claim.search_id)
    assert 10 <= row.spent_s < 20


def test_a_clock_that_is_put_back_leaves_no_dead_runner_its_search(database: Database, store: DatabaseStore) -> None:
    queue_searches(database)
    claim = take(store, 10.0)
    put_back(database, -3600)
    again = store.claim("other", 10.0)
    assert again is not None
    assert again.token == claim.token + 1
    assert store.load(again).elapsed_s < 10


def test_an_evaluation_is_kept_once_as_it_came_first(database: Database, store: DatabaseStore) -> None:
    (search_id,) = queue_searches(database)
    claim = take(store)
    store.record_evaluation(claim, make_evaluation(7, score=0.8))
    store.record_evaluation(claim, make_evaluation(7, score=0.9))
    (kept,) = store.load(claim).evaluations
    assert kept.score == 0.8
    assert events_of(database, search_id) == [(1, "evaluation")]


def test_a_proposal_is_kept_once(database: Database, store: DatabaseStore) -> None:
    queue_searches(database)
    claim = take(store)
    store.record_proposal(claim, make_proposal(0))
    store.record_proposal(claim, make_proposal(0))
    assert store.load(claim).proposals == (make_proposal(0),)


def test_what_is_no_json_is_refused_on_both_databases(database: Database, store: DatabaseStore) -> None:
    queue_searches(database)
    claim = take(store)
    evaluation = Evaluation(0, 0, make_configuration(), Status.SUCCEEDED, 0.5, (float("nan"),))
    with pytest.raises(Exception, match="JSON compliant"):
        store.record_evaluation(claim, evaluation)
    assert store.load(claim).evaluations == ()


def test_events_tell_the_story_in_order(database: Database, store: DatabaseStore) -> None:
    ids = queue_searches(database, 2)
    claim, other = take(store), take(store)
    store.record_phase(claim, Phase.SEARCH)
    store.record_evaluation(claim, make_evaluation(0))
    store.record_phase(other, Phase.SEARCH)
    store.record_evaluation(claim, make_evaluation(1, status=Status.CRASHED))
    assert read_search(database, ids[0]).phase == "search"
    store.finish(claim, make_result(), cancelled=False)
    assert events_of(database, ids[0]) == [
        (1, "phase"),
        (2, "evaluation"),
        (3, "evaluation"),
        (4, "finished"),
    ]
    with database.session(read_only=True) as session:
        payloads = session.scalars(
            select(SearchEventRow.payload).where(SearchEventRow.search_id == ids[0]).order_by(SearchEventRow.sequence)
        ).all()
        model_id = session.get_one(SearchRow, ids[0]).model_id
    assert payloads[0] == {"phase": "search"}
    assert payloads[1] == {
        "number": 0,
        "configuration": make_evaluation(0).configuration.to_json(),
        "status": "succeeded",
        "score": 0.8,
        "duration_s": 1.25,
    }
    assert payloads[2]["status"] == "crashed"
    assert payloads[3] == {"status": "succeeded", "model_id": model_id, "error": None}


def test_finish_delivers_the_model_and_its_documents(database: Database, store: DatabaseStore, files: Files) -> None:
    (search_id,) = queue_searches(database)
    with database.session() as session:
        session.get_one(SearchRow, search_id).warnings = ["4 folds in place of 5"]
    claim = take(store)
    store.record_phase(claim, Phase.RULES)
    store.finish(claim, make_result(b"the bytes"), cancelled=False)
    row = read_search(database, search_id)
    assert (row.status, row.phase, row.error) == ("succeeded", None, None)
    assert row.finished_at is not None
    assert row.ensemble == {"members": [{"weight": 1.0}]}
    assert row.rules == {"rules": [], "note": "of the model"}
    assert row.decomposition == {"subspaces": []}
    assert row.warnings == ["4 folds in place of 5", "few events"]
    with database.session(read_only=True) as session:
        model = session.get_one(ModelRow, row.model_id)
    assert (model.search_id, model.cohort_id, model.owner_id) == (search_id, row.cohort_id, row.owner_id)
    assert (model.version, model.parent_id) == (1, None)
    assert model.document["features"][0]["name"] == "age"
    assert model.document["outcome"] == {"column": "died", "positive": "1", "negative": "0", "label": None}
    assert files.get("models", model.sha256) == b"the bytes"


@pytest.mark.parametrize("cancelled", [False, True])
def test_a_finished_search_takes_no_more_writes_and_no_more_runners(
    database: Database, store: DatabaseStore, cancelled: bool
) -> None:
    (search_id,) = queue_searches(database)
    claim = take(store)
    store.finish(claim, make_result(), cancelled=cancelled)
    assert read_search(database, search_id).status == ("cancelled" if cancelled else "succeeded")
    with pytest.raises(LeaseLostError):
        store.record_evaluation(claim, make_evaluation(0))
    assert store.claim("other", LONG) is None


def test_fail_says_why(database: Database, store: DatabaseStore) -> None:
    (search_id,) = queue_searches(database)
    store.fail(take(store), "search-failed", "no evaluation succeeded")
    row = read_search(database, search_id)
    assert (row.status, row.model_id) == ("failed", None)
    assert row.error == {"code": "search-failed", "detail": "no evaluation succeeded"}
    assert events_of(database, search_id) == [(1, "finished")]


def test_a_search_cancelled_before_any_success_is_no_failure(database: Database, store: DatabaseStore) -> None:
    (search_id,) = queue_searches(database)
    store.fail(take(store), "search-failed", "no evaluation succeeded", cancelled=True)
    row = read_search(database, search_id)
    assert (row.status, row.error) == ("cancelled", None)


def test_a_running_search_hears_of_the_cancel_at_its_heartbeat(database: Database, store: DatabaseStore) -> None:
    (search_id,) = queue_searches(database)
    claim = take(store)
    assert store.heartbeat(claim, LONG) is False
    cancel(database, search_id)
    assert read_search(database, search_id).status == "running"
    assert store.heartbeat(claim, LONG) is True
    assert store.heartbeat(claim, LONG) is True


def test_a_queued_search_is_cancelled_at_once_and_never_claimed(database: Database, store: DatabaseStore) -> None:
    ids = queue_searches(database, 2)
    cancel(database, ids[0])
    row = read_search(database, ids[0])
    assert (row.status, row.started_at) == ("cancelled", None)
    assert row.finished_at is not None
    assert events_of(database, ids[0]) == [(1, "finished")]
    assert take(store).search_id == ids[1]


def test_a_deleted_search_is_lost_to_its_runner(database: Database, store: DatabaseStore) -> None:
    (search_id,) = queue_searches(database)
    claim = take(store)
    with database.session() as session:
        session.delete(session.get_one(SearchRow, search_id))
    with pytest.raises(LeaseLostError):
        store.record_evaluation(claim, make_evaluation(0))


def test_the_end_of_a_search_and_the_deletion_of_its_cohort_do_not_lock_each_other(
    database: Database, store: DatabaseStore
) -> None:
    (search_id,) = queue_searches(database)
    claim = take(store)
    with ThreadPoolExecutor() as pool, database.session() as session:
        # Stopped half-way, where a deletion holds the cohort and has not yet looked at the searches.
        cohort = session.scalars(select(CohortRow).with_for_update()).one()
        finishing = pool.submit(store.finish, claim, make_result(), cancelled=False)
        wait_until_someone_waits(database)
        with pytest.raises(ConflictError, match="cancel the running searches"):
            CohortRepository(session).delete(cohort.owner_id, cohort.id, models="delete")
        session.rollback()
        finishing.result(60)
    assert read_search(database, search_id).status == "succeeded"


def test_statistics_are_not_kept_of_a_search_that_an_erasure_deletes_meanwhile(
    database: Database, store: DatabaseStore
) -> None:
    (search_id,) = queue_searches(database)
    store.finish(take(store), make_result(), cancelled=False)
    with ThreadPoolExecutor() as pool:
        with database.session() as session:
            cohort = session.scalars(select(CohortRow).with_for_update()).one()
            CohortRepository(session).replace(
                cohort, sha256="f" * 64, identifiers_sha256="e" * 64, n_patients=302, document={"n_rows": 302}
            )
            learning = pool.submit(store.record_statistics, search_id, STATISTICS)
            wait_until_someone_waits(database)
        learning.result(60)
    with database.session(read_only=True) as session:
        assert session.scalars(select(CohortStatisticsRow)).all() == []
