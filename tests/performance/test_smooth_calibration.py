"""Smooth calibration against known miscalibrations, hand counts, scipy's splines and scikit-learn."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.interpolate import CubicSpline
from scipy.special import expit, logit
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression

from autoprog.performance import smooth_calibration
from autoprog.survival import spline_columns, spline_knots

MEAN, SD = -1.0, 1.3


def simulated(true_logit: Callable[[np.ndarray], np.ndarray], n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Risks expit(x) of patients whose log odds are `true_logit(x)`."""
    rng = np.random.default_rng(seed)
    x = rng.normal(MEAN, SD, n)
    return (rng.random(n) < expit(true_logit(x))).astype(np.int8), expit(x)


@pytest.mark.parametrize("slope", [0.5, 0.8, 1.5])
@pytest.mark.parametrize("shift", [0.0, 0.6])
def test_a_logistic_miscalibration_has_the_ici_of_its_integral(slope: float, shift: float) -> None:
    def distance(x: float) -> float:
        return float(abs(expit(x) - expit(shift + slope * x)) * norm.pdf(x, MEAN, SD))

    truth = quad(distance, MEAN - 9 * SD, MEAN + 9 * SD, points=[MEAN, 0, shift / (1 - slope)], limit=200)[0]
    found = smooth_calibration(*simulated(lambda x: shift + slope * x, 200_000, seed=1))
    assert found is not None
    # The curve's standard error is about .002 a patient, and half of that where the risks cross it.
    assert found.ici == pytest.approx(truth, abs=0.003)


def test_quantiles_of_the_distance_are_those_of_the_truth() -> None:
    y, p = simulated(lambda x: 0.5 * x, 200_000, seed=2)
    distance = np.abs(p - expit(0.5 * logit(p)))
    found = smooth_calibration(y, p)
    assert found is not None
    assert found.e50 == pytest.approx(np.median(distance), abs=0.005)
    assert found.e90 == pytest.approx(np.quantile(distance, 0.9), abs=0.005)


def test_what_a_straight_line_cannot_see_is_seen() -> None:
    y, p = simulated(lambda x: x + 0.8 * np.cos(1.5 * (x - MEAN)) - 0.4, 50_000, seed=3)
    truth = np.mean(np.abs(p - expit(logit(p) + 0.8 * np.cos(1.5 * (logit(p) - MEAN)) - 0.4)))
    found = smooth_calibration(y, p)
    assert found is not None
    assert "5 knots" in found.method
    assert found.ici == pytest.approx(truth, rel=0.15)


@pytest.mark.parametrize(("n", "expected"), [(300, 0.033), (5000, 0.0095), (200_000, 0.0015)])
def test_calibrated_risks_have_what_chance_gives(n: int, expected: float) -> None:
    """The documented size of chance; the standard deviation of one ICI is a third of its mean, of 20 a fourteenth."""
    found = [smooth_calibration(*simulated(lambda x: x, n, seed)) for seed in range(20 if n < 10_000 else 3)]
    assert np.mean([f.ici for f in found if f]) == pytest.approx(expected, rel=0.5)


def test_three_risks_are_compared_with_their_three_frequencies() -> None:
    # The spline of three knots passes through three frequencies: the distances can be counted.
    y = np.concatenate([np.repeat([1, 0], [k, 100 - k]) for k in (15, 20, 60)])
    p = np.repeat([0.1, 0.3, 0.5], 100)
    found = smooth_calibration(y, p)
    assert found is not None
    assert "3 knots" in found.method
    assert found.ici == pytest.approx((0.05 + 0.1 + 0.1) / 3, abs=1e-6)
    assert found.e50 == pytest.approx(0.1, abs=1e-6)


def test_two_risks_are_compared_with_their_two_frequencies() -> None:
    found = smooth_calibration(np.repeat([1, 0, 1, 0], [30, 70, 60, 40]), np.repeat([0.2, 0.6], 100))
    assert found is not None
    assert found.ici == pytest.approx(0.05, abs=1e-6)
    assert "too little" in found.method


def test_equal_risks_are_compared_with_the_event_rate() -> None:
    found = smooth_calibration(np.repeat([1, 0], [30, 70]), np.full(100, 0.5))
    assert found is not None
    assert (found.ici, found.e50, found.e90) == pytest.approx((0.2, 0.2, 0.2))


@pytest.mark.parametrize("p", [[0.1, 0.2, 0.3, 0.7, 0.8, 0.9], [0.1, 0.2, 0.5, 0.5, 0.8, 0.9]], ids=["apart", "a tie"])
def test_risks_that_separate_have_no_curve(p: list[float]) -> None:
    assert smooth_calibration(np.array([0, 0, 0, 1, 1, 1]), np.array(p)) is None


def test_the_curve_is_scikit_learns_fit_of_the_same_spline() -> None:
    y, p = simulated(lambda x: 0.3 + 0.7 * x, 2000, seed=4)
    Z = spline_columns(logit(p), spline_knots(logit(p), min(y.sum(), len(y) - y.sum())))
    theirs = LogisticRegression(C=np.inf, tol=1e-12, max_iter=10_000).fit(Z[:, 1:], y).predict_proba(Z[:, 1:])[:, 1]
    found = smooth_calibration(y, p)
    assert found is not None
    assert found.ici == pytest.approx(np.abs(p - theirs).mean(), abs=1e-5)


def test_the_spline_holds_every_natural_cubic_spline_of_its_knots() -> None:
    t = np.array([-3.0, -1.2, 0.1, 0.8, 2.5])
    within, beyond = np.linspace(-3, 2.5, 200), np.linspace(2.5, 6, 50)
    truth = CubicSpline(t, np.random.default_rng(0).normal(size=5), bc_type="natural")
    coefficients, *_ = np.linalg.lstsq(spline_columns(within, t), truth(within), rcond=None)
    np.testing.assert_allclose(spline_columns(within, t) @ coefficients, truth(within), atol=1e-9)
    tangent = truth(2.5) + truth(2.5, 1) * (beyond - 2.5)
    np.testing.assert_allclose(spline_columns(beyond, t) @ coefficients, tangent, atol=1e-8)
    assert spline_columns(within, t).shape == (200, 5)


@pytest.mark.parametrize("seed", range(40))
def test_small_and_tied_risks_are_borne(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, values = int(rng.integers(6, 80)), rng.random(rng.choice([2, 3, 5, 100])) ** rng.choice([1, 6])
    y = (rng.random(n) < rng.choice([0.1, 0.5])).astype(np.int8)
    y[:2] = 0, 1
    found = smooth_calibration(y, rng.choice(np.append(values, [0.0, 1.0]), n).astype(np.float32))
    assert found is None or 0 <= found.e50 <= found.e90 <= 1
