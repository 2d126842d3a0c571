"""Influences at a horizon against leaving each patient out, and what groups do to the intervals of event times."""

from __future__ import annotations

import numpy as np
import pytest

from autoprog.cohort.event_array import event_times
from autoprog.performance.event_times.influence import horizon_influences, net_benefit_influences
from autoprog.performance.event_times.measures import n_rarer_at, performance_at
from autoprog.performance.influence import standard_error
from autoprog.performance.score import make_interval
from autoprog.survival import (
    brier_score,
    calibration_at,
    calibration_curve,
    cumulative_dynamic_auc,
    net_benefit,
    scaled_brier,
)

H = 1.0
OF_ALL = {"auc": cumulative_dynamic_auc, "brier": brier_score, "brier_skill": scaled_brier}


def simulated(n: int, seed: int, *, censored: bool) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    time = rng.exponential(np.exp(-x)) + 0.01
    end = rng.uniform(0.5, 3.0, n) if censored else np.full(n, 50.0)
    y = event_times((time <= end).astype(np.int64), np.minimum(time, end))
    return y, -np.expm1(-H * np.exp(0.7 * x))


@pytest.mark.parametrize("name", OF_ALL)
def test_influences_are_those_of_leaving_a_patient_out(name: str) -> None:
    """Of patients who are all followed, whose weights are 1 and stay so."""
    y, p = simulated(300, 0, censored=False)

    def measured(rows: np.ndarray) -> float:
        return float(OF_ALL[name](y["time"][rows], y["event"][rows], p[rows][:, None], np.array([H]))[0])

    each = np.arange(300)
    expected = 299 * (measured(each) - np.array([measured(each[each != i]) for i in each]))
    incidence = float(np.mean((y["event"] == 1) & (y["time"] <= H)))
    psi = horizon_influences(y, p, H, incidence)[name]
    assert psi.mean() == pytest.approx(0, abs=1e-12)
    np.testing.assert_allclose(psi, expected - expected.mean(), atol=0.03 * np.abs(expected).max())


def test_copies_of_a_patient_are_one_patient() -> None:
    y, p = simulated(400, 1, censored=True)
    alone, patients = performance_at(y, p, H), np.repeat(np.arange(400), 3)
    copies = performance_at(y[patients], p[patients], H, patients)
    for name in ("auc", "brier", "brier_skill"):
        width, grouped = (each.upper - each.lower for each in (alone.intervals[name], copies.intervals[name]))
        assert grouped == pytest.approx(width, rel=0.03)
    for name in ("slope", "intercept", "observed", "expected_observed"):
        width, grouped = (getattr(each, name).upper - getattr(each, name).lower for each in (alone, copies))
        assert grouped == pytest.approx(width, rel=0.05)
    curve, of_copies = (
        calibration_curve(y["time"][rows], y["event"][rows], p[rows], H, groups=groups)
        for rows, groups in ((np.arange(400), None), (patients, patients))
    )
    np.testing.assert_allclose(of_copies.upper - of_copies.lower, curve.upper - curve.lower, rtol=0.1)


def test_patients_of_hospitals_that_differ_say_less_than_as_many_others() -> None:
    rng = np.random.default_rng(2)
    hospital = np.repeat(np.arange(30), 20)
    time = rng.exponential(np.exp(-0.8 * rng.normal(size=30))[hospital]) + 0.01
    y = event_times(np.ones(600, dtype=np.int64), time)
    p = np.full(600, 0.6) + 0.001 * rng.random(600)
    alone = calibration_at(y["time"], y["event"], p, H)
    grouped = calibration_at(y["time"], y["event"], p, H, groups=hospital)
    for name in ("observed", "expected_observed", "intercept"):
        of_alone, of_grouped = getattr(alone, name), getattr(grouped, name)
        assert of_grouped.estimate == pytest.approx(of_alone.estimate)
        assert of_grouped.upper - of_grouped.lower > 1.5 * (of_alone.upper - of_alone.lower)


def test_bands_of_decision_curves_hold_the_truth_as_often_as_they_say() -> None:
    """Of 400 cohorts of 400 patients: of true risks, and of these less ones that know little, among very many."""
    c = np.array([0.2, 0.4, 0.6])

    def drawn(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        rate = np.exp(rng.normal(-0.5, 0.8, n))
        time, end = rng.exponential(1 / rate), rng.uniform(0.5, 3.0, n)
        p = -np.expm1(-H * rate)
        return event_times((time <= end).astype(np.int64), np.minimum(time, end)), p, 0.5 * p + 0.25

    _, p, q = drawn(400_000, np.random.default_rng(99))
    mine, its = (np.array([np.mean((r >= t) * (p - (1 - p) * t / (1 - t))) for t in c]) for r in (p, q))
    covered = np.zeros((2, len(c)))
    rng = np.random.default_rng(0)
    for _ in range(400):
        y, p, q = drawn(400, rng)
        values = [net_benefit(y["time"], y["event"], r, H, c) for r in (p, q)]
        for row, (value, truth, risks) in enumerate(
            ((values[0], mine, (p,)), (values[0] - values[1], mine - its, (p, q)))
        ):
            for k, psi in enumerate(net_benefit_influences(y, H, c, *risks)):
                found = make_interval("net_benefit", float(value[k]), standard_error(psi), n_rarer_at(y, H))
                covered[row, k] += found.lower <= truth[k] <= found.upper
    # A standard error of .011, and three of them to either side.
    assert (np.abs(covered / 400 - 0.95) <= 0.033).all(), covered / 400
