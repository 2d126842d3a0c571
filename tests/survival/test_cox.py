"""Cox's regression against R, scikit-survival, and what must hold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sksurv.linear_model import CoxPHSurvivalAnalysis
from sksurv.util import Surv

from autoprog.survival import ConvergenceError, NoEventError, OutcomeError, ProportionalHazards, fit_cox
from autoprog.survival.partial_likelihood import Ties
from tests.survival.reference import COMPETING, SINGLE, cohort_of, of_cohort

TIES: tuple[Ties, ...] = ("efron", "breslow")
TOLERANCE = 1e-6  # of R's tables; relative to the standard error for coefficients


def assert_as_r(found: ProportionalHazards, cohort: str, model: str, baseline: str, *, survival: bool = False) -> None:
    """Coefficients, standard errors, likelihoods and predictions are R's."""
    rows = of_cohort("coefficients", cohort, model=model)
    error = rows["se_naive"].to_numpy()
    np.testing.assert_allclose(found.coefficients / error, rows["coef"] / error, atol=TOLERANCE)
    np.testing.assert_allclose(found.standard_error, error, rtol=TOLERANCE)
    np.testing.assert_allclose(found.robust_standard_error, rows["se_robust"], rtol=TOLERANCE)
    fits = of_cohort("fits", cohort, model=model).iloc[0]
    assert found.log_likelihood_null == pytest.approx(fits["loglik_null"], abs=TOLERANCE)
    assert found.log_likelihood == pytest.approx(fits["loglik"], abs=TOLERANCE)
    data = cohort_of(cohort)
    predicted = of_cohort("predictions", cohort, model=model, baseline=baseline)
    expected = predicted.pivot_table(index="used_row", columns="horizon", values="value").to_numpy()
    risk = found.risk(data.X[: len(expected)], data.horizons)
    np.testing.assert_allclose(1 - risk if survival else risk, expected, atol=TOLERANCE)


def assert_baseline_as_r(found: ProportionalHazards, cohort: str, model: str, baseline: str) -> None:
    """The cumulative hazard of a patient with columns 0 is R's."""
    rows = of_cohort("baseline_hazard", cohort, model=model, baseline=baseline)
    at_zero = found.cumulative_hazard(rows["time"]) * np.exp(-found.centre @ found.coefficients)
    np.testing.assert_allclose(at_zero, rows["cumhaz_at_zero"], rtol=TOLERANCE)
    assert len(found.cumulative_hazard.times) == len(rows)


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("name", SINGLE)
def test_survival_cohorts_are_as_in_r(name: str, ties: Ties) -> None:
    cohort = cohort_of(name)
    found = fit_cox(cohort.X, cohort.time, cohort.event, ties=ties)
    assert_as_r(found, name, f"cox_{ties}", ties, survival=True)
    assert_baseline_as_r(found, name, f"cox_{ties}", ties)


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("cause", [1, 2])
@pytest.mark.parametrize("name", COMPETING)
def test_each_cause_is_as_in_r(name: str, cause: int, ties: Ties) -> None:
    cohort = cohort_of(name)
    found = fit_cox(cohort.X, cohort.time, cohort.event == cause, ties=ties)
    assert_as_r(found, name, f"cause{cause}_cox_{ties}", ties)


def _simulated(seed: int, n: int = 150, d: int = 3) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * [1.0, 5.0, 0.2][:d] + 100
    time = np.ceil(rng.exponential(10 * np.exp(-(X - 100) @ np.array([0.5, 0.1, -1.0])[:d])))
    return X, time, rng.integers(0, 2, n)


def test_the_ridge_is_that_of_standardised_columns() -> None:
    X, time, event = _simulated(0)
    standardised = (X - X.mean(axis=0)) / X.std(axis=0)
    theirs = CoxPHSurvivalAnalysis(alpha=7.0, ties="efron", tol=1e-12).fit(
        standardised, Surv.from_arrays(event == 1, time)
    )
    found = fit_cox(X, time, event, ridge=7.0)
    np.testing.assert_allclose(found.coefficients * X.std(axis=0), theirs.coef_, atol=1e-9)


def test_whole_weights_are_copies_with_the_ties_of_breslow() -> None:
    X, time, event = _simulated(1)
    weights = np.random.default_rng(0).multinomial(len(time), np.full(len(time), 1 / len(time)))
    weighted = fit_cox(X, time, event, ties="breslow", weights=weights)
    copied = fit_cox(*(np.repeat(v, weights, axis=0) for v in (X, time, event)), ties="breslow")
    np.testing.assert_allclose(weighted.coefficients, copied.coefficients, atol=1e-9)
    np.testing.assert_allclose(weighted.standard_error, copied.standard_error, rtol=1e-9)
    np.testing.assert_allclose(weighted.risk(X, [5.0, 20.0]), copied.risk(X, [5.0, 20.0]), atol=1e-9)


def test_the_score_residuals_are_the_derivative_by_the_weights() -> None:
    # An estimate moves by J^-1 U_i with the weight of patient i.
    X, time, event = _simulated(2, n=60)
    base = fit_cox(X, time, event, ties="breslow")
    moved = np.array([
        (
            fit_cox(X, time, event, ties="breslow", weights=1 + 1e-4 * (np.arange(60) == i)).coefficients
            - fit_cox(X, time, event, ties="breslow", weights=1 - 1e-4 * (np.arange(60) == i)).coefficients
        ) / 2e-4
        for i in range(60)
    ])  # fmt: skip
    np.testing.assert_allclose(np.sqrt((moved**2).sum(axis=0)), base.robust_standard_error, rtol=1e-5)


def test_the_scale_and_the_origin_of_the_columns_do_not_matter() -> None:
    X, time, event = _simulated(3)
    plain = fit_cox(X, time, event)
    moved = fit_cox(X * [1e6, 1e-6, 1.0] + [0.0, 5.0, 1e4], time, event)
    np.testing.assert_allclose(moved.coefficients * [1e6, 1e-6, 1.0], plain.coefficients, rtol=1e-6)
    np.testing.assert_allclose(moved.risk(X * [1e6, 1e-6, 1.0] + [0.0, 5.0, 1e4], 9.0), plain.risk(X, 9.0), atol=1e-7)


def test_a_risk_at_extreme_columns_stays_in_bounds() -> None:
    X, time, event = _simulated(4)
    found = fit_cox(X, time, event)
    extreme = replace(found, coefficients=found.coefficients * 1e4)
    risk = extreme.risk(X, [0.1, 5.0, 1e9])
    assert ((risk >= 0) & (risk <= 1)).all()
    assert (risk[:, 0] == 0).all()


def test_a_column_that_separates_has_no_finite_estimate_but_with_a_ridge() -> None:
    X, time, event = _simulated(5)
    X[:, 1] = event  # nobody without it had the event
    with pytest.raises(ConvergenceError, match="column 1") as raised:
        fit_cox(X, time, event)
    assert raised.value.column == 1
    assert np.isfinite(fit_cox(X, time, event, ridge=0.1).coefficients).all()


def test_columns_that_follow_from_others() -> None:
    X, time, event = _simulated(6)
    X[:, 2] = 2 * X[:, 0] - 3 * X[:, 1]
    with pytest.raises(ConvergenceError, match="follows from the other columns"):
        fit_cox(X, time, event)
    X[:, 2] = 4.0
    with pytest.raises(ConvergenceError, match="column 2 does not vary") as raised:
        fit_cox(X, time, event)
    assert raised.value.column == 2
    assert fit_cox(X, time, event, ridge=0.1).coefficients[2] == 0.0


def test_what_is_refused() -> None:
    X, time, event = _simulated(7)
    with pytest.raises(NoEventError):
        fit_cox(X, time, np.zeros(len(time)))
    with pytest.raises(NoEventError):
        fit_cox(X, time, event, weights=1.0 - event)
    with pytest.raises(OutcomeError, match=r"shape \(3, 3\) for 150 patients"):
        fit_cox(X[:3], time, event)
    X[4, 1] = np.nan
    with pytest.raises(OutcomeError, match="column 1 has 1 cells that are missing"):
        fit_cox(X, time, event)
