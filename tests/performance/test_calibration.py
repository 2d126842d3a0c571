"""Calibration against known truths and against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

from autoprog.performance import compute_calibration, compute_logit


def _simulated(intercept: float, slope: float, seed: int = 0, n: int = 20_000) -> tuple[np.ndarray, np.ndarray]:
    """Outcomes whose log odds are `intercept + slope logit(p)` of the risks `p`."""
    rng = np.random.default_rng(seed)
    x = rng.normal(-1, 1.5, n)
    y = (rng.random(n) < expit(intercept + slope * x)).astype(np.int8)
    return y, expit(x)


def test_perfectly_calibrated_risks() -> None:
    # Two groups whose observed shares are exactly the risks: the likelihood equations hold at 0 and 1.
    y = np.repeat([1, 0, 1, 0], [20, 80, 60, 40])
    p = np.repeat([0.2, 0.6], 100)
    calibration = compute_calibration(y, p)
    assert calibration.slope is not None
    assert calibration.slope.estimate == pytest.approx(1, abs=1e-5)
    assert calibration.intercept.estimate == pytest.approx(0, abs=1e-5)
    assert calibration.expected_observed.estimate == pytest.approx(1)


@pytest.mark.parametrize(("intercept", "slope"), [(0.0, 1.0), (0.8, 1.0), (0.0, 0.5), (-0.5, 1.6)])
def test_the_slope_of_the_truth_is_found(intercept: float, slope: float) -> None:
    # 4 standard errors: fails with probability 6e-5 where the estimator is right.
    y, p = _simulated(intercept, slope)
    found = compute_calibration(y, p).slope
    assert found is not None
    error = (found.upper - found.lower) / (2 * 1.96)
    assert abs(found.estimate - slope) < 4 * error
    assert error < 0.03


def test_the_intercept_is_that_of_a_shift_alone() -> None:
    y, p = _simulated(0.8, 1.0)
    calibration = compute_calibration(y, p)
    error = (calibration.intercept.upper - calibration.intercept.lower) / (2 * 1.96)
    assert abs(calibration.intercept.estimate - 0.8) < 4 * error
    assert calibration.expected_observed.estimate < 1


def test_the_intercept_makes_expected_equal_observed() -> None:
    y, p = _simulated(-0.4, 0.7, n=500)
    alpha = compute_calibration(y, p).intercept.estimate
    assert expit(logit(p) + alpha).sum() == pytest.approx(y.sum(), rel=1e-5)


@pytest.mark.parametrize(("of_low", "of_high"), [((3, 17), (2, 17)), ((51, 53), (29, 33)), ((4, 56), (3, 54))])
def test_the_intercept_of_wrong_certainties_makes_expected_equal_observed(
    of_low: tuple[int, int], of_high: tuple[int, int]
) -> None:
    p = np.repeat([0.0, 1.0], [of_low[1], of_high[1]])
    y = np.concatenate([np.arange(n) < k for k, n in (of_low, of_high)]).astype(np.int8)
    alpha = compute_calibration(y, p).intercept.estimate
    assert expit(compute_logit(p) + alpha).sum() == pytest.approx(y.sum(), rel=1e-5)


def test_the_slope_is_that_of_scikit_learn() -> None:
    y, p = _simulated(0.3, 0.8, n=400)
    theirs = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(logit(p)[:, None], y)
    ours = compute_calibration(y, p).slope
    assert ours is not None
    assert ours.estimate == pytest.approx(theirs.coef_[0, 0], rel=1e-4)


def test_intervals_cover_the_truth() -> None:
    # 200 intervals of level .95: fewer than 178 cover with probability 5e-4.
    covered = 0
    for seed in range(200):
        slope = compute_calibration(*_simulated(0.0, 1.0, seed, n=400)).slope
        assert slope is not None
        covered += slope.lower < 1.0 < slope.upper
    assert covered >= 178


@pytest.mark.parametrize(
    "p",
    [[0.3] * 6, [0.1, 0.2, 0.3, 0.7, 0.8, 0.9], [0.9, 0.8, 0.7, 0.3, 0.2, 0.1], [0.1, 0.2, 0.5, 0.5, 0.8, 0.9]],
    ids=["equal", "separated", "separated the wrong way", "separated but for a tie"],
)
def test_a_slope_without_a_finite_estimate_is_none(p: list[float]) -> None:
    calibration = compute_calibration(np.array([0, 0, 0, 1, 1, 1]), np.array(p))
    assert calibration.slope is None
    assert np.isfinite(calibration.intercept.estimate)


def test_risks_of_zero_and_one_are_borne() -> None:
    calibration = compute_calibration(np.array([0, 1, 0, 1, 1, 0]), np.array([0, 0, 0.2, 0.6, 1, 1], dtype=np.float32))
    assert calibration.slope is not None
    assert np.isfinite(calibration.slope.estimate)


def test_the_document() -> None:
    document = compute_calibration(*_simulated(0.0, 1.0, n=300)).to_json()
    assert set(document) == {"slope", "intercept", "expected_observed", "expected_observed_interval", "level"}
    assert set(document["slope"]) == {"estimate", "lower", "upper"}
