"""Net benefit counted by hand, and its mean over a range against a fine grid."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from autoprog.performance import benefit, harm, net_benefit, net_benefit_of_all
from autoprog.performance.metrics import mean_net_benefit

Y = np.array([1, 0, 1, 0, 0, 1, 0, 0, 0, 1])
P = np.array([0.9, 0.8, 0.5, 0.4, 0.3, 0.25, 0.2, 0.1, 0.05, 0.02])


def simulated(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(-1, 1.5, n)
    return (rng.random(n) < expit(x)).astype(np.int8), expit(x)


@pytest.mark.parametrize(
    ("threshold", "true_positives", "false_positives"),
    [(0.01, 4, 6), (0.2, 3, 4), (0.25, 3, 3), (0.3, 2, 3), (0.6, 1, 1), (0.95, 0, 0)],
)
def test_is_what_one_counts_by_hand(threshold: float, true_positives: int, false_positives: int) -> None:
    expected = (true_positives - false_positives * threshold / (1 - threshold)) / 10
    assert net_benefit(Y, P, np.array([threshold]))[0] == pytest.approx(expected, abs=1e-15)


def test_a_curve_is_every_threshold_by_brute_force() -> None:
    y, p = simulated(400, seed=0)
    p = p.round(2)  # ties with the thresholds
    t = np.linspace(0.01, 0.99, 99).round(2)
    treated = p[:, None] >= t
    brute = ((treated & (y[:, None] == 1)) - (treated & (y[:, None] == 0)) * t / (1 - t)).mean(axis=0)
    np.testing.assert_allclose(net_benefit(y, p, t), brute, rtol=0, atol=1e-12)


def test_treating_everybody_is_a_model_that_is_certain() -> None:
    t = np.array([0.05, 0.3, 0.4, 0.7])
    everybody = net_benefit_of_all(0.4, t)
    np.testing.assert_allclose(everybody, net_benefit(Y, np.ones(10), t), atol=1e-15)
    assert everybody[2] == pytest.approx(0, abs=1e-15)  # at the event rate
    assert net_benefit(Y, np.zeros(10), t).tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize(("a", "b"), [(0.05, 0.2), (0.2, 0.6), (0.001, 0.999)])
def test_the_mean_is_that_of_a_fine_grid(a: float, b: float) -> None:
    # The curve is a step function of 300 risks: the midpoint rule errs by less than a cell at each step.
    y, p = simulated(300, seed=1)
    cells = 400_000
    t = a + (np.arange(cells) + 0.5) * (b - a) / cells
    assert mean_net_benefit(y, p, a, b) == pytest.approx(net_benefit(y, p, t).mean(), abs=1e-4)


def test_a_range_of_one_threshold_is_the_curve_there() -> None:
    y, p = simulated(200, seed=2)
    at = net_benefit(y, p, np.array([0.3]))[0]
    assert mean_net_benefit(y, p, 0.3, 0.3) == pytest.approx(at, abs=1e-15)
    assert mean_net_benefit(y, p, 0.3, 0.3 + 1e-7) == pytest.approx(at, abs=0.01)


@pytest.mark.parametrize("q", [0.02, 0.08, 0.15, 0.5])
def test_no_other_risk_is_worth_more_than_the_true_one(q: float) -> None:
    """Proper: the expected mean net benefit of one patient is greatest at the true risk."""
    p = np.linspace(0, 1, 2001)
    expected = q * benefit(p, 0.05, 0.2) - (1 - q) * harm(p, 0.05, 0.2)
    assert expected.max() == pytest.approx(expected[np.argmin(np.abs(p - q))], abs=1e-12)
