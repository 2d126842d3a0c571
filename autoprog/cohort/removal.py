"""Remove a patient from a cohort, with all that the columns' descriptions say of that patient's values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort.cohort import Cohort
from autoprog.cohort.follow_up import horizon_fault
from autoprog.cohort.outcome_column import FEWEST_OF_A_CLASS
from autoprog.cohort.schema import Feature
from autoprog.cohort.visits import EarlierVisits, VisitTable


def without_rows(cohort: Cohort, removed: NDArray[np.bool_]) -> Cohort | None:
    """Remove a patient's rows.

    Parameters
    ----------
    cohort : Cohort
        A cohort as it was stored, not sampled.
    removed : ndarray, shape = (n_rows + n_earlier,)
        Rows to remove: those of the cohort, then earlier visits.

    Returns
    -------
    Cohort or None
        The other patients. Levels that only the removed rows had are gone, unless their order was declared, and so is a
        feature that is left with fewer than two values. None if the rest would not be accepted as a cohort.
    """
    kept = ~removed
    n = cohort.n_rows
    earlier = None if cohort.visits is None else cohort.visits.earlier
    X = cohort.X[kept[:n]]
    earlier_X = None if earlier is None else earlier.X[kept[n:]]
    everything = X if earlier_X is None else np.concatenate([X, earlier_X])
    described = [_describe(feature, everything[:, j]) for j, feature in enumerate(cohort.features)]
    features = tuple(each[0] for each in described if each is not None)
    if not features:
        return None
    table = np.column_stack([each[1] for each in described if each is not None])
    rest = replace(
        cohort.take(np.flatnonzero(kept[:n])),
        features=features,
        X=table[: len(X)],
        groups=None if cohort.groups is None else _codes(cohort.groups[kept[:n]]),
        visits=_visits(cohort, kept, table[len(X) :]),
        sampled=None if cohort.sampled is None else _codes(cohort.sampled[kept[:n]]),
    )
    return rest if _is_large_enough(rest, cohort) else None


def _describe(feature: Feature, x: NDArray[np.float64]) -> tuple[Feature, NDArray[np.float64]] | None:
    """Describe a feature by its remaining values, and code these anew; None if fewer than two values are left."""
    observed = x[~np.isnan(x)]
    values = np.unique(observed)
    if len(values) < 2:
        return None
    missing_fraction = 1 - len(observed) / len(x)
    if feature.kind == "numeric":
        low, high = float(values[0]), float(values[-1])
        return replace(feature, missing_fraction=missing_fraction, minimum=low, maximum=high), x
    if feature.kind == "ordinal":
        return replace(feature, missing_fraction=missing_fraction), x
    levels = tuple(feature.levels[int(code)] for code in values)
    codes = np.where(np.isnan(x), np.nan, np.searchsorted(values, np.nan_to_num(x)))
    return replace(feature, missing_fraction=missing_fraction, levels=levels), codes


def _visits(cohort: Cohort, kept: NDArray[np.bool_], earlier_X: NDArray[np.float64]) -> VisitTable | None:
    """Visits of the remaining patients, renumbered without gaps."""
    visits = cohort.visits
    if visits is None:
        return None
    n = cohort.n_rows
    patients = np.unique(visits.patient[kept[:n]])
    earlier = None
    if visits.earlier is not None and len(earlier_X):
        of_patients = np.searchsorted(patients, visits.earlier.patient[kept[n:]]).astype(np.int64)
        earlier = EarlierVisits(earlier_X, of_patients, visits.earlier.time[kept[n:]])
    return VisitTable(_codes(visits.patient[kept[:n]]), visits.time[kept[:n]], earlier)


def _codes(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Renumber without gaps, in the same order."""
    codes: NDArray[np.int64] = np.unique(values, return_inverse=True)[1].astype(np.int64)
    return codes


def _is_large_enough(cohort: Cohort, before: Cohort) -> bool:
    """Check what reading a file checks: two groups, and patients with each outcome, event and horizon."""
    if cohort.groups is not None and len(np.unique(cohort.groups)) < 2:
        return False
    cohort = cohort.unweighted
    patient = np.arange(cohort.n_rows) if cohort.visits is None else cohort.visits.patient
    if cohort.time is None:
        return all(len(np.unique(patient[cohort.y == label])) >= FEWEST_OF_A_CLASS for label in (0, 1))
    first = np.flatnonzero(np.diff(patient, prepend=-1))
    last = np.append(first[1:], cohort.n_rows) - 1
    counts = np.bincount(cohort.y[first], minlength=cohort.n_causes + 1)
    # A competing event may have had no patient: its rows lacked a time.
    if counts[1] < FEWEST_OF_A_CLASS or not set(before.y.tolist()) <= {0, *cohort.y.tolist()}:
        return False
    events = cohort.time[last][cohort.y[last] == 1]
    return all(horizon_fault(h, cohort.time[first], events) is None for h in cohort.horizons)
