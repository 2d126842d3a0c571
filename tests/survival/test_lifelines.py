"""Estimates and Cox's regression beside lifelines, on real cohorts and on simulated ones without ties."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from lifelines import AalenJohansenFitter, CoxPHFitter, KaplanMeierFitter
from lifelines.utils import concordance_index

from autoprog.survival import aalen_johansen, fit_cox, harrell_c, kaplan_meier
from tests.survival.naive import simulated
from tests.survival.reference import COHORTS, SINGLE, cohort_of


@pytest.mark.parametrize("name", COHORTS)
def test_kaplan_meier_and_its_standard_error(name: str) -> None:
    cohort = cohort_of(name)
    failed = cohort.event > 0
    theirs = KaplanMeierFitter().fit(cohort.time, failed)
    estimates = kaplan_meier(cohort.time, failed).at(cohort.horizons, level=0.95)
    np.testing.assert_allclose(estimates.estimate, theirs.predict(cohort.horizons), atol=1e-12)
    bounds = theirs.confidence_interval_survival_function_.asof(cohort.horizons).to_numpy()
    np.testing.assert_allclose(np.column_stack([estimates.lower, estimates.upper]), bounds, atol=1e-6)


@pytest.mark.parametrize("cause", [1, 2])
def test_aalen_and_johansen(cause: int) -> None:
    """Without ties: lifelines would break them by chance."""
    time, event, _ = simulated(0, n=200, causes=2)
    theirs = AalenJohansenFitter(calculate_variance=False).fit(time, event, event_of_interest=cause)
    found = aalen_johansen(time, event).incidence(cause)
    np.testing.assert_allclose(found(time), theirs.predict(time), atol=1e-12)


@pytest.mark.parametrize("name", COHORTS)
def test_harrells_concordance(name: str) -> None:
    """Of a risk with many ties, each worth a half."""
    cohort = cohort_of(name)
    failed, risk = cohort.event > 0, np.round(cohort.risk[:, -1], 1)
    theirs = concordance_index(cohort.time, -risk, failed)
    assert harrell_c(cohort.time, failed, risk).index == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize("penalty", [0.0, 0.02])
@pytest.mark.parametrize("name", SINGLE)
def test_cox_with_and_without_a_ridge(name: str, penalty: float) -> None:
    """lifelines penalises the mean log likelihood of columns divided by their sample standard deviations."""
    cohort = cohort_of(name)
    n, d = cohort.X.shape
    frame = pd.DataFrame(cohort.X, columns=[f"x{j}" for j in range(d)]).assign(time=cohort.time, event=cohort.event)
    theirs = CoxPHFitter(penalizer=penalty).fit(frame, "time", "event", fit_options={"precision": 1e-11})
    found = fit_cox(cohort.X, cohort.time, cohort.event, ridge=penalty * n * n / (n - 1) if penalty else 0.0)
    error = theirs.standard_errors_.to_numpy()
    np.testing.assert_allclose(found.coefficients / error, theirs.params_ / error, atol=1e-5)
    if not penalty:
        np.testing.assert_allclose(found.standard_error, error, rtol=1e-5)
        assert found.log_likelihood == pytest.approx(theirs.log_likelihood_, abs=1e-6)
