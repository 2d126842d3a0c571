"""The runner over the real store, with evaluations in this process."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from autoprog.errors import StoreUnavailableError
from autoprog.evaluation import Evaluation, History, Plan
from autoprog.optimizer.structured import StructuredOptimizer
from autoprog.search.clock import Clock
from autoprog.search.evaluation_stream import EvaluationStream
from autoprog.search.ports import Claim, CohortRef, SearchState
from autoprog.search.runner import Runner
from autoprog.search.tasks import fit, load_cohort
from autoprog.space import Configuration
from autoprog.storage.database import Database
from autoprog.storage.files import Files
from autoprog.storage.repositories import EvaluationRepository, SearchRepository
from autoprog.storage.serialization import evaluation_from_row
from autoprog.work import CallStatus
from tests.cohorts import cleveland_cohort
from tests.search.bench import Bench
from tests.search.inline import InlineDispatcher

FAST = {
    "imputation": ["median", "mean"],
    "features": ["none", "select_rates"],
    "prediction": ["logistic_regression", "ridge", "gaussian_nb", "k_nearest_neighbours"],
    "calibration": ["none"],
}


class FastBench(Bench):
    """Cleveland, and fourteen evaluations of learners that take milliseconds."""

    def queue(self, **settings: Any) -> str:
        return super().queue(**{"space": FAST, "budget": {"evaluations": 14, "time_s": 600}, **settings})


@pytest.fixture
def bench(database: Database, tmp_path: Path) -> Bench:
    return FastBench(database, Files(str(tmp_path / "files")), cleveland_cohort())


def test_a_search_runs_to_its_end(bench: Bench) -> None:
    search_id = bench.queue()
    dispatcher = InlineDispatcher()
    assert bench.runner(dispatcher).run_one()
    search = bench.search(search_id)
    assert search.status == "succeeded"
    assert search.model_id is not None
    evaluations = bench.evaluations(search_id)
    assert [e[0] for e in evaluations] == list(range(14))
    simple = {stage: step["algorithm"] for stage, step in evaluations[0][2].items()}
    assert list(simple.values()) == ["median", "none", "logistic_regression", "none"]
    assert len({str(e[2]) for e in evaluations}) == 14
    assert search.ensemble is not None
    weights = [m["weight"] for m in search.ensemble["members"]]
    assert sum(weights) == pytest.approx(1)
    assert weights == sorted(weights, reverse=True)
    assert search.ensemble["score"]["estimate"] > 0.8
    assert search.ensemble["baseline"]["score"]["estimate"] > 0.8
    subgroups = search.ensemble["subgroups"]
    assert {s["feature"] for s in subgroups} == {"age", "sex"}
    assert sum(s["n"] for s in subgroups if s["feature"] == "sex") == 303
    assert search.rules is not None
    assert {s["name"] for s in search.rules["strata"]} == {"high", "medium", "low"}
    assert not bench.runner(dispatcher).run_one()


class Whole(NamedTuple):
    """What a search leaves that nothing has interrupted."""

    calls: int
    evaluations: list[tuple[Any, ...]]
    ensemble: dict[str, Any] | None
    rules: dict[str, Any] | None


_WHOLE: dict[str, Whole] = {}


def unbroken(bench: Bench, aim: str) -> Whole:
    """Run it once for each aim."""
    if aim not in _WHOLE:
        search_id, dispatcher = bench.queue(seed=3, optimizer={"aim": aim}), InlineDispatcher()
        bench.runner(dispatcher).run_one()
        search = bench.search(search_id)
        _WHOLE[aim] = Whole(dispatcher.calls, bench.evaluations(search_id), search.ensemble, search.rules)
    return _WHOLE[aim]


@pytest.mark.parametrize(
    ("after", "aim"),
    [(0, "pipeline"), (1, "pipeline"), (5, "pipeline"), (14, "pipeline"), (22, "pipeline"), (22, "ensemble")],
)
def test_a_search_that_was_left_goes_on_as_if_it_never_was(bench: Bench, after: int, aim: str) -> None:
    whole = unbroken(bench, aim)
    broken = bench.queue(seed=3, optimizer={"aim": aim})
    first: Runner

    def leave(call: int) -> CallStatus | None:
        if call == after:
            first.stop()
        return None

    first = bench.runner(InlineDispatcher(before=leave))
    assert not first.run_one()
    assert bench.search(broken).status == "running"
    written = len(bench.evaluations(broken))
    assert written < 14
    assert (written > 0) == (after > 1)
    second = InlineDispatcher()
    assert bench.runner(second, "two").run_one()
    assert bench.search(broken).status == "succeeded"
    assert bench.evaluations(broken) == whole.evaluations
    assert whole.calls - after <= second.calls <= whole.calls  # folds of undecided evaluations are begun anew
    assert bench.search(broken).ensemble == whole.ensemble
    assert bench.search(broken).rules == whole.rules


@pytest.mark.parametrize("is_late", [False, True])
def test_where_no_member_can_be_refitted_another_pipeline_is_delivered(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, is_late: bool
) -> None:
    """All patients need more memory than a fold, say; where the time is up, the quickest of the others is tried."""
    asked: list[str] = []

    def failing(ref: CohortRef, configuration: Configuration, plan: Plan, threads: int) -> bytes:
        asked.append(configuration.prediction.algorithm)
        if asked[-1] == asked[0]:
            raise ValueError("as the test says")
        return fit(ref, configuration, plan, threads)

    monkeypatch.setattr("autoprog.search.delivery.delivering.fit", failing)
    if is_late:
        monkeypatch.setattr(Clock, "refits_end", lambda _: True)
    search_id = bench.queue(seed=3, ensemble="best")
    assert bench.runner(InlineDispatcher()).run_one()
    search = bench.search(search_id)
    assert search.status == "succeeded", search.error
    assert search.ensemble is not None
    (member,) = search.ensemble["members"]
    assert member["configuration"]["prediction"]["algorithm"] == asked[-1] != asked[0]
    assert member["weight"] == 1.0
    assert search.ensemble["baseline"] is not None
    assert sum("is left out of the ensemble" in text for text in search.warnings) == len(asked) - 1


@pytest.mark.parametrize(("is_late", "most"), [(False, 14), (True, 2)])
def test_a_search_of_which_nothing_can_be_refitted_fails(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, is_late: bool, most: int
) -> None:
    asked: list[Configuration] = []

    def failing(ref: CohortRef, configuration: Configuration, plan: Plan, threads: int) -> bytes:
        asked.append(configuration)
        raise ValueError("as the test says")

    monkeypatch.setattr("autoprog.search.delivery.delivering.fit", failing)
    if is_late:
        monkeypatch.setattr(Clock, "refits_end", lambda _: True)
    search_id = bench.queue(seed=3, ensemble="best")
    assert bench.runner(InlineDispatcher()).run_one()
    error = bench.search(search_id).error
    assert error is not None
    assert error["detail"] == "no member of the ensemble could be refitted: ValueError: as the test says"
    assert 1 < len(asked) == len(set(asked)) <= most


class JoinedDispatcher(InlineDispatcher):
    """Without a worker until the first call has ended; then there are four slots."""

    @property
    def slots(self) -> int:  # type: ignore[override]
        return 4 if self.calls else 0


def test_workers_that_join_late_are_used_and_change_no_proposal(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    planned: list[int] = []
    affordable = Clock.affordable
    monkeypatch.setattr(Clock, "affordable", lambda self, s: (planned.append(self.slots), affordable(self, s))[1])
    searches = []
    for dispatcher in (InlineDispatcher(), JoinedDispatcher()):
        searches.append(bench.queue(seed=5))
        assert bench.runner(dispatcher).run_one()
    assert planned == [1, 4]
    assert bench.evaluations(searches[0]) == bench.evaluations(searches[1])


@pytest.mark.parametrize(("rule", "is_whole"), [("blend", True), ("best", False)])
def test_a_search_ends_by_what_its_ensemble_needs(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, rule: str, is_whole: bool
) -> None:
    """The best would need all the time, the ensemble's members none. `best` needs a posterior, and ends."""
    asked: list[set[int]] = []

    def expect(clock: Clock, _: History, members: set[int] | None = None) -> None:
        if members is not None:
            asked.append(members)
        clock._delivery_s = math.inf if members is None else 0.0

    monkeypatch.setattr(Clock, "expect", expect)
    search_id = bench.queue(seed=3, ensemble=rule, budget={"evaluations": 14, "time_s": 600})
    assert bench.runner(InlineDispatcher()).run_one()
    search = bench.search(search_id)
    assert search.status == "succeeded", search.error
    decided = [status for _, _, _, status, *_ in bench.evaluations(search_id) if status != "cancelled"]
    assert (len(decided) == 14) is is_whole
    assert search.ensemble is not None
    delivered = len(search.ensemble["members"])
    assert [len(members) for members in asked[-1:]] == ([delivered] if is_whole else [])


def test_a_cancelled_search_delivers_what_it_has(bench: Bench) -> None:
    search_id = bench.queue()

    def cancel(call: int) -> CallStatus | None:
        if call == 6:
            bench.cancel(search_id)
            time.sleep(2)  # many heartbeats
        return None

    Runner(bench.store, InlineDispatcher(before=cancel), runner_id="one", lease_s=0.6).run_one()
    search = bench.search(search_id)
    assert search.status == "cancelled"
    assert search.model_id is not None
    statuses = [e[3] for e in bench.evaluations(search_id)]
    assert statuses.count("succeeded") == 2
    assert set(statuses) == {"succeeded", "cancelled"}


def test_failures_are_recorded_and_never_proposed_again(bench: Bench) -> None:
    search_id = bench.queue(racing=False)
    kinds = {2: CallStatus.TIMEOUT, 9: CallStatus.MEMORY, 17: CallStatus.CRASHED}
    bench.runner(InlineDispatcher(before=kinds.get)).run_one()
    search = bench.search(search_id)
    evaluations = bench.evaluations(search_id)
    assert search.status == "succeeded"
    assert sorted(e[3] for e in evaluations if e[3] != "succeeded") == ["crashed", "memory", "timeout"]
    assert all(e[4] is None and e[5] == [] for e in evaluations if e[3] != "succeeded")
    assert len({str(e[2]) for e in evaluations}) == len(evaluations)
    assert "1 of 14 evaluations ended as timeout" in search.warnings


def test_a_search_in_which_nothing_succeeds_fails_and_says_why(bench: Bench) -> None:
    search_id = bench.queue()
    bench.runner(InlineDispatcher(before=lambda _: CallStatus.CRASHED)).run_one()
    search = bench.search(search_id)
    assert search.status == "failed"
    assert search.error is not None
    assert search.error["code"] == "search-failed"
    assert search.error["detail"].startswith("no evaluation succeeded: 14 crashed")


def test_a_missing_cohort_file_fails_the_search_by_name(bench: Bench, tmp_path: Path) -> None:
    search_id = bench.queue()
    for path in (tmp_path / "files").rglob("*"):
        if path.is_file():
            path.unlink()
    load_cohort.cache_clear()
    bench.runner(InlineDispatcher()).run_one()
    error = bench.search(search_id).error
    assert error is not None
    assert error["code"] == "artifact"


@pytest.mark.parametrize("preset", ["default", "paper", "random"])
def test_every_preset_delivers(bench: Bench, preset: str) -> None:
    search_id = bench.queue(optimizer={"preset": preset}, batch_size=5, metric="brier")
    bench.runner(InlineDispatcher()).run_one()
    search = bench.search(search_id)
    assert search.status == "succeeded"
    assert len(bench.evaluations(search_id)) == 14
    assert search.ensemble is not None
    assert search.ensemble["score"]["estimate"] < 0.2


@pytest.mark.parametrize(("rule", "scale"), [("greedy", "risk"), ("stacking", "log_odds"), ("best", "risk")])
def test_every_rule_of_the_ensemble_delivers(bench: Bench, rule: str, scale: str) -> None:
    search_id = bench.queue(ensemble=rule)
    bench.runner(InlineDispatcher()).run_one()
    search = bench.search(search_id)
    assert search.status == "succeeded"
    assert search.ensemble is not None
    assert search.ensemble["rule"] == rule
    assert search.ensemble["scale"] == bench.model(search).scale == scale
    assert search.ensemble["score"]["lower"] < search.ensemble["score"]["estimate"] < search.ensemble["score"]["upper"]
    assert (len(search.ensemble["members"]) == 1) == (rule == "best")


def test_another_runner_takes_over_and_the_first_one_writes_nothing_more(bench: Bench) -> None:
    """The first runner's lease is taken from under it in mid-batch."""
    search_id = bench.queue()
    taken: list[SearchState] = []

    def take_over(call: int) -> CallStatus | None:
        if call == 6:
            expire(bench, search_id)
            claim = bench.store.claim("thief", lease_s=60)
            assert claim is not None
            taken.append(bench.store.load(claim))
        return None

    bench.runner(InlineDispatcher(before=take_over)).run_one()
    assert len(taken) == 1
    assert bench.search(search_id).status == "running"
    assert 0 < len(bench.evaluations(search_id)) == len(taken[0].evaluations) < 14
    assert np.isfinite([e.score for e in taken[0].evaluations if e.score is not None]).all()


def expire(bench: Bench, search_id: str) -> None:
    with bench.database.session() as session:
        row = SearchRepository(session).get(bench.owner, search_id)
        row.lease_until = row.created_at


def lose(bench: Bench, search_id: str) -> None:
    """A runner takes the search and dies."""
    assert bench.store.claim("doomed", lease_s=60) is not None
    expire(bench, search_id)


def test_a_search_goes_on_after_its_database_was_away(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    unbroken = bench.queue(seed=3)
    bench.runner(InlineDispatcher()).run_one()
    broken = bench.queue(seed=3)
    record = bench.store.record_evaluation

    def away(claim: Claim, evaluation: Evaluation) -> None:
        if evaluation.number == 5:
            raise StoreUnavailableError("database is locked")
        record(claim, evaluation)

    with monkeypatch.context() as patch:
        patch.setattr(bench.store, "record_evaluation", away)
        assert not bench.runner(InlineDispatcher()).run_one()
    search = bench.search(broken)
    assert (search.status, search.error, search.runner_id) == ("running", None, "one")
    assert not bench.runner(InlineDispatcher()).run_one()  # the lease has still to run out
    expire(bench, broken)
    assert bench.runner(InlineDispatcher(), "two").run_one()
    assert bench.search(broken).status == "succeeded"
    assert bench.evaluations(broken) == bench.evaluations(unbroken)


def test_a_search_whose_database_is_always_away_is_given_up(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(claim: Claim) -> SearchState:
        raise StoreUnavailableError("disk I/O error")

    search_id = bench.queue()
    monkeypatch.setattr(bench.store, "load", away)
    for _ in range(7):
        assert not bench.runner(InlineDispatcher()).run_one()
        expire(bench, search_id)
    assert bench.runner(InlineDispatcher()).run_one()
    error = bench.search(search_id).error
    assert error is not None
    assert error["detail"].startswith("given up: 7 runners")


def test_a_crash_of_a_runner_that_was_taken_over_is_not_the_searchs(bench: Bench) -> None:
    def crash(_: int) -> None:
        expire(bench, search_id)
        assert bench.store.claim("thief", lease_s=60) is not None
        raise ZeroDivisionError

    search_id = bench.queue()
    assert bench.runner(InlineDispatcher(before=crash)).run_one()
    search = bench.search(search_id)
    assert (search.status, search.runner_id, search.error) == ("running", "thief", None)


def test_a_search_that_ends_its_runners_is_given_up(bench: Bench) -> None:
    search_id = bench.queue()
    for _ in range(5):
        lose(bench, search_id)
    bench.runner(InlineDispatcher()).run_one()
    error = bench.search(search_id).error
    assert error == {
        "code": "search-failed",
        "detail": "given up: 5 runners in a row ended while they worked on it",
    }


def test_a_search_that_ends_its_runners_delivers_what_it_has(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    search_id = half_done(bench)
    for _ in range(5):
        lose(bench, search_id)
    with monkeypatch.context() as patch:
        patch.setattr(StructuredOptimizer, "posterior", None)
        assert bench.runner(InlineDispatcher()).run_one()
    search = bench.search(search_id)
    assert (search.status, search.error) == ("succeeded", None)
    evaluations = bench.evaluations(search_id)
    assert len(evaluations) < 14
    assert search.ensemble is not None
    assert search.ensemble["run"]["n_proposed"] > 0
    assert search.warnings[0] == (
        "5 runners in a row ended while they worked on this search: it ended early, and the model is made of the "
        f"{len(evaluations)} pipelines that had succeeded"
    )


def test_a_search_that_ends_its_runners_as_they_deliver_is_given_up(bench: Bench) -> None:
    search_id = half_done(bench)
    for _ in range(7):
        lose(bench, search_id)
    assert bench.runner(InlineDispatcher()).run_one()
    error = bench.search(search_id).error
    assert error is not None
    assert error["detail"].startswith("given up: 7 runners")


def half_done(bench: Bench) -> str:
    """A search whose runner has left it after some evaluations."""
    search_id = bench.queue()
    first: Runner

    def leave(call: int) -> CallStatus | None:
        if call == 22:
            first.stop()
        return None

    first = bench.runner(InlineDispatcher(before=leave))
    assert not first.run_one()
    assert bench.evaluations(search_id)
    return search_id


def test_runners_that_got_somewhere_or_left_politely_do_not_count(bench: Bench) -> None:
    search_id = bench.queue()
    for _ in range(4):
        lose(bench, search_id)
    first: Runner

    def leave(call: int) -> CallStatus | None:
        if call == 6:
            first.stop()
        return None

    first = bench.runner(InlineDispatcher(before=leave))
    first.run_one()
    lose(bench, search_id)
    claim = bench.store.claim("last", lease_s=60)
    assert claim is not None
    assert claim.losses == 1


def test_an_opening_is_evaluated_along_its_paths_and_told_from_table_1(bench: Bench) -> None:
    """Penalised regressions and a forest: what is stored says which setting was chosen, and what was asked for."""
    space = {"prediction": ["logistic_regression", "penalised_logistic", "stochastic_boosting", "random_forest"]}
    search_id = bench.queue(space={**FAST, **space}, budget={"evaluations": 6, "time_s": 600}, racing=True)
    assert bench.runner(InlineDispatcher()).run_one()
    search = bench.search(search_id)
    assert search.status == "succeeded", search.error
    assert search.ensemble is not None
    assert search.ensemble["rule"] == "blend"
    with bench.database.session() as session:
        rows = EvaluationRepository(session).list_all(bench.owner, search_id)
        evaluations = [evaluation_from_row(row) for row in rows]
    assert evaluations[0].path is None
    along = [e for e in evaluations if e.path is not None]
    assert {e.configuration.prediction.algorithm for e in along} == {"penalised_logistic", "stochastic_boosting"}
    for e in along:
        assert e.path is not None
        chosen = dict(e.configuration.prediction.parameters)[e.path.hyperparameter]
        assert chosen in [setting.value for setting in e.path.settings]
        assert dict(e.proposed.prediction.parameters)[e.path.hyperparameter] == e.path.bound
        scores = {setting.value: setting.fold_scores for setting in e.path.settings}
        assert e.fold_scores == pytest.approx(scores[chosen])


def test_the_simple_pipeline_is_delivered_when_time_allows_for_nothing_else(bench: Bench) -> None:
    """Every call takes its time until the budget is spent: the first evaluation is made all the same, and delivered."""
    search_id = bench.queue(budget={"evaluations": 14, "time_s": 1})
    dispatcher = InlineDispatcher(before=lambda _: time.sleep(0.4), first_last=False)
    assert bench.runner(dispatcher).run_one()
    search = bench.search(search_id)
    assert search.status == "succeeded", search.error
    assert search.ensemble is not None
    assert search.ensemble["baseline"] is not None
    (member,) = search.ensemble["members"]
    assert member["configuration"]["prediction"]["algorithm"] == "logistic_regression"
    assert search.model_id is not None


@pytest.mark.parametrize(("predictors", "has_limit"), [(["logistic_regression", "ridge"], False), (["ridge"], True)])
def test_only_the_simple_model_has_no_limit(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, predictors: list[str], has_limit: bool
) -> None:
    told: dict[int, float] = {}
    add = EvaluationStream.add

    def noting(stream: EvaluationStream, *arguments: Any) -> None:
        told.update(arguments[3] or {})
        add(stream, *arguments)

    monkeypatch.setattr(EvaluationStream, "add", noting)
    bench.queue(space={**FAST, "prediction": predictors}, budget={"evaluations": 2, "time_s": 600})
    assert bench.runner(InlineDispatcher()).run_one()
    assert told[0] == (150 if has_limit else float("inf"))
