"""Calibration at a horizon against known truths, uncensored outcomes and other estimators."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from autoprog.survival import (
    HorizonError,
    NoEventError,
    OutcomeError,
    aalen_johansen,
    calibration_at,
    calibration_curve,
    calibration_groups,
)
from autoprog.survival.pseudo_values import cloglog, inverse_cloglog
from tests.survival.naive import simulated
from tests.survival.reference import COHORTS, cohort_of

HORIZON = 0.5


def cohort_with_known_risk(
    seed: int, n: int, shift: float = 0.0, slope: float = 1.0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times, codes and risks p by the horizon, where cloglog of the true risk is `shift + slope cloglog(p)`.

    The subdistribution of cause 1 has proportional hazards; half of the others have a competing event.
    """
    rng = np.random.default_rng(seed)
    x = rng.normal(-1.0, 0.8, n)
    true = inverse_cloglog(shift + slope * x)
    happens = rng.random(n) < true
    time = np.where(happens, HORIZON * rng.random(n), HORIZON + rng.exponential(1.0, n))
    competes = ~happens & (rng.random(n) < 0.3)
    time = np.where(competes, HORIZON * rng.random(n), time)
    event = np.where(competes, 2, 1)
    censored = rng.exponential(1.2, n)
    return np.minimum(time, censored), np.where(time <= censored, event, 0), inverse_cloglog(x)


@pytest.mark.parametrize(("shift", "slope"), [(0.0, 1.0), (0.5, 1.0), (-0.3, 0.6)])
def test_the_truth_is_found(shift: float, slope: float) -> None:
    # 4.5 standard errors: each fails with probability 7e-6 where the estimator is right.
    time, event, risk = cohort_with_known_risk(1, 20_000, shift, slope)
    found = calibration_at(time, event, risk, HORIZON)
    truth = inverse_cloglog(shift + slope * cloglog(risk)).mean()
    assert found.slope is not None
    for interval, expected in ((found.slope, slope), (found.observed, truth)):
        assert abs(interval.estimate - expected) < 4.5 * (interval.upper - interval.lower) / (2 * 1.96)
    assert found.expected_observed.estimate == pytest.approx(risk.mean() / found.observed.estimate)
    if slope == 1:
        reach = (found.intercept.upper - found.intercept.lower) / (2 * 1.96)
        assert abs(found.intercept.estimate - shift) < 4.5 * reach
    assert found.slope.upper - found.slope.lower < 0.3


def test_the_intervals_cover() -> None:
    # Of 300 intervals of level .95 each, between .90 and .99 cover but with probability 3e-4.
    covered = np.zeros(3)
    for seed in range(300):
        time, event, risk = cohort_with_known_risk(seed, 400)
        found = calibration_at(time, event, risk, HORIZON)
        assert found.slope is not None
        ratio = found.expected_observed
        covered += [
            found.slope.lower <= 1 <= found.slope.upper,
            found.intercept.lower <= 0 <= found.intercept.upper,
            ratio.lower <= 1 <= ratio.upper,
        ]
    assert (covered / 300 >= 0.90).all()
    assert (covered[:2] / 300 <= 0.99).all()


def test_without_censoring_it_is_least_squares_on_the_outcome() -> None:
    time, event, risk = cohort_with_known_risk(2, 500, 0.2, 0.8)
    event = np.maximum(event, 1)
    x, happened = cloglog(risk), (time <= HORIZON) & (event == 1)

    def squares(b: np.ndarray) -> float:
        return float(np.sum((happened - inverse_cloglog(b[0] + b[1] * x)) ** 2))

    theirs = minimize(squares, [0.0, 1.0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12}).x
    found = calibration_at(time, event, risk, HORIZON)
    assert found.slope is not None
    assert found.slope.estimate == pytest.approx(theirs[1], abs=1e-5)
    assert found.observed.estimate == pytest.approx(happened.mean(), abs=1e-12)


@pytest.mark.parametrize("name", COHORTS)
def test_a_model_is_nearly_calibrated_where_it_was_fitted(name: str) -> None:
    cohort = cohort_of(name)
    found = calibration_at(cohort.time, cohort.event, cohort.risk[:, 1], cohort.horizons[1])
    assert 0.9 < found.expected_observed.estimate < 1.1
    assert found.slope is not None
    assert found.slope.lower < 1 < found.slope.upper


def test_risks_without_a_finite_slope() -> None:
    time, event = np.arange(1.0, 9.0), np.array([1, 1, 1, 2, 1, 0, 1, 1])
    assert calibration_at(time, event, np.full(8, 0.4), 4.5).slope is None
    assert calibration_at(time, event, np.linspace(0.9, 0.1, 8), 3.5).slope is None


def test_a_calibration_that_cannot_be_asked_for() -> None:
    time, event, risk = simulated(1)
    with pytest.raises(HorizonError, match="beyond the follow-up"):
        calibration_at(time, event, risk, 2 * time.max())
    with pytest.raises(NoEventError):
        calibration_curve(time, np.where(event == 1, 0, event), risk, 1.0)
    with pytest.raises(OutcomeError, match=r"in \[0, 1\]"):
        calibration_at(time, event, risk + 1, 1.0)
    with pytest.raises(OutcomeError, match="one group or more"):
        calibration_groups(time, event, risk, 1.0, groups=0)


@pytest.mark.parametrize(("shift", "slope"), [(0.0, 1.0), (0.6, 1.0), (-0.4, 0.5)])
def test_the_curve_follows_the_truth(shift: float, slope: float) -> None:
    time, event, risk = cohort_with_known_risk(3, 20_000, shift, slope)
    found = calibration_curve(time, event, risk, HORIZON)
    true = inverse_cloglog(shift + slope * cloglog(risk))
    # The standard error of the curve at n = 20,000 is below .01 between its 1st and 99th percentile.
    np.testing.assert_allclose(found.observed, inverse_cloglog(shift + slope * cloglog(found.risk)), atol=0.05)
    assert found.ici == pytest.approx(np.abs(risk - true).mean(), abs=0.015)
    assert found.e50 == pytest.approx(np.median(np.abs(risk - true)), abs=0.015)
    assert found.e50 <= found.e90
    assert found.knots == 5
    assert (found.lower <= found.observed).all()
    assert (found.observed <= found.upper).all()


@pytest.mark.parametrize(("low", "high"), [(0.0, 0.92), (0.0, 1.0), (0.0, 0.86)])
def test_two_risks_that_are_far_off_have_the_frequencies_of_their_patients(low: float, high: float) -> None:
    risk, had = np.repeat([low, high], [31, 29]), np.concatenate([np.arange(31) < 15, np.arange(29) < 13])
    time, observed = np.where(had, 1.0, 3.0), np.array([15 / 31, 13 / 29])
    curve, slope = calibration_curve(time, had, risk, 2.0), calibration_at(time, had, risk, 2.0).slope
    np.testing.assert_allclose(curve.observed[[0, -1]], observed, rtol=1e-6)
    assert slope is not None
    assert slope.estimate == pytest.approx(np.ptp(cloglog(observed)) / -np.ptp(cloglog(risk)), rel=1e-4)
    assert slope.lower < 0 < slope.upper < 0.1


@pytest.mark.parametrize("seed", range(6))
def test_the_curve_of_risks_that_are_much_too_extreme_follows_the_truth(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = np.clip(rng.normal(-1.2, 4, 400), -13, 2.6)
    truth = inverse_cloglog(1.16 + 0.3 * x)
    had = rng.random(400) < truth
    found = calibration_curve(np.where(had, 1.0, 3.0), had, inverse_cloglog(x), 2.0)
    assert found.ici == pytest.approx(np.abs(inverse_cloglog(x) - truth).mean(), abs=0.05)


def test_few_events_have_three_knots_and_equal_risks_none() -> None:
    time, event, risk = cohort_with_known_risk(4, 150)
    assert calibration_curve(time, event, risk, HORIZON).knots == 3
    flat = calibration_curve(time, event, np.full(150, 0.3), HORIZON)
    observed = aalen_johansen(time, event).at(HORIZON).estimate[0]
    assert flat.knots == 1
    # The mean of the pseudo-values is the estimate but for a term of order 1/n.
    assert flat.observed == pytest.approx([observed], abs=1e-3)
    assert flat.ici == pytest.approx(abs(0.3 - observed), abs=1e-3)


def test_knots_are_by_the_rarer_outcome() -> None:
    """As of outcomes without a time: five for 100 of either, counting competing events as known to be without it."""
    for n_events, n_without, knots in ((207, 23, 3), (23, 207, 3), (207, 100, 5), (100, 99, 3)):
        n = n_events + n_without + 40
        time = np.r_[np.linspace(0.1, 0.9, n_events), np.full(n_without, 2.0), np.full(40, 0.5)] * HORIZON
        event = np.r_[np.ones(n_events), np.zeros(n_without + 40)].astype(np.int8)
        event[n_events : n_events + n_without // 2] = 2  # after the horizon or before it
        time[n_events : n_events + n_without // 4] = 0.3 * HORIZON
        risk = np.random.default_rng(0).uniform(0.1, 0.9, n)
        assert calibration_curve(time, event, risk, HORIZON).knots == knots


def test_a_curve_is_drawn_at_the_risks_that_are_asked_for() -> None:
    time, event, risk = cohort_with_known_risk(6, 600)
    found = calibration_curve(time, event, risk, HORIZON)
    elsewhere = calibration_curve(time, event, risk, HORIZON, at=np.array([0.001, found.risk[7], 0.999]))
    assert elsewhere.risk.tolist() == [0.001, found.risk[7], 0.999]
    for name in ("observed", "lower", "upper"):
        assert getattr(elsewhere, name)[1] == pytest.approx(getattr(found, name)[7])
    assert elsewhere.observed[0] < found.observed[0]
    assert elsewhere.observed[2] > found.observed[-1]
    assert elsewhere.distances == found.distances


def test_groups_are_of_equal_size_and_observed_by_themselves() -> None:
    time, event, risk = cohort_with_known_risk(5, 1000)
    found = calibration_groups(time, event, risk, HORIZON, groups=5)
    assert found.n.tolist() == [200] * 5
    assert (np.diff(found.risk) > 0).all()
    highest = np.argsort(risk)[-200:]
    alone = aalen_johansen(time[highest], event[highest]).at(HORIZON)
    assert found.observed[-1] == pytest.approx(alone.estimate[0])
    assert (found.lower[-1], found.upper[-1]) == pytest.approx((alone.lower[0], alone.upper[0]))


def test_tied_risks_stay_together_and_an_unknown_incidence_is_none() -> None:
    time = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    event = np.array([1, 0, 0, 1, 1, 0])
    risk = np.array([0.9, 0.9, 0.9, 0.2, 0.2, 0.2])
    found = calibration_groups(time, event, risk, 5.5, groups=10)
    assert found.n.tolist() == [3, 3]
    np.testing.assert_allclose(found.observed, [2 / 3, np.nan])


def test_a_curve_through_two_risks_of_which_one_is_rare_is_a_line() -> None:
    """19 patients in 20 share a risk, so that all knots of a spline coincide."""
    rng = np.random.default_rng(0)
    risk = np.where(np.arange(4_000) % 20 == 0, 0.5, 0.01)
    time = rng.exponential(HORIZON / -np.log1p(-risk))
    followed = rng.exponential(3 * HORIZON, 4_000)
    event = (time <= followed).astype(np.int8)
    found = calibration_curve(np.minimum(time, followed), event, risk, HORIZON)
    assert found.knots == 2
    assert found.ici < 0.01
    assert found.distances[0].lower == 0


@pytest.mark.parametrize("m", [2, 3, 6])
def test_the_band_of_few_groups_covers_as_often_as_it_says(m: int) -> None:
    covered, groups = [], np.arange(500) % m
    for seed in range(80):
        found = calibration_curve(*cohort_with_known_risk(seed, 500), HORIZON, groups=groups)
        covered.append((found.lower <= found.risk) & (found.risk <= found.upper))
    assert np.mean(np.concatenate(covered)) >= 0.92
    assert (m > 2) or {(each.lower, each.upper) for each in found.distances} == {(0.0, 1.0)}
