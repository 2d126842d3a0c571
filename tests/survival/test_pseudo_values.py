"""Pseudo-values against leaving each patient out in turn."""

from __future__ import annotations

import numpy as np
import pytest

from autoprog.survival import OutcomeError, aalen_johansen, pseudo_values
from tests.survival.naive import incidence, simulated
from tests.survival.reference import cohort_of


@pytest.mark.parametrize("distinct", [None, 3, 8])
@pytest.mark.parametrize("seed", range(4))
def test_leaving_each_out_in_turn(seed: int, distinct: int | None) -> None:
    time, event, _ = simulated(seed, n=25, distinct=distinct)
    horizons = np.quantile(time, [0.0, 0.3, 0.6, 1.0])
    n = len(time)
    for cause in (1, 2):
        found = pseudo_values(time, event, horizons, cause)
        for j, h in enumerate(horizons):
            others = [incidence(np.delete(time, i), np.delete(event, i), cause, h) for i in range(n)]
            plain = n * incidence(time, event, cause, h) - (n - 1) * np.array(others)
            np.testing.assert_allclose(found[:, j], plain, atol=1e-12)


@pytest.mark.parametrize("name", ["mgus2", "lung"])
def test_patients_of_real_cohorts_with_many_ties(name: str) -> None:
    cohort = cohort_of(name)
    found = pseudo_values(cohort.time, cohort.event, cohort.horizons)
    n = len(cohort.time)
    whole = aalen_johansen(cohort.time, cohort.event).incidence(1)(cohort.horizons)
    for i in np.random.default_rng(0).choice(n, 20, replace=False):
        without = aalen_johansen(np.delete(cohort.time, i), np.delete(cohort.event, i)).incidence(1)(cohort.horizons)
        np.testing.assert_allclose(found[i], n * whole - (n - 1) * without, atol=1e-10)


def test_without_censoring_they_are_the_outcome() -> None:
    time, event, _ = simulated(5)
    event = np.maximum(event, 1)
    found = pseudo_values(time, event, [0.5, 1.0])
    happened = (time[:, None] <= [0.5, 1.0]) & (event == 1)[:, None]
    np.testing.assert_allclose(found, happened, atol=1e-12)


def test_before_the_first_time_they_are_0() -> None:
    assert (pseudo_values([1.0, 2.0, 3.0], [1, 0, 2], 0.5) == 0).all()


def test_one_patient_alone_has_none() -> None:
    with pytest.raises(OutcomeError, match="two patients or more"):
        pseudo_values([1.0], [1], 1.0)
