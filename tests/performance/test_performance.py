"""All measures of one set of risks, and decision curves."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import expit
from sklearn.metrics import brier_score_loss, d2_brier_score

from autoprog.performance import (
    MEASURES,
    METRICS,
    brier_skill,
    compute_calibration,
    compute_performance,
    decision_curve,
    net_benefit,
    smooth_calibration,
)

RANGE = (0.1, 0.3)


def simulated(n: int = 1000, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(-1, 1.5, n)
    return (rng.random(n) < expit(0.3 + 0.8 * x)).astype(np.int8), expit(x)


def test_every_measure_is_that_of_its_own_function() -> None:
    y, p = simulated()
    found = compute_performance(y, p, RANGE)
    for name in ("auc_roc", "auc_prc", "brier", "log_loss"):
        assert getattr(found, name) == METRICS[name].score(y, p)
    calibration, smooth = compute_calibration(y, p), smooth_calibration(y, p)
    assert calibration.slope is not None
    assert smooth is not None
    assert (found.slope, found.intercept) == (calibration.slope.estimate, calibration.intercept.estimate)
    assert found.expected_observed == calibration.expected_observed.estimate
    assert (found.ici, found.e50, found.e90, found.smoothing) == (smooth.ici, smooth.e50, smooth.e90, smooth.method)
    grid = np.linspace(*RANGE, 20_001)
    assert found.net_benefit == pytest.approx(net_benefit(y, p, grid).mean(), abs=1e-4)


def test_values_lie_in_the_range_of_their_measure() -> None:
    document = compute_performance(*simulated(), RANGE).to_json()
    assert set(document) == {*MEASURES, "thresholds", "smoothing", "intervals", "uncorrected"}
    for name, measure in MEASURES.items():
        assert measure.lower <= document[name] <= measure.upper, name


def test_brier_skill_is_scikit_learns() -> None:
    y, p = simulated()
    assert brier_skill(y, p) == pytest.approx(d2_brier_score(y, p), abs=1e-12)


def test_brier_skill_of_the_event_rate_is_0_and_of_the_truth_1() -> None:
    y, _ = simulated()
    assert brier_skill(y, np.full(len(y), y.mean())) == pytest.approx(0, abs=1e-12)
    assert brier_skill(y, y.astype(float)) == 1
    assert brier_skill(y, 1.0 - y) < 0


def test_brier_skill_does_not_lose_a_32_bit_risk() -> None:
    y, p = simulated()
    p32 = p.astype(np.float32)
    expected = 1 - brier_score_loss(y, p32.astype(float)) / (y.mean() * (1 - y.mean()))
    assert brier_skill(y, p32) == pytest.approx(expected, abs=1e-14)


def test_what_has_no_finite_value_is_none() -> None:
    found = compute_performance(np.repeat([0, 1], 10), np.linspace(0, 1, 20), RANGE)
    assert (found.slope, found.ici, found.e50, found.e90, found.smoothing) == (None,) * 5
    assert found.auc_roc == 1


def test_a_constant_risk_has_an_ici_and_no_slope() -> None:
    found = compute_performance(np.repeat([0, 1], [70, 30]), np.full(100, 0.4), RANGE)
    assert found.slope is None
    assert found.ici == pytest.approx(0.1)
    assert found.auc_roc == 0.5


def test_a_decision_curve_is_net_benefit_beside_both_simple_policies() -> None:
    y, p = simulated()
    curve = decision_curve(y, p, p**2, RANGE)
    t = np.array(curve.thresholds)
    assert set(np.linspace(*RANGE, 16).round(6)) <= set(t)
    assert (np.diff(t) > 0).all()
    assert (t[0], t[-1]) == (0.01, 0.99)
    np.testing.assert_array_equal(curve.model, net_benefit(y, p, t))
    np.testing.assert_array_equal(curve.baseline, net_benefit(y, p**2, t))
    np.testing.assert_allclose(curve.treat_all, net_benefit(y, np.ones(len(y)), t), atol=1e-9)
    assert set(curve.treat_none) == {0.0}
    document = curve.to_json()
    assert document["range"] == [0.1, 0.3]
    assert {len(document[key]) for key in ("thresholds", "model", "baseline", "treat_all", "treat_none")} == {len(t)}


@pytest.mark.parametrize("thresholds", [(0.2, 0.2), (0.001, 0.004), (0.05, 0.2)])
def test_a_narrow_range_is_looked_at_closely(thresholds: tuple[float, float]) -> None:
    y, p = simulated(200)
    t = np.array(decision_curve(y, p, None, thresholds).thresholds)
    inside = ((t >= thresholds[0]) & (t <= thresholds[1])).sum()
    assert inside == (1 if thresholds[0] == thresholds[1] else 16)


def test_without_the_simple_pipeline_its_curve_is_none() -> None:
    assert decision_curve(*simulated(200), None, RANGE).to_json()["baseline"] is None


def test_a_directed_measure_is_best_for_the_true_risks() -> None:
    """Of risks and of what distorts them, the true ones have the better value of every measure that sees it."""
    rng = np.random.default_rng(5)
    x = rng.normal(-1, 1.5, 100_000)
    y = (rng.random(len(x)) < expit(x)).astype(np.int8)
    true, distorted = (compute_performance(y, expit(z), RANGE).to_json() for z in (x, 0.5 + 0.4 * x))
    for name, measure in MEASURES.items():
        target = {"greater": math.inf, "smaller": -math.inf, "target 1": 1.0, "target 0": 0.0}[measure.direction]
        if name in METRICS and METRICS[name].ranks_only:
            assert true[name] == pytest.approx(distorted[name], abs=1e-9)
        elif math.isinf(target):
            assert math.copysign(1, target) * (true[name] - distorted[name]) > 0, name
        else:
            assert abs(true[name] - target) < abs(distorted[name] - target), name
