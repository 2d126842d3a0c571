"""Refits for the intervals of patients' risks: which, how many, and what a search says of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from api.searches.schemas import EnsembleDocument
from autoprog.search.clock import MAX_REFITS
from autoprog.search.delivery.intervals import affordable_refits, complete_refits
from autoprog.search.planning import build_plan
from autoprog.search.tasks import refit_on_resample
from autoprog.space import Configuration, Step
from autoprog.storage.database import Database
from autoprog.storage.files import Files
from autoprog.validation import MIN_REFITS
from tests.cohorts import cleveland_cohort
from tests.search.bench import Bench
from tests.search.inline import InlineDispatcher

# Four evaluations of three folds, and at most four members to refit.
SETTINGS: dict[str, Any] = {
    "space": {
        "imputation": ["median"],
        "features": ["none"],
        "prediction": ["logistic_regression", "ridge", "gaussian_nb", "k_nearest_neighbours"],
        "calibration": ["none"],
    },
    "budget": {"evaluations": 4, "time_s": 600},
    "racing": False,
}
SIMPLE = Configuration(Step.of("median"), Step.of("none"), Step.of("logistic_regression"), Step.of("none"))


@pytest.fixture
def bench(database: Database, tmp_path: Path) -> Bench:
    return Bench(database, Files(str(tmp_path / "files")), cleveland_cohort())


def test_as_many_refits_as_there_is_time_for() -> None:
    w, seconds = np.array([0.6, 0.4]), np.array([1.0, 2.0])  # 3 s a refit of both
    assert affordable_refits(w, seconds, 1000.0, MAX_REFITS)[1] == MAX_REFITS
    kept, number = affordable_refits(w, seconds, 28.5, MAX_REFITS)
    assert (kept.tolist(), number) == ([0.6, 0.4], 9)


def test_the_dearest_member_gives_way_when_there_is_too_little() -> None:
    w, seconds = np.array([0.3, 0.7]), np.array([50.0, 1.0])
    kept, number = affordable_refits(w, seconds, 8.5, MAX_REFITS)
    assert (kept.tolist(), number) == ([0.0, 0.7], 8)
    # Not where it holds most of the weight: what is left would be another model.
    kept, number = affordable_refits(np.array([0.9, 0.1]), seconds, 12.5, MAX_REFITS)
    assert number == 0
    assert affordable_refits(np.array([1.0]), np.array([1.0]), MIN_REFITS - 0.5, MAX_REFITS)[1] == 0
    # Dear is what brings little weight for its seconds.
    kept, _ = affordable_refits(np.array([0.8, 0.2]), np.array([2.0, 1.5]), 12.5, MAX_REFITS)
    assert kept.tolist() == [0.8, 0.0]


def test_a_sample_counts_to_which_every_member_was_fitted() -> None:
    w = np.array([0.5, 0.0, 0.3, 0.2])
    risks = {(b, k): np.full(3, 10 * b + k) for b in range(6) for k in (0, 2, 3)}
    del risks[1, 2]
    found = complete_refits(w, risks)
    np.testing.assert_array_equal(found.kept, w)
    np.testing.assert_array_equal(
        [r[:, 0] for r in found.risks], [[10 * b, 10 * b + 2, 10 * b + 3] for b in (0, 2, 3, 4, 5)]
    )


def test_a_member_that_most_samples_lack_is_left_out() -> None:
    w = np.array([0.5, 0.3, 0.2])
    risks = {(b, k): np.full(3, k) for b in range(6) for k in range(3) if k != 1 or b == 4}
    found = complete_refits(w, risks)
    assert found.kept.tolist() == [0.5, 0.0, 0.2]
    assert len(found.risks) == 6
    without_most = {(b, 2): np.full(3, 2) for b in range(6)}
    assert complete_refits(np.array([0.6, 0.3, 0.1]), without_most).risks == []
    assert complete_refits(w, {}).risks == []


def test_the_last_sample_counts_by_the_members_that_the_time_sufficed_for() -> None:
    w = np.array([0.5, 0.3, 0.2])
    risks = {(b, k): np.full(3, k) for b in range(MIN_REFITS) for k in range(3)}
    del risks[MIN_REFITS - 1, 2]
    found = complete_refits(w, risks)
    assert found.kept.tolist() == [0.5, 0.3, 0.0]
    assert len(found.risks) == MIN_REFITS


def test_a_search_tells_intervals_and_how_they_were_estimated(bench: Bench) -> None:
    search_id = bench.queue(**SETTINGS)
    assert bench.runner(InlineDispatcher()).run_one()
    search = bench.search(search_id)
    assert search.ensemble is not None
    model, cohort = bench.model(search), cleveland_cohort()
    risks, intervals = model.risks_with_intervals(cohort.X)
    assert intervals is not None
    assert ((intervals[:, 0] < risks) & (risks < intervals[:, 1])).all()
    assert search.ensemble["interval"] == {"level": 0.9, "method": model.interval_method}
    assert f"spread of {MAX_REFITS} refits of the ensemble to bootstrap samples of patients" in model.interval_method
    instability = search.ensemble["instability"]
    assert instability["n_refits"] == MAX_REFITS
    assert 0 < instability["mape"] < instability["mape_90"] < 0.5
    shown = EnsembleDocument.model_validate(search.ensemble).model_dump(mode="json")
    for name in ("instability", "interval", "calibration_curve", "risk_distribution"):
        assert shown[name] == search.ensemble[name], name
    distribution = shown["risk_distribution"]
    assert sum(distribution["with_outcome"]) == cohort.y.sum()


def test_what_is_estimated_does_not_depend_on_the_order_of_arrival(bench: Bench) -> None:
    found = []
    for first_last in (True, False):
        search_id = bench.queue(**SETTINGS)
        bench.runner(InlineDispatcher(first_last=first_last)).run_one()
        search = bench.search(search_id)
        assert search.ensemble is not None
        found.append((search.ensemble, bench.model(search).intervals))
    assert found[0][0] == found[1][0]
    (first,), (second,) = (intervals for _, intervals in found)
    assert first.to_json() == second.to_json()


def test_too_few_refits_give_no_interval_and_the_reason(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(ref: Any, configuration: Any, plan: Any, number: int, rows: np.ndarray) -> np.ndarray:
        if number >= MIN_REFITS - 1:
            raise ValueError("as the test says")
        return refit_on_resample(ref, configuration, plan, number, rows)

    monkeypatch.setattr("autoprog.search.delivery.intervals.refit_on_resample", failing)
    search_id = bench.queue(**SETTINGS)
    bench.runner(InlineDispatcher()).run_one()
    search = bench.search(search_id)
    assert search.status == "succeeded"
    assert search.ensemble is not None
    assert search.ensemble["instability"] is None
    method = search.ensemble["interval"]["method"]
    assert method == f"none was estimated, as {MIN_REFITS - 1} of {MAX_REFITS} refits ended and {MIN_REFITS} are needed"
    model = bench.model(search)
    assert model.risks_with_intervals(cleveland_cohort().X)[1] is None
    assert model.interval_document["method"] == method


def test_a_refit_is_asked_about_those_whom_it_has_not_seen(bench: Bench) -> None:
    search_id = bench.queue(**SETTINGS)
    claim = bench.store.claim("one", 60.0)
    assert claim is not None
    assert claim.search_id == search_id
    state = bench.store.load(claim)
    rows = np.arange(0, 303, 2)
    risks = refit_on_resample(state.cohort, SIMPLE, build_plan(state, cleveland_cohort()), 3, rows)
    share = np.isnan(risks).mean()
    assert 0.5 < share < 0.76  # 1 - 1/e; five standard errors of 152 draws
    seen = risks[~np.isnan(risks)]
    assert ((seen > 0) & (seen < 1)).all()
    again = refit_on_resample(state.cohort, SIMPLE, build_plan(state, cleveland_cohort()), 3, rows)
    other = refit_on_resample(state.cohort, SIMPLE, build_plan(state, cleveland_cohort()), 4, rows)
    np.testing.assert_array_equal(risks, again)
    assert not np.array_equal(np.isnan(risks), np.isnan(other))
