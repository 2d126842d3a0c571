"""Recalibrating curves: by every patient and time at once, and on patients whose outcome is known the binary map."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

from autoprog.performance import ScoringContext
from autoprog.survival import censoring_survival, ipcw_weights
from autoprog.validation import fit_recalibration
from autoprog.validation.event_times import cross_fitted_events, fit_event_recalibration
from tests.space.event_times.cohorts import simulated

TIMES = (0.3, 0.6, 1.0)


def follow_up_of(y: np.ndarray, causes: int, times: tuple[float, ...] = TIMES) -> ScoringContext:
    return ScoringContext(times, times, causes, censoring_survival(y["time"], y["event"]))


@pytest.mark.parametrize("causes", [1, 2])
@pytest.mark.parametrize(("a", "b"), [(0.7, 1.6), (-0.4, 0.7)])
def test_distorted_risks_are_mended(a: float, b: float, causes: int) -> None:
    """Half of the patients are censored. Means of 40 cohorts of 1,500, within 4 standard errors of what was done."""
    found = []
    for seed in range(40):
        data = simulated(seed, 1500, causes)
        told = expit((logit(data.risk(np.array(TIMES))) - a) / b)
        mended = fit_event_recalibration(data.y, told, follow_up_of(data.y, causes))
        found.append((mended.intercept, mended.slope))
    error = np.std(found, axis=0, ddof=1) / 40**0.5
    assert error.max() < 0.03
    assert (np.abs(np.mean(found, axis=0) - [a, b]) <= 4 * error).all()


def test_it_is_the_weighted_logistic_likelihood_of_all_patients_and_times() -> None:
    data = simulated(0, 400, 2)
    F = np.clip(data.risk(np.array(TIMES)) ** 1.3, 0.01, 0.99)
    weights = ipcw_weights(data.y["time"], data.y["event"], TIMES)
    seen = (data.y["event"] == 1)[:, None] & (data.y["time"][:, None] <= np.array(TIMES))
    known = weights > 0
    expected = LogisticRegression(C=1e12, tol=1e-10).fit(logit(F[known])[:, None], seen[known], weights[known])
    found = fit_event_recalibration(data.y, F, follow_up_of(data.y, 2))
    np.testing.assert_allclose(
        [found.intercept, found.slope], [expected.intercept_[0], expected.coef_[0, 0]], rtol=0, atol=1e-4
    )


def test_weights_are_numbers_of_patients() -> None:
    rng = np.random.default_rng(1)
    p, counts = rng.uniform(0.05, 0.95, 200), rng.integers(1, 5, 200)
    y = (rng.random(200) < p**1.5).astype(np.int8)
    found = fit_recalibration(y, p, weights=counts.astype(float))
    copies = fit_recalibration(np.repeat(y, counts), np.repeat(p, counts))
    np.testing.assert_allclose([found.intercept, found.slope], [copies.intercept, copies.slope], rtol=0, atol=1e-6)


def test_weights_count_where_the_slope_cannot_be_estimated() -> None:
    p, y, weights = np.array([0.2, 0.4, 0.7]), np.array([1, 0, 0]), np.array([1.0, 2.0, 3.0])
    found = fit_recalibration(y, p, weights=weights)
    assert found.slope == 1
    assert weights @ (found.apply(p) - y) == pytest.approx(0, abs=1e-6)


def test_at_one_time_without_censoring_it_is_the_binary_map() -> None:
    data = simulated(2, 300, censoring=0.0)
    F = np.clip(data.risk(np.array([1.0])) ** 0.8, 0.01, 0.99)
    found = fit_event_recalibration(data.y, F, follow_up_of(data.y, 1, (1.0,)))
    expected = fit_recalibration((data.y["time"] <= 1).astype(np.int8), F[:, 0])
    np.testing.assert_allclose([found.intercept, found.slope], [expected.intercept, expected.slope], rtol=0, atol=1e-6)


def test_a_patients_own_outcome_has_no_part_in_his_recalibrated_risk() -> None:
    data = simulated(3, 200)
    follow_up, F = follow_up_of(data.y, 1), data.risk(np.array(TIMES))
    before = cross_fitted_events(data.y, F, follow_up, np.random.default_rng(0))
    y = data.y.copy()
    events = np.flatnonzero(y["event"] == 1)
    y["time"][events[0]] = 0.01  # still an event, so that the folds are the same
    after = cross_fitted_events(y, F, follow_up, np.random.default_rng(0))
    np.testing.assert_allclose(after[events[0]], before[events[0]], rtol=0, atol=1e-9)
    assert np.abs(after - before).max() > 1e-6
    assert (np.diff(before, axis=1) >= 0).all()
    whole = fit_event_recalibration(data.y, F, follow_up).apply(F)
    np.testing.assert_allclose(before, whole, rtol=0, atol=0.05)
