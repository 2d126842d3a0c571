"""Patients by outcome: counts, moments and standardised differences."""

from __future__ import annotations

import numpy as np
import pytest

from autoprog.cohort import Binary, Cohort, Feature, describe_by_outcome, parse_spec, read_cohort
from autoprog.cohort.description import difference_of_levels, difference_of_numbers
from tests.cohorts import cleveland_cohort, event_file, event_spec


def test_groups_of_a_real_cohort() -> None:
    cohort = cleveland_cohort()
    found = describe_by_outcome(cohort)
    assert (found.n, found.n_with_outcome) == (303, 139)
    for summary, x in zip(found.features, cohort.X.T, strict=True):
        groups = (summary.with_outcome, summary.without_outcome)
        assert sum(group.n_missing for group in groups) == summary.everyone.n_missing == np.isnan(x).sum()
        if summary.feature.kind == "numeric":
            values = x[(cohort.y == 1) & ~np.isnan(x)]
            assert summary.with_outcome.number is not None
            assert summary.with_outcome.number.mean == pytest.approx(values.mean())
            assert summary.with_outcome.number.deviation == pytest.approx(values.std(ddof=1))
        else:
            assert np.add(*(group.counts for group in groups)).tolist() == list(summary.everyone.counts)


def test_difference_of_numbers_is_cohens_with_the_mean_variance() -> None:
    x1, x0 = np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 6.0])
    assert difference_of_numbers(x1, x0) == pytest.approx((2 - 4) / np.sqrt((1 + 4) / 2))
    assert difference_of_numbers(np.ones(3), np.ones(3)) is None


def test_difference_of_two_levels_is_that_of_shares() -> None:
    expected = abs(0.3 - 0.5) / np.sqrt((0.3 * 0.7 + 0.5 * 0.5) / 2)
    assert difference_of_levels(np.array([0.7, 0.3]), np.array([0.5, 0.5])) == pytest.approx(expected)


def test_difference_of_levels_does_not_depend_on_their_order() -> None:
    p1, p0 = np.array([0.2, 0.3, 0.5]), np.array([0.4, 0.35, 0.25])
    orders = ([0, 1, 2], [2, 0, 1], [1, 2, 0])
    assert len({round(difference_of_levels(p1[o], p0[o]) or 0, 12) for o in orders}) == 1


def test_difference_of_levels_that_no_group_shares_is_not_told() -> None:
    assert difference_of_levels(np.array([1.0, 0.0]), np.array([0.0, 1.0])) is None
    assert difference_of_levels(np.array([1.0, 0.0]), np.array([1.0, 0.0])) == 0


def test_missing_values_are_compared_by_outcome() -> None:
    X = np.array([[np.nan], [np.nan], [1.0], [2.0], [np.nan], [1.0], [2.0], [3.0]])
    y = np.array([1, 1, 1, 1, 0, 0, 0, 0], dtype=np.int8)
    (summary,) = describe_by_outcome(Cohort("c", Binary("y", "1", "0"), (Feature("x", "numeric"),), X, y)).features
    assert summary.missing_difference == pytest.approx(0.25 / np.sqrt((0.25 + 0.1875) / 2))


def test_of_visits_each_patient_counts_once() -> None:
    cohort = read_cohort(event_file("pbcseq"), parse_spec(event_spec("pbcseq"))).cohort
    found = describe_by_outcome(cohort)
    assert found.n == cohort.n_patients < cohort.n_rows
    assert cohort.visits is not None
    assert found.n_with_outcome == len(np.unique(cohort.visits.patient[cohort.y == 1]))
