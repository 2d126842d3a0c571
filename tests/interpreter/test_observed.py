"""The observed event rate against scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from autoprog.interpreter import BinaryOutcome, Clusters
from tests.interpreter.groups import alike


@pytest.mark.parametrize(("n", "events"), [(1, 0), (1, 1), (7, 0), (40, 13), (250, 250)])
def test_the_rate_of_some_patients_with_wilsons_interval(n: int, events: int) -> None:
    y = np.concatenate([np.ones(events), np.zeros(n - events), np.ones(5)]).astype(np.int8)
    patients = np.arange(len(y)) < n
    rate = BinaryOutcome(y, Clusters()).event_rate(patients)
    wilson = stats.binomtest(events, n).proportion_ci(0.9, method="wilson")
    assert (rate.estimate, rate.lower, rate.upper, rate.n) == pytest.approx((events / n, wilson.low, wilson.high, n))


def test_visits_that_repeat_a_patient_s_outcome_tell_no_more_than_he_does() -> None:
    y = np.resize([1, 0, 0, 1, 0], 30).astype(np.int8)
    patient = np.repeat(np.arange(30), 4)
    everybody, every_visit = np.ones(30, dtype=np.bool_), np.ones(120, dtype=np.bool_)
    once = BinaryOutcome(y, Clusters()).event_rate(everybody)
    rate = BinaryOutcome(y[patient], Clusters(patient, patient)).event_rate(every_visit)
    assert (rate.estimate, rate.lower, rate.upper, rate.n) == pytest.approx(
        (once.estimate, once.lower, once.upper, once.n)
    )
    sure = BinaryOutcome(np.ones(120, dtype=np.int8), Clusters(patient, patient)).event_rate(every_visit)
    wilson = stats.binomtest(30, 30).proportion_ci(0.9, method="wilson")
    assert (sure.lower, sure.upper) == pytest.approx((wilson.low, wilson.high))


@pytest.mark.parametrize("likeness", [0.1, 0.6, 0.95])
def test_intervals_hold_the_rate_behind_alike_visits(likeness: float) -> None:
    # 400 draws: a share of 0.9 has a standard error of 0.015. As independent rows would, 0.8 to 0.4 hold it.
    patient, rate = np.repeat(np.arange(60), np.resize([1, 5, 9, 17], 60)), 0.3
    outcomes = alike(np.random.default_rng(0), patient, 400, likeness) < stats.norm.ppf(rate)
    every = np.ones(len(patient), dtype=np.bool_)
    found = [BinaryOutcome(y.astype(np.int8), Clusters(patient, patient)).event_rate(every) for y in outcomes]
    assert 0.85 <= np.mean([each.lower <= rate <= each.upper for each in found]) <= 0.95
