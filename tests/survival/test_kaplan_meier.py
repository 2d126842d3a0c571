"""Kaplan-Meier against R, lifelines' form of the interval, and what must hold."""

from __future__ import annotations

import numpy as np
import pytest
from sksurv.nonparametric import kaplan_meier_estimator

from autoprog.survival import kaplan_meier
from tests.survival.naive import simulated
from tests.survival.reference import COHORTS, cohort_of, of_cohort, table

TOLERANCE = 1e-9  # of R's tables


@pytest.mark.parametrize("name", COHORTS)
def test_survival_and_greenwood_are_those_of_r(name: str) -> None:
    cohort = cohort_of(name)
    rows = of_cohort("kaplan_meier", name, group_variable=None)
    found = kaplan_meier(cohort.time, cohort.event).at(cohort.horizons)
    np.testing.assert_allclose(found.estimate, rows["survival"], atol=TOLERANCE)
    np.testing.assert_allclose(found.standard_error, rows["se_greenwood"], atol=TOLERANCE)


@pytest.mark.parametrize("name", COHORTS)
def test_groups_are_those_of_r(name: str) -> None:
    cohort = cohort_of(name)
    rows = table("kaplan_meier")
    rows = rows[(rows["cohort"] == name) & rows["group_variable"].notna()]
    for group, expected in rows.groupby("group"):
        members = cohort.group == str(group)
        found = kaplan_meier(cohort.time[members], cohort.event[members]).at(cohort.horizons)
        np.testing.assert_allclose(found.estimate, expected["survival"], atol=TOLERANCE)
        # R has no standard error where all have failed.
        np.testing.assert_allclose(found.standard_error, expected["se_greenwood"].fillna(0.0), atol=TOLERANCE)


@pytest.mark.parametrize("distinct", [None, 8])
def test_the_interval_is_that_of_scikit_survival(distinct: int | None) -> None:
    time, event, _ = simulated(1, n=200, causes=1, distinct=distinct)
    at, survival, limits = kaplan_meier_estimator(event > 0, time, conf_type="log-log")
    found = kaplan_meier(time, event).at(at)
    np.testing.assert_allclose(found.estimate, survival, atol=1e-12)
    inside = (survival > 0) & (survival < 1)
    np.testing.assert_allclose(found.lower[inside], limits[0][inside], atol=1e-9)
    np.testing.assert_allclose(found.upper[inside], limits[1][inside], atol=1e-9)


def test_whole_weights_are_copies() -> None:
    time, event, _ = simulated(2, distinct=7)
    weights = np.random.default_rng(0).multinomial(len(time), np.full(len(time), 1 / len(time)))
    weighted = kaplan_meier(time, event, weights)
    copied = kaplan_meier(np.repeat(time, weights), np.repeat(event, weights))
    at = np.arange(0.5, 9.0, 0.5)
    np.testing.assert_allclose(weighted.survival(at), copied.survival(at), atol=1e-13)
    np.testing.assert_allclose(weighted.standard_error(at), copied.standard_error(at), atol=1e-13)


def test_without_censoring_it_is_the_share_still_alive() -> None:
    time, _, _ = simulated(3)
    found = kaplan_meier(time, np.ones(len(time))).at(np.sort(time))
    alive = 1 - np.arange(1, len(time) + 1) / len(time)
    np.testing.assert_allclose(found.estimate, alive, atol=1e-14)
    np.testing.assert_allclose(found.standard_error, np.sqrt(alive * (1 - alive) / len(time)), atol=1e-12)


def test_at_0_and_1_there_is_no_interval() -> None:
    found = kaplan_meier([1.0, 2.0, 3.0], [0, 1, 1]).at([1.5, 2.5, 3.5])
    assert found.estimate.tolist() == [1.0, 0.5, 0.0]
    assert np.isnan(found.lower).tolist() == [True, False, True]
    assert np.isnan(found.upper).tolist() == [True, False, True]
    assert found.standard_error[[0, 2]].tolist() == [0.0, 0.0]
