"""The smooth calibration curve as it is drawn, and the distribution of the risks below it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, logit

from autoprog.performance import calibration_curve, risk_distribution, smooth_calibration
from autoprog.survival import curve_distances


def simulated(n: int, seed: int, slope: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(-1, 1.2, n)
    return (rng.random(n) < expit(slope * x)).astype(int), expit(x)


def test_distances_from_the_curve_are_the_ici() -> None:
    y, p = simulated(500, 0)
    curve, smooth = calibration_curve(y, p, np.sort(p)), smooth_calibration(y, p)
    assert curve is not None
    assert smooth is not None
    assert np.mean(np.abs(np.sort(p) - curve.observed)) == pytest.approx(smooth.ici, abs=1e-12)
    assert curve.method == smooth.method


def test_the_band_covers_the_truth_as_often_as_it_says() -> None:
    # 200 cohorts at 9 risks: coverages vary by .015 about .95, and by less than .05 with a curve's own bias.
    at = np.linspace(0.1, 0.6, 9)
    covered = []
    for seed in range(200):
        curve = calibration_curve(*simulated(600, seed, slope=0.7), at)
        assert curve is not None
        truth = expit(0.7 * logit(at))
        covered.append((np.array(curve.lower) <= truth) & (truth <= np.array(curve.upper)))
    assert 0.9 <= np.mean(covered) <= 0.99


def test_it_is_told_from_the_first_to_the_last_percentile() -> None:
    y, p = simulated(500, 1)
    curve = calibration_curve(y, p)
    assert curve is not None
    assert (curve.risks[0], curve.risks[-1]) == pytest.approx(tuple(np.quantile(p, [0.01, 0.99])), abs=1e-6)
    assert list(curve.risks) == sorted(set(curve.risks))
    assert all(lo <= f <= hi for lo, f, hi in zip(curve.lower, curve.observed, curve.upper, strict=True))


def test_equal_risks_have_one_frequency_and_separated_ones_no_curve() -> None:
    curve = calibration_curve(np.repeat([0, 1], [70, 30]), np.full(100, 0.4))
    assert curve is not None
    assert curve.risks == (0.4,)
    assert curve.observed == pytest.approx((0.3,))
    assert calibration_curve(np.repeat([0, 1], 10), np.linspace(0, 1, 20)) is None


def test_every_patient_is_in_one_bin() -> None:
    y, p = simulated(300, 2)
    found = risk_distribution(np.append(y, [1, 0]), np.append(p, [1.0, 0.0]))
    assert sum(found.with_outcome) == y.sum() + 1
    assert sum(found.without_outcome) == 300 - y.sum() + 1
    assert (found.with_outcome[-1] >= 1, found.without_outcome[0] >= 1) == (True, True)
    k = 4
    inside = (p >= found.edges[k]) & (p < found.edges[k + 1])
    assert found.with_outcome[k] == np.count_nonzero(inside & (y == 1))


@pytest.mark.filterwarnings("error")
def test_a_covariance_that_rounding_left_below_positive_is_borne() -> None:
    x = np.linspace(-3, 1, 60)
    p, Z = expit(x), np.column_stack([np.ones(60), x])
    covariance = np.array([[1.0, 1.0], [1.0, 0.999]])
    assert np.linalg.eigvalsh(covariance)[0] < 0
    for distance in curve_distances(p, x, Z, (np.array([0.1, 0.9]), covariance), expit):
        assert 0 <= distance.lower <= distance.estimate <= distance.upper


@pytest.mark.parametrize("m", [2, 3, 5, 8])
def test_the_band_of_few_groups_covers_as_often_as_it_says(m: int) -> None:
    """Patients are independent, but the standard errors by m groups must not know."""
    at, groups = np.linspace(0.1, 0.6, 9), np.arange(600) % m
    covered = []
    for seed in range(100):
        curve = calibration_curve(*simulated(600, seed, slope=0.7), at, groups)
        assert curve is not None
        truth = expit(0.7 * logit(at))
        covered.append((np.array(curve.lower) <= truth) & (truth <= np.array(curve.upper)))
    assert np.mean(covered) >= 0.93
    if m <= 4:  # no more groups than coefficients
        assert set(curve.lower) == {0.0}
        assert set(curve.upper) == {1.0}
        smooth = smooth_calibration(*simulated(600, 0), groups)
        assert smooth is not None
        assert {(each.lower, each.upper) for each in smooth.intervals.values()} == {(0.0, 1.0)}


def test_distances_by_few_groups_do_not_call_calibrated_risks_miscalibrated() -> None:
    found = [smooth_calibration(*simulated(600, seed), np.arange(600) % 6) for seed in range(60)]
    assert np.mean([each is not None and each.intervals["ici"].lower == 0 for each in found]) >= 0.9


def test_a_spline_that_separates_what_no_line_does_becomes_a_line() -> None:
    """The three patients with the outcome have the middle risks of twenty."""
    y = np.zeros(20, dtype=int)
    y[9:12] = 1
    p = np.linspace(0.1, 0.9, 20)
    curve, smooth = calibration_curve(y, p), smooth_calibration(y, p)
    assert curve is not None
    assert smooth is not None
    assert 0.05 < min(curve.observed) <= max(curve.observed) < 0.3
    assert smooth.method == curve.method
    assert "separates" in curve.method
