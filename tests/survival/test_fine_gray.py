"""Fine and Gray's regression against R and against its definition, patient by patient."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from autoprog.survival import (
    NoEventError,
    aalen_johansen,
    censoring_survival,
    fit_cox,
    fit_fine_gray,
)
from autoprog.survival.partial_likelihood import Ties
from tests.survival.reference import COMPETING, cohort_of
from tests.survival.test_cox import TIES, assert_as_r, assert_baseline_as_r


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("name", COMPETING)
def test_cohorts_are_as_in_r(name: str, ties: Ties) -> None:
    cohort = cohort_of(name)
    found = fit_fine_gray(cohort.X, cohort.time, cohort.event, ties=ties)
    assert_as_r(found, name, f"fg_finegray_{ties}", ties)
    assert_baseline_as_r(found, name, f"fg_finegray_{ties}", ties)


def _simulated(seed: int, n: int = 80) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.ceil(8 * rng.exponential(np.exp(-0.5 * X[:, 0]))), rng.integers(0, 3, n)


@pytest.mark.parametrize("cause", [1, 2])
def test_the_weighted_likelihood_by_a_loop(cause: int) -> None:
    X, time, event = _simulated(0)
    G = censoring_survival(time, event)

    def minus_log_likelihood(beta: np.ndarray) -> float:
        total = 0.0
        for i in np.flatnonzero(event == cause):
            weight = (time >= time[i]).astype(float)
            stays = (event > 0) & (event != cause) & (time < time[i])
            weight[stays] = G.left(time[i]) / G.left(time[stays])
            total += X[i] @ beta - np.log(weight @ np.exp(X @ beta))
        return -total

    plain = minimize(minus_log_likelihood, np.zeros(2), method="BFGS", options={"gtol": 1e-8})
    found = fit_fine_gray(X, time, event, cause=cause)
    np.testing.assert_allclose(found.coefficients, plain.x, atol=1e-6)
    assert found.log_likelihood == pytest.approx(-plain.fun, abs=1e-8)
    assert found.log_likelihood_null == pytest.approx(-minus_log_likelihood(np.zeros(2)), abs=1e-10)


def test_without_competing_events_it_is_cox() -> None:
    X, time, event = _simulated(1)
    event = np.minimum(event, 1)
    for ties in TIES:
        ours, cox = fit_fine_gray(X, time, event, ties=ties), fit_cox(X, time, event, ties=ties)
        np.testing.assert_allclose(ours.coefficients, cox.coefficients, atol=1e-12)
        np.testing.assert_allclose(ours.robust_standard_error, cox.robust_standard_error, rtol=1e-10)


def test_without_censoring_competing_events_stay_at_risk_for_ever() -> None:
    X, time, event = _simulated(2)
    event = np.maximum(event, 1)
    ours = fit_fine_gray(X, time, event)
    late = fit_cox(X, np.where(event == 2, time.max() + 1, time), event, ties="breslow")
    np.testing.assert_allclose(ours.coefficients, late.coefficients, atol=1e-12)


def test_without_an_effect_the_incidence_is_that_of_aalen_and_johansen() -> None:
    # A heavy penalty leaves the baseline alone: 1 - exp(-H) against a product limit, apart by the size of the jumps.
    cohort = cohort_of("framingham_cr")
    found = fit_fine_gray(cohort.X, cohort.time, cohort.event, ridge=1e9)
    plain = aalen_johansen(cohort.time, cohort.event).incidence(1)(cohort.horizons)
    np.testing.assert_allclose(found.risk(cohort.X[:1], cohort.horizons)[0], plain, atol=1e-4)


def test_whole_weights_are_copies() -> None:
    X, time, event = _simulated(3)
    weights = np.random.default_rng(0).multinomial(len(time), np.full(len(time), 1 / len(time)))
    weighted = fit_fine_gray(X, time, event, weights=weights)
    copied = fit_fine_gray(*(np.repeat(v, weights, axis=0) for v in (X, time, event)))
    np.testing.assert_allclose(weighted.coefficients, copied.coefficients, atol=1e-9)
    np.testing.assert_allclose(weighted.risk(X, [5.0, 9.0]), copied.risk(X, [5.0, 9.0]), atol=1e-9)


def test_a_cause_that_nobody_had() -> None:
    X, time, event = _simulated(4)
    with pytest.raises(NoEventError, match="code 3"):
        fit_fine_gray(X, time, event, cause=3)
