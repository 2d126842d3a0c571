"""Bounded incidences from cause-specific hazards, against R and in sum."""

from __future__ import annotations

import numpy as np
import pytest

from autoprog.survival import (
    OutcomeError,
    StepFunction,
    aalen_johansen,
    cause_specific_incidence,
    fit_cox,
    rescale_causes,
)
from tests.survival.reference import COMPETING, cohort_of, of_cohort


@pytest.mark.parametrize("name", COMPETING)
def test_it_is_the_bounded_form_of_r(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autoprog.survival.proportional_hazards._CELLS", 1000)  # several chunks of patients
    cohort = cohort_of(name)
    models = [fit_cox(cohort.X, cohort.time, cohort.event == cause, ties="breslow") for cause in (1, 2)]
    eta = np.column_stack([model.log_hazard_ratio(cohort.X) for model in models])
    found = cause_specific_incidence([model.cumulative_hazard for model in models], eta, cohort.horizons)
    rows = of_cohort("predictions", name, model="cause_specific_cox", baseline="breslow_bounded")
    expected = rows.pivot_table(index="used_row", columns="horizon", values="value").to_numpy()
    np.testing.assert_allclose(found[: len(expected), :, 0], expected, atol=1e-6)
    survival = np.prod([1 - m.risk(cohort.X, cohort.horizons) for m in models], axis=0)
    np.testing.assert_allclose(found.sum(axis=2), 1 - survival, atol=1e-9)
    assert found.min() >= 0
    assert found.max() <= 1


def test_one_cause_alone_is_one_minus_its_survival() -> None:
    hazard = StepFunction(np.array([1.0, 2.0, 5.0]), np.array([0.1, 0.4, 2.0]), 0.0)
    found = cause_specific_incidence([hazard], [[0.0], [1.0]], [0.5, 1.0, 3.0, 9.0])
    H = np.array([0.0, 0.1, 0.4, 2.0])
    np.testing.assert_allclose(found[:, :, 0], 1 - np.exp(-np.outer([1.0, np.e], H)), atol=1e-14)


def test_without_covariates_it_is_nearly_aalen_and_johansen() -> None:
    cohort = cohort_of("framingham_cr")
    plain = aalen_johansen(cohort.time, cohort.event)
    models = [fit_cox(cohort.X, cohort.time, cohort.event == cause, ridge=1e9) for cause in (1, 2)]
    eta = np.column_stack([model.log_hazard_ratio(cohort.X[:1]) for model in models])
    found = cause_specific_incidence([model.cumulative_hazard for model in models], eta, cohort.horizons)
    for cause in (1, 2):
        np.testing.assert_allclose(found[0, :, cause - 1], plain.incidence(cause)(cohort.horizons), atol=1e-4)


def test_enormous_hazards_stay_in_bounds() -> None:
    hazards = [StepFunction(np.array([1.0, 2.0]), np.array([0.1, 0.2]), 0.0)] * 2
    found = cause_specific_incidence(hazards, [[800.0, 800.0], [-800.0, 800.0], [-800.0, -800.0]], [1.5, 2.5])
    np.testing.assert_allclose(found[0], 0.5, atol=1e-12)
    np.testing.assert_allclose(found[1], [[0.0, 1.0], [0.0, 1.0]], atol=1e-12)
    np.testing.assert_allclose(found[2], 0.0, atol=1e-12)


def test_log_hazard_ratios_that_are_none() -> None:
    hazard = StepFunction(np.array([1.0]), np.array([0.1]), 0.0)
    for eta in ([[0.0, 0.0]], [0.0], [[np.nan]]):
        with pytest.raises(OutcomeError, match="for 1 causes"):
            cause_specific_incidence([hazard], eta, 1.0)


def test_sums_above_one_are_brought_to_it_in_proportion() -> None:
    risks, count = rescale_causes([[[0.9, 0.3], [0.2, 0.1]], [[0.5, 0.5], [0.8, 0.8]]])
    assert count == 2
    np.testing.assert_allclose(risks, [[[0.75, 0.25], [0.2, 0.1]], [[0.5, 0.5], [0.5, 0.5]]])
