"""Curves of risk by subgroup: what is measured is what the measures of the whole cohort say of that part."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from autoprog.cohort import Cohort
from autoprog.performance import ScoringContext, measure_event_subgroups
from autoprog.survival import calibration_at, cumulative_dynamic_auc
from tests.cohorts import event_cohort


def predict_risks(cohort: Cohort, times: tuple[float, ...], seed: int = 0) -> np.ndarray:
    """Curves that tell something: earlier events have higher ones."""
    rng = np.random.default_rng(seed)
    assert cohort.time is not None
    rank = np.argsort(np.argsort(-cohort.time)) / cohort.n_rows
    level = 0.7 * rank + 0.3 * rng.random(cohort.n_rows)
    return level[:, None] * np.arange(1, len(times) + 1) / (len(times) + 1)


def test_a_subgroup_is_measured_as_the_measures_measure_it() -> None:
    cohort = event_cohort("mgus2")
    times = cohort.time_grid
    follow_up, F = ScoringContext.of(cohort, times), predict_risks(cohort, times)
    found = measure_event_subgroups(cohort, F, follow_up, ["sex"])
    sex = [feature.name for feature in cohort.features].index("sex")
    y, horizon = cohort.outcomes, cohort.horizons[-1]
    assert [s.label for s in found] == list(cohort.features[sex].levels)
    for code, subgroup in enumerate(found):
        rows = cohort.X[:, sex] == code
        assert subgroup.n == rows.sum()
        part = y[rows]
        assert subgroup.events == ((part["event"] == 1) & (part["time"] <= horizon)).sum()
        (auc,) = cumulative_dynamic_auc(part["time"], part["event"], F[rows][:, -1:], np.array([horizon]))
        ratio = calibration_at(part["time"], part["event"], F[rows][:, -1], horizon).expected_observed
        assert subgroup.auc is not None
        assert subgroup.expected_observed is not None
        assert subgroup.auc.estimate == pytest.approx(auc)
        assert subgroup.auc.lower < auc < subgroup.auc.upper
        assert subgroup.expected_observed.estimate == pytest.approx(ratio.estimate)


def test_small_subgroups_are_counted_and_very_small_ones_are_not() -> None:
    cohort = event_cohort("veteran")
    times = cohort.time_grid
    F = predict_risks(cohort, times)
    sizes = np.repeat([0.0, 1.0, 2.0], [5, 15, cohort.n_rows - 20])
    part = replace(cohort.features[0], name="ward", kind="categorical", levels=("a", "b", "c"))
    cohort = replace(cohort, features=(part, *cohort.features[1:]), X=np.column_stack([sizes, cohort.X[:, 1:]]))
    a, b, c = measure_event_subgroups(cohort, F, ScoringContext.of(cohort, times), ["ward"])
    assert (a.n, a.events, a.auc) == (None, None, None)
    assert b.n == 15
    assert c.brier is not None
