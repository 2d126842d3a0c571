"""Influences against the leave-one-out estimates that they approximate, and intervals against simulated cohorts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.special import expit

from autoprog.performance import METRICS, compute_calibration, compute_performance, make_metric
from autoprog.performance.influence import of_brier_skill, of_expected_observed, standard_error
from autoprog.performance.measures import brier_skill, decision_curve
from autoprog.performance.score import influence_on
from autoprog.validation.corrections import compute_gains

RANGE = (0.05, 0.3)
Measure = Callable[[np.ndarray, np.ndarray], float]


def drawn(n: int, seed: int, decimals: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(-1, 1.2, n)
    p = expit(0.2 + 0.8 * x)
    return (rng.random(n) < expit(x)).astype(np.int8), p if decimals is None else p.round(decimals)


def jackknifed(measure: Measure, y: np.ndarray, p: np.ndarray) -> np.ndarray:
    """(n - 1) (measure of all - measure without each), less its mean: psi to the order 1 / n."""
    n, each = len(y), np.arange(len(y))
    without = np.array([measure(y[each != i], p[each != i]) for i in each])
    found = (n - 1) * (measure(y, p) - without)
    return np.asarray(found - found.mean())


METRIC_OF = {**METRICS, "net_benefit": make_metric("net_benefit", RANGE)}


@pytest.mark.parametrize("decimals", [None, 1])
@pytest.mark.parametrize("name", METRIC_OF)
def test_influences_are_those_of_leaving_a_patient_out(name: str, decimals: int | None) -> None:
    y, p = drawn(300, 0, decimals)
    metric = METRIC_OF[name]
    expected = jackknifed(metric.score, y, p)
    psi = influence_on(metric, y, p)
    assert psi.mean() == pytest.approx(0, abs=1e-12)
    np.testing.assert_allclose(psi, expected, atol=0.06 * np.abs(expected).max())  # terms of order 1 / n


@pytest.mark.parametrize(
    ("measure", "influence"),
    [(brier_skill, of_brier_skill), (lambda y, p: p.sum() / y.sum(), of_expected_observed)],
)
def test_influences_on_ratios_are_too(measure: Measure, influence: Callable[..., np.ndarray]) -> None:
    y, p = drawn(300, 1)
    expected = jackknifed(measure, y, p)
    np.testing.assert_allclose(influence(y, p), expected, atol=0.02 * np.abs(expected).max())


def test_copies_of_a_patient_are_one_and_groups_of_one_are_patients() -> None:
    y, p = drawn(200, 2)
    psi = influence_on(METRICS["auc_prc"], y, p)
    alone = standard_error(psi)
    assert standard_error(psi, np.arange(200)[::-1]) == pytest.approx(alone)
    thrice = influence_on(METRICS["auc_prc"], np.repeat(y, 3), np.repeat(p, 3))
    assert standard_error(thrice, np.repeat(np.arange(200) * 2, 3)) == pytest.approx(alone)


def clustered(rng: np.random.Generator, hospitals: int = 40, each: int = 25) -> tuple[np.ndarray, ...]:
    """Patients of hospitals whose outcomes are alike beyond what the risks know."""
    groups = np.repeat(np.arange(hospitals), each)
    x = rng.normal(-1, 1, len(groups)) + 0.5 * rng.normal(size=hospitals)[groups]
    y = (rng.random(len(groups)) < expit(x + 0.7 * rng.normal(size=hospitals)[groups])).astype(np.int8)
    return y, expit(0.9 * x), groups


def test_intervals_by_group_hold_every_measure_of_all_hospitals() -> None:
    """Of 95 in 100 cohorts each; by patients, those of the intercept hold it in 70."""
    rng = np.random.default_rng(0)
    y, p, _ = clustered(rng, 20_000, 25)
    of_all = compute_performance(y, p, RANGE)
    names = ("auc_roc", "auc_prc", "brier", "log_loss", "net_benefit", "slope", "intercept", "expected_observed")
    held = dict.fromkeys(names, 0)
    by_patients, cohorts = 0, 150
    for _ in range(cohorts):
        y, p, groups = clustered(rng)
        found = compute_performance(y, p, RANGE, groups).intervals
        for name in names:
            held[name] += found[name].lower <= getattr(of_all, name) <= found[name].upper
        alone = compute_calibration(y, p).intercept
        by_patients += alone.lower <= of_all.intercept <= alone.upper
    assert min(held.values()) >= 0.9 * cohorts
    assert by_patients < 0.85 * cohorts


def test_the_interval_of_a_difference_is_that_of_the_difference() -> None:
    """Two models that owe the same luck to the same patients: their difference is far surer than either."""
    rng = np.random.default_rng(1)

    def patients(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        x = rng.normal(-1, 1.2, n)
        return (rng.random(n) < expit(x)).astype(np.int8), expit(x), expit(x + rng.normal(0, 0.6, n))

    y, good, poor = patients(400_000)
    truth = {
        metric.name: metric.score(y, good) - metric.score(y, poor)
        for metric in (METRICS["auc_roc"], METRICS["brier"], make_metric("net_benefit", RANGE))
    }
    held, cohorts = dict.fromkeys(truth, 0), 200
    for _ in range(cohorts):
        y, good, poor = patients(500)
        found = compute_gains(y, (good, good), (poor, poor), RANGE)
        for name, gain in found.items():
            held[name] += gain.lower <= truth[name] <= gain.upper
    assert set(held) == {"auc_roc", "brier", "net_benefit"}
    assert min(held.values()) >= 0.9 * cohorts
    whole = compute_performance(y, good, RANGE).intervals["auc_roc"]
    assert found["auc_roc"].upper - found["auc_roc"].lower < 0.75 * (whole.upper - whole.lower)


def test_a_band_of_a_decision_curve_holds_it_and_that_of_a_difference_is_narrower() -> None:
    rng = np.random.default_rng(2)
    y, p = drawn(400_000, 3)
    at = 9  # the threshold of a tenth
    truth = decision_curve(y, p, None, (0.1, 0.1)).model[at]
    held, cohorts = 0, 200
    for _ in range(cohorts):
        rows = rng.integers(len(y), size=300)
        curve = decision_curve(y[rows], p[rows], p[rows] ** 1.1, (0.1, 0.1))
        assert curve.thresholds[at] == 0.1
        lower, upper = curve.model_interval
        held += lower[at] <= truth <= upper[at]
    assert held >= 0.9 * cohorts
    assert curve.gain_interval is not None
    assert curve.gain_interval[1][at] - curve.gain_interval[0][at] < upper[at] - lower[at]


def test_intervals_of_the_distance_from_the_curve_hold_it_calibrated_or_not() -> None:
    rng = np.random.default_rng(4)
    for distortion, true in ((1.0, 0.0), (0.5, None)):
        x = rng.normal(-1, 1.2, 400_000)
        known = float(np.abs(expit(distortion * x) - expit(x)).mean()) if true is None else true
        held, cohorts = 0, 100
        for _ in range(cohorts):
            x = rng.normal(-1, 1.2, 600)
            y = (rng.random(600) < expit(x)).astype(np.int8)
            ici = compute_performance(y, expit(distortion * x), RANGE).intervals["ici"]
            held += ici.lower <= known <= ici.upper
        assert held >= 0.84 * cohorts  # of 95, by the few patients that a curve has
