"""Patients by outcome: the first table of a paper, with standardised differences and missing values.

    m, s    mean and standard deviation of a number, of the patients with and without the outcome
    p       shares of the levels but the first                                             (k - 1,)
    C       covariance of such an indicator: diag(p) - p p'                                 (k - 1, k - 1)

    number    (m1 - m0) / sqrt((s1^2 + s0^2) / 2)
    levels    sqrt((p1 - p0)' ((C1 + C0) / 2)^-1 (p1 - p0))

Of visits, each patient counts once, with the values of the first visit, and has the outcome if it followed any visit.

References
----------
Yang & Dalton 2012, SAS Global Forum, paper 335 (standardised differences of levels). Austin 2009, Stat Med 28:3083.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort.cohort import Cohort
from autoprog.cohort.schema import Feature

MIN_COUNTED = 10
"""Fewest patients of a level whose number is told: fewer could be identified."""

_Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class NumberSummary:
    """Observed values of a number: moments and quartiles; None without any."""

    mean: float
    deviation: float
    lower_quartile: float
    median: float
    upper_quartile: float


@dataclass(frozen=True, slots=True)
class GroupSummary:
    """One feature in one group of patients.

    Attributes
    ----------
    n_missing : int
        Patients without a value.
    number : NumberSummary or None
        None for a feature with levels, and without observed values.
    counts : tuple of int
        Patients of each level; empty for a number.
    different : tuple of int
        The same, each counted once whatever the weight.
    """

    n_missing: int
    number: NumberSummary | None
    counts: tuple[int, ...]
    different: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class FeatureSummary:
    """One feature in all patients, and by outcome.

    Attributes
    ----------
    feature : Feature
        The feature.
    everyone, with_outcome, without_outcome : GroupSummary
        The groups.
    difference : float or None
        Standardised difference, with minus without for a number, at least 0 for levels; None if it is not defined.
    missing_difference : float or None
        That of the indicator of a missing value.
    """

    feature: Feature
    everyone: GroupSummary
    with_outcome: GroupSummary
    without_outcome: GroupSummary
    difference: float | None
    missing_difference: float | None


@dataclass(frozen=True, slots=True)
class CohortDescription:
    """Patients by outcome.

    Attributes
    ----------
    n, n_with_outcome : int
        Patients, and those who had the outcome; with event times, the event of interest during follow-up.
    features : tuple of FeatureSummary
        In the order of the cohort.
    """

    n: int
    n_with_outcome: int
    features: tuple[FeatureSummary, ...]


def describe_by_outcome(cohort: Cohort) -> CohortDescription:
    """Describe the patients of a cohort by their outcome.

    Parameters
    ----------
    cohort : Cohort
        Patients, or their visits.

    Returns
    -------
    CohortDescription
        Every feature in all patients, and in those with and without the outcome.
    """
    X, had, patient = cohort.X, cohort.y == 1, cohort.patient
    if cohort.visits is not None:
        patient, first, visits_of = np.unique(patient, return_index=True, return_inverse=True)
        X, had = X[first], np.bincount(visits_of, had) > 0
    features = tuple(_describe(feature, x, had, patient) for feature, x in zip(cohort.features, X.T, strict=True))
    return CohortDescription(len(had), int(had.sum()), features)


def _describe(feature: Feature, x: _Floats, had: NDArray[np.bool_], patient: NDArray[np.int64]) -> FeatureSummary:
    all_rows = np.ones(len(x), dtype=np.bool_)
    everyone, with_outcome, without = (_summarise(feature, x[rows], patient[rows]) for rows in (all_rows, had, ~had))
    missing = np.isnan(x)
    observed = [x[had & ~missing], x[~had & ~missing]]
    if not all(len(values) for values in observed):
        difference = None
    elif feature.kind == "numeric":
        difference = difference_of_numbers(*observed)
    else:
        shares = [
            np.bincount(values.astype(np.intp), minlength=len(feature.levels)) / len(values) for values in observed
        ]
        difference = difference_of_levels(*shares)
    lacks = [np.array([1 - float(missing[rows].mean()), float(missing[rows].mean())]) for rows in (had, ~had)]
    of_missing = difference_of_levels(*lacks) if missing.any() else None
    return FeatureSummary(feature, everyone, with_outcome, without, difference, of_missing)


def _summarise(feature: Feature, x: _Floats, patient: NDArray[np.int64]) -> GroupSummary:
    known = ~np.isnan(x)
    observed = x[known]
    n_missing = len(x) - len(observed)
    if feature.kind != "numeric":
        codes = observed.astype(np.intp)
        _, once = np.unique(patient[known], return_index=True)
        counts, different = (np.bincount(some, minlength=len(feature.levels)) for some in (codes, codes[once]))
        return GroupSummary(n_missing, None, tuple(counts.tolist()), tuple(different.tolist()))
    if not len(observed):
        return GroupSummary(n_missing, None, (), ())
    deviation = float(observed.std(ddof=1)) if len(observed) > 1 else 0.0
    quartiles = np.quantile(observed, [0.25, 0.5, 0.75]).tolist()
    return GroupSummary(n_missing, NumberSummary(float(observed.mean()), deviation, *quartiles), (), ())


def difference_of_numbers(x1: _Floats, x0: _Floats) -> float | None:
    """Standardised difference of means; None if neither group varies."""
    if min(len(x1), len(x0)) < 2:
        return None
    spread = float(np.sqrt((x1.var(ddof=1) + x0.var(ddof=1)) / 2))
    return float(x1.mean() - x0.mean()) / spread if spread > 0 else None


def difference_of_levels(p1: _Floats, p0: _Floats) -> float | None:
    """Standardised difference of the shares of levels, shape = (k,) each; None if it is infinite."""
    seen = (p1 + p0) > 0
    p1, p0 = p1[seen][1:], p0[seen][1:]
    if not len(p1):
        return 0.0
    gap = p1 - p0
    C = sum((np.diag(p) - np.outer(p, p) for p in (p1, p0)), np.zeros((len(p1), len(p1)))) / 2
    if np.linalg.matrix_rank(C) < len(C):
        return 0.0 if not gap.any() else None
    return float(np.sqrt(gap @ np.linalg.solve(C, gap)))
