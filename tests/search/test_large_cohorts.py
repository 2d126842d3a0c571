"""A large cohort is explored on a sample; the best are evaluated, and the model is fitted, on all patients."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from autoprog.optimizer import Proposal
from autoprog.search import planning
from autoprog.search.clock import Clock
from autoprog.search.ports import Claim, CohortRef, SearchState
from autoprog.search.settings import SearchSettings
from autoprog.space import Space, TableShape, list_algorithms
from autoprog.storage.database import Database
from autoprog.storage.files import Files
from autoprog.storage.repositories import EvaluationRepository, SearchRepository
from tests.cohorts import cleveland_cohort
from tests.search.bench import Bench
from tests.search.inline import InlineDispatcher

SETTINGS: dict[str, Any] = {
    "space": {
        "imputation": ["median", "mean"],
        "features": ["none"],
        "prediction": ["logistic_regression", "ridge", "gaussian_nb", "bernoulli_nb"],
        "calibration": ["none"],
    },
    "budget": {"evaluations": 12, "time_s": 600},
}
EVERYBODY, EXPLORED = 303, 150


@pytest.fixture(autouse=True)
def _cleveland_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "_EXPLORED_WHOLE", 200)
    monkeypatch.setattr(planning, "_EXPLORED_TRAINING", EXPLORED * 2 // 3)
    monkeypatch.setattr(planning, "_EXPLORED_MINORITY", 20)


@pytest.fixture
def bench(database: Database, tmp_path: Path) -> Bench:
    return Bench(database, Files(str(tmp_path / "files")), cleveland_cohort())


def test_the_best_are_evaluated_on_all_and_the_model_is_made_of_them(bench: Bench) -> None:
    search_id = bench.queue(**SETTINGS)
    bench.runner(InlineDispatcher()).run_one()
    search = bench.search(search_id)
    assert search.status == "succeeded", search.error
    evaluations = bench.evaluations(search_id)
    explored, final = evaluations[:6], evaluations[6:]
    assert {e[3] for e in final} == {"succeeded"}
    best = sorted((e for e in explored if e[4] is not None), key=lambda e: -e[4])
    assert final[0][2] == explored[0][2]
    assert [e[2] for e in final[1:]] == [e[2] for e in best if e[2] != explored[0][2]][: len(final) - 1]
    assert search.warnings[0] == (
        f"6 configurations were explored on {EXPLORED} of {EVERYBODY} patients, "
        f"and the best {len(final)} evaluated on all"
    )
    assert search.ensemble is not None
    members = [m["configuration"] for m in search.ensemble["members"]]
    assert all(m in [e[2] for e in final] for m in members)


def test_exploring_gives_way_to_the_finalists(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the middle of the first two batches, of four and two, the finalists need what is left."""
    dispatcher = InlineDispatcher(first_last=False)
    monkeypatch.setattr(Clock, "finals_are_due", lambda *_, **__: dispatcher.calls >= 4)
    search_id = bench.queue(**SETTINGS)
    bench.runner(dispatcher).run_one()
    search = bench.search(search_id)
    assert search.status == "succeeded", search.error
    statuses = [e[3] for e in bench.evaluations(search_id)]
    explored = statuses[:6].count("succeeded")
    assert 0 < explored < 4
    assert statuses[:6].count("cancelled") == 6 - explored
    assert statuses[6:] == ["succeeded"] * explored
    assert search.warnings[0] == (
        f"{explored} configurations were explored on {EXPLORED} of {EVERYBODY} patients, "
        f"and the best {explored} evaluated on all"
    )


def test_the_limit_on_a_sample_waits_for_the_simple_pipeline(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """However little a sample may take by its share of the patients, the simple pipeline is evaluated on it."""
    monkeypatch.setattr(Clock, "finalist_s", lambda _, __, simple_s: 3.0 * simple_s)
    search_id = bench.queue(**SETTINGS)
    bench.runner(InlineDispatcher()).run_one()
    search = bench.search(search_id)
    assert search.status == "succeeded", search.error
    assert bench.evaluations(search_id)[0][3] == "succeeded"


def test_what_all_patients_would_not_bear_is_not_explored(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sample has 2,000 cells, everybody 4,040."""
    monkeypatch.setattr(planning, "make_optimizer", lambda space, shape, *_: (space, shape))
    settings = SearchSettings(folds=3, repeats=1, space={"imputation": ["median", "miss_forest"]})
    state = SearchState("one", CohortRef("", ""), settings)
    imputers = list_algorithms("imputation")

    def names_with(max_cells: int) -> list[str]:
        bounded = tuple(replace(a, max_cells=max_cells) if a.name == "miss_forest" else a for a in imputers)
        patch = {"imputation": bounded}
        monkeypatch.setattr(
            "autoprog.space.space.list_algorithms", lambda s, n_causes=1: patch.get(s) or list_algorithms(s, n_causes)
        )
        space, shape = cast("tuple[Space, TableShape]", planning.build_optimizer(state, cleveland_cohort()))
        assert shape.n_patients == 100
        return [a.name for a in space.stages[0]]

    assert names_with(5_000) == ["median", "miss_forest"]
    assert names_with(3_000) == ["median"]


def queue_boosters(bench: Bench, dispatcher: InlineDispatcher, monkeypatch: pytest.MonkeyPatch) -> str:
    """Queue a search that explores four pipelines, boosters among them, of very many patients."""
    monkeypatch.setattr("autoprog.search.finalists.VERY_MANY", EVERYBODY)
    monkeypatch.setattr(Clock, "finals_are_due", lambda *_, **__: dispatcher.calls >= 12)
    space = {**SETTINGS["space"], "imputation": ["none", "median"]}
    space["prediction"] = ["logistic_regression", "stochastic_boosting"]
    return bench.queue(**{**SETTINGS, "space": space})


@pytest.mark.parametrize(("factor", "all_first"), [(2.0, False), (4.0, True)])
def test_the_best_booster_is_slowed_on_all_patients(
    factor: float, all_first: bool, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All finalists come first where the time left would make it as slow as the space allows, otherwise it goes on."""
    dispatcher = InlineDispatcher(first_last=False)
    monkeypatch.setattr(Clock, "slowdown", lambda *_: factor)
    search_id = queue_boosters(bench, dispatcher, monkeypatch)
    bench.runner(dispatcher).run_one()
    search = bench.search(search_id)
    assert search.status == "succeeded", search.error
    evaluations = bench.evaluations(search_id)
    batches = [[e for e in evaluations if e[1] == batch] for batch in sorted({e[1] for e in evaluations})]
    rates = {e[0]: e[2]["prediction"]["parameters"].get("learning_rate") for e in evaluations}
    finalists, *slower = batches[2:]
    succeeded = [e for e in finalists if e[3] == "succeeded"]
    assert (succeeded == finalists) == all_first
    boosters = sorted((e for e in succeeded if rates[e[0]] is not None), key=lambda e: -e[4])
    assert len(slower) == len(boosters) >= 1
    for booster, (slowed,) in zip(boosters, slower, strict=True):
        assert slowed[3] == "succeeded"
        assert rates[slowed[0]] == pytest.approx(max(0.02, rates[booster[0]] / factor), rel=1e-2)
        assert slowed[2] == {**booster[2], "prediction": slowed[2]["prediction"]}


def test_a_slowed_booster_that_is_cut_off_had_all_the_time(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its reason was that the time was given to a slower booster, which is itself."""
    dispatcher = InlineDispatcher(first_last=False)
    monkeypatch.setattr(Clock, "slowdown", lambda *_: 2.0)
    monkeypatch.setattr(Clock, "single_refit_is_due", lambda *_: True)
    search_id = queue_boosters(bench, dispatcher, monkeypatch)
    bench.runner(dispatcher).run_one()
    assert bench.search(search_id).status == "succeeded"
    with bench.database.session() as session:
        rows = EvaluationRepository(session).list_all(bench.owner, search_id)
        last = max(row.batch for row in rows)
        reasons = [(row.status, row.reason) for row in rows if row.batch == last]
    assert reasons == [("cancelled", "the time budget was spent")]


class Killed(BaseException):
    """The end of a runner that writes nothing more."""


def kill_at_a_slowed_booster(bench: Bench, dispatcher: InlineDispatcher, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run a search until the second fold of its first slowed booster; return it, ready to be claimed."""
    finals: list[int] = []  # calls before each batch of finalists
    record = bench.store.record_proposal

    def noting(claim: Claim, proposal: Proposal) -> None:
        record(claim, proposal)
        if proposal.is_final:
            finals.append(dispatcher.calls)

    def kill(call: int) -> None:
        if len(finals) == 2 and call > finals[1]:
            raise Killed

    dispatcher.before = kill
    search_id = queue_boosters(bench, dispatcher, monkeypatch)
    with monkeypatch.context() as patch:
        patch.setattr(bench.store, "record_proposal", noting)
        with pytest.raises(Killed):
            bench.runner(dispatcher).run_one()
    with bench.database.session() as session:
        row = SearchRepository(session).get(bench.owner, search_id)
        row.lease_until = row.created_at
    return search_id


def test_a_booster_that_a_killed_runner_slowed_is_evaluated_by_the_next(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    dispatcher = InlineDispatcher(first_last=False)
    monkeypatch.setattr(Clock, "slowdown", lambda *_: 2.0)
    whole = queue_boosters(bench, dispatcher, monkeypatch)
    bench.runner(dispatcher).run_one()
    broken = kill_at_a_slowed_booster(bench, dispatcher := InlineDispatcher(first_last=False), monkeypatch)
    assert len(bench.evaluations(broken)) < len(bench.evaluations(whole))
    assert bench.runner(InlineDispatcher(first_last=False), "two").run_one()
    assert bench.evaluations(broken) == bench.evaluations(whole)
    assert bench.search(broken).ensemble == bench.search(whole).ensemble


def test_a_booster_is_slowed_by_less_where_an_interruption_has_taken_the_time(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rate of a fourth was planned, and a half is left: the fourth would be cut off with nothing to show."""
    dispatcher = InlineDispatcher(first_last=False)
    left = [4.0]
    monkeypatch.setattr(Clock, "slowdown", lambda *_: left[-1])
    broken = kill_at_a_slowed_booster(bench, dispatcher, monkeypatch)
    known = bench.evaluations(broken)
    left.append(2.0)
    assert bench.runner(InlineDispatcher(first_last=False), "two").run_one()
    assert bench.search(broken).status == "succeeded"
    evaluations = bench.evaluations(broken)
    assert evaluations[: len(known)] == known
    rates = [e[2]["prediction"]["parameters"].get("learning_rate") for e in evaluations]
    best = max((e for e, rate in zip(known, rates, strict=False) if e[1] == known[-1][1] and rate), key=lambda e: e[4])
    (slowed, *_) = evaluations[len(known) :]
    assert slowed[0] == known[-1][0] + 2  # the number between is the booster's that was given up
    assert slowed[3] == "succeeded"
    assert rates[len(known)] == pytest.approx(max(0.02, rates[known.index(best)] / 2.0), rel=1e-2)
