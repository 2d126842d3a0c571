"""Brier scores against R, and what must hold."""

from __future__ import annotations

import numpy as np
import pytest

from autoprog.survival import (
    HorizonError,
    OutcomeError,
    aalen_johansen,
    brier_score,
    integrated_brier,
    mean_over_grid,
    scaled_brier,
)
from tests.survival.naive import simulated
from tests.survival.reference import COHORTS, SINGLE, cohort_of, metric, of_cohort

TOLERANCE = 1e-9  # of R's tables


@pytest.mark.parametrize("name", COHORTS)
def test_brier_and_scaled_brier_are_those_of_r(name: str) -> None:
    cohort = cohort_of(name)
    brier, null = metric(name, "brier"), metric(name, "brier_null_km")
    inputs = (cohort.time, cohort.event, cohort.risk, cohort.horizons)
    np.testing.assert_allclose(brier_score(*inputs), brier, atol=TOLERANCE)
    np.testing.assert_allclose(scaled_brier(*inputs), 1 - brier / null, atol=TOLERANCE)


def _risk_on_the_grid(name: str, grid: np.ndarray) -> np.ndarray:
    """Risks of R's model at its grid, from its baseline hazard."""
    model, baseline = ("cox_efron", "efron") if name in SINGLE else ("fg_finegray_breslow", "breslow")
    hazard = of_cohort("baseline_hazard", name, model=model, baseline=baseline)
    steps = np.concatenate([[0.0], hazard["cumhaz_at_zero"]])
    H0 = steps[np.searchsorted(hazard["time"], grid, side="right")]
    return -np.expm1(-np.exp(cohort_of(name).lp)[:, None] * H0)


@pytest.mark.parametrize("name", COHORTS)
def test_the_curve_and_its_integrals_are_those_of_r(name: str) -> None:
    cohort, curve = cohort_of(name), of_cohort("brier_curve", name)
    grid, late = curve["time"].to_numpy(), curve["in_h1_h3"].to_numpy() == 1
    risk = _risk_on_the_grid(name, grid)
    found = brier_score(cohort.time, cohort.event, risk, grid)
    np.testing.assert_allclose(found, curve["brier_pec"], atol=TOLERANCE)
    whole = (cohort.time, cohort.event, risk, grid)
    for value, expected in (
        (integrated_brier(*whole), "integrated_brier_0_h3_trapezoid"),
        (integrated_brier(*whole, rule="left_step"), "integrated_brier_0_h3_left_step"),
        (
            integrated_brier(cohort.time, cohort.event, risk[:, late], grid[late]),
            "integrated_brier_h1_h3_trapezoid",
        ),
    ):
        assert value == pytest.approx(metric(name, expected)[0], abs=TOLERANCE)


def test_without_censoring_it_is_the_plain_score() -> None:
    time, _, risk = simulated(1)
    event = 1 + np.arange(len(time)) % 2
    found = brier_score(time, event, risk, [0.5, 1.0])
    plain = [np.mean((((time <= h) & (event == 1)) - risk) ** 2) for h in (0.5, 1.0)]
    np.testing.assert_allclose(found, plain, atol=1e-15)


def test_the_null_model_saves_nothing_and_is_the_best_constant() -> None:
    time, event, _ = simulated(2)
    F = float(aalen_johansen(time, event).incidence(1)(0.7))
    null, higher = np.full(len(time), F), np.full(len(time), F + 0.1)
    assert scaled_brier(time, event, null, 0.7)[0] == pytest.approx(0.0, abs=1e-12)
    assert scaled_brier(time, event, higher, 0.7)[0] < 0
    assert brier_score(time, event, null, 0.7)[0] == pytest.approx(F * (1 - F), abs=1e-12)


def test_where_nothing_can_be_saved() -> None:
    assert np.isnan(scaled_brier([1.0, 2.0], [1, 1], [0.5, 0.5], 0.5)[0])
    assert np.isnan(scaled_brier([1.0, 2.0], [1, 1], [0.5, 0.5], 2.0)[0])


def test_the_rules_of_the_integral() -> None:
    scores, grid = np.array([0.0, 0.2, 0.2]), np.array([0.0, 1.0, 4.0])
    assert mean_over_grid(scores, grid) == pytest.approx((0.1 + 0.6) / 4)
    assert mean_over_grid(scores, grid, "left_step") == pytest.approx(0.6 / 4)


def test_what_is_refused() -> None:
    with pytest.raises(OutcomeError, match=r"must lie in \[0, 1\]: 1 of 2 do not, they reach from 0.2 to 1.5"):
        brier_score([1.0, 2.0], [1, 1], [0.2, 1.5], 1.0)
    for grid in ([1.0], [1.0, 1.0], [2.0, 1.0]):
        with pytest.raises(HorizonError, match="two or more ascending times"):
            integrated_brier([1.0, 2.0], [1, 1], np.zeros((2, len(grid))), grid)
