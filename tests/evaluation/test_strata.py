"""What folds and samples share evenly: events by every horizon, and patients who are followed beyond the last."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from autoprog.cohort import Cohort, stratified_sample
from autoprog.cohort.event_array import event_times
from autoprog.evaluation import Plan, make_folds
from autoprog.search import SearchSettings, plan_search
from tests.cohorts import cleveland_cohort
from tests.space.event_times.cohorts import as_cohort


def followed(n: int, early: int, beyond: int, causes: int = 1, horizons: tuple[float, ...] = (1.0, 2.0)) -> Cohort:
    """Patients of whom so many have the event by the first horizon, and so many are followed beyond the last."""
    rng = np.random.default_rng(0)
    time, event = rng.uniform(1.01, 1.99, n), rng.integers(0, causes + 1, n)
    rows = rng.permutation(n)
    time[rows[:early]], event[rows[:early]] = rng.uniform(0.1, 0.99, early), 1
    time[rows[early : early + beyond]] = rng.uniform(2.01, 3.0, beyond)
    return as_cohort(rng.normal(size=(n, 3)), event_times(event, time), horizons, causes)


@pytest.mark.parametrize("causes", [1, 2])
@pytest.mark.parametrize("seed", range(20))
def test_five_events_and_five_who_are_followed_on_are_one_in_every_fold(causes: int, seed: int) -> None:
    cohort = followed(600, 5, 5, causes)
    assert cohort.time is not None
    for fold in make_folds(cohort, 5, 1, seed)[0]:
        held_out = cohort.y[fold.test], cohort.time[fold.test]
        assert ((held_out[0] == 1) & (held_out[1] <= 1)).sum() == 1
        assert (held_out[1] > 2).sum() in {1, 2}  # five, of two kinds
        assert abs((held_out[0] == 1).sum() - (cohort.y == 1).sum() / 5) <= 2


def test_a_sample_keeps_enough_of_what_is_rare() -> None:
    cohort = followed(8_000, 30, 8)
    assert cohort.time is not None
    plan = Plan("time_dependent_auc", 5, 1, 3, patients=2_000, times=cohort.time_grid)
    sample = plan.sample(cohort)
    assert sample.time is not None
    assert abs(sample.n_rows - 2_000) < 10
    assert (sample.time > 2).sum() >= 5
    assert ((sample.y == 1) & (sample.time <= 1)).sum() >= 7
    strata = np.repeat([0, 1, 2], [90, 9, 2])
    chosen = stratified_sample(strata, 50, 3, np.random.default_rng(0))
    assert np.bincount(strata[chosen]).tolist() == [45, 4, 2]
    assert len(set(chosen.tolist())) == len(chosen)


def test_without_times_the_outcome_is_the_stratum() -> None:
    cohort = cleveland_cohort()
    np.testing.assert_array_equal(cohort.target.strata(cohort.outcomes, 5), cohort.y)


@pytest.mark.parametrize(("metric", "folds"), [("uno_c", 5), ("time_dependent_auc", 3)])
def test_folds_are_as_many_as_the_horizons_bear(metric: str, folds: int) -> None:
    cohort = followed(300, 3, 40)
    settings, warnings = plan_search(SearchSettings.model_validate({"metric": metric}), cohort)
    assert settings.folds == folds
    assert bool(warnings) == (folds < 5)
    for fold in make_folds(cohort, folds, 1, settings.seed)[0]:
        plan = Plan(metric, folds, 1, settings.seed, times=cohort.time_grid)
        risks = np.random.default_rng(0).random((len(fold.test), len(plan.times)))
        y = event_times(cohort.y, cohort.time)[fold.test] if cohort.time is not None else None
        assert np.isfinite(plan.metric_for(cohort).score(y, np.sort(risks, axis=1)))


def test_folds_whose_groups_leave_one_without_events_by_the_horizon_are_lowered() -> None:
    """All events by the last horizon lie in three of twelve hospitals."""
    cohort = followed(600, 60, 100)
    assert cohort.time is not None
    hospital = np.random.default_rng(1).integers(3, 12, 600)
    by_last = (cohort.y == 1) & (cohort.time <= 2)
    hospital[by_last] = np.arange(by_last.sum()) % 3
    settings, warnings = plan_search(SearchSettings(), replace(cohort, groups=hospital.astype(np.int64)))
    assert settings.folds is not None
    assert 2 <= settings.folds <= 3
    assert warnings
