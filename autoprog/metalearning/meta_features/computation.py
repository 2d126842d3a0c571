"""All meta-features of a cohort, the same on every machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from autoprog.cohort import Cohort, Feature
from autoprog.metalearning.meta_features.catalogue import COUNTED, COUNTED_IN_SAMPLE, META_FEATURES, STATISTICAL
from autoprog.metalearning.meta_features.information import (
    correlation_features,
    information_features,
    missingness_features,
    moment_features,
    size_features,
)
from autoprog.metalearning.meta_features.landmarks import landmark_features
from autoprog.metalearning.meta_features.outcome import (
    OF_INTEREST,
    ObservedTimes,
    days_per_time,
    outcome_features,
)
from autoprog.metalearning.meta_features.recognition import clinical_groups, group_shares, time_features
from autoprog.space.design_matrix import n_columns


@dataclass(frozen=True, slots=True)
class MetaFeatures:
    """The description of a cohort in 55 numbers; `values` are in the order of `META_FEATURES`."""

    values: tuple[float, ...]

    @classmethod
    def of(cls, values: Mapping[str, float]) -> MetaFeatures:
        """Build from the values of all 55 names; ValueError lists lacking or unknown names."""
        known = [m.name for m in META_FEATURES]
        if wrong := sorted(set(known) ^ set(values)):
            msg = f"meta-features must be the {len(known)} of the table; lacking or unknown: {', '.join(wrong)}"
            raise ValueError(msg)
        return cls(tuple(values[name] for name in known))

    @property
    def names(self) -> tuple[str, ...]:
        """Names, in order, length 55."""
        return tuple(m.name for m in META_FEATURES)

    @property
    def of_patients(self) -> tuple[float, ...]:
        """Values that tell a copy of a cohort; with its rows in another order only if no sample was drawn."""
        # Not the moments: rounding, which depends on the order, decides whether a value lies on the fence of outliers.
        values = self.to_dict()
        n_rows = values["n_patients"] * max(values["visits_per_patient"], 1.0)
        if n_rows > _sample_size(int(values["n_features"])):
            # A sample is another in another order, and what is counted in all rows tells too few cohorts apart.
            return tuple(values[name] for name in STATISTICAL)
        return tuple(values[name] for name in (*COUNTED, *COUNTED_IN_SAMPLE))

    def to_array(self) -> NDArray[np.float64]:
        """Values, shape = (55,)."""
        return np.array(self.values)

    def to_dict(self) -> dict[str, float]:
        """Map names to values, in order; the inverse of `of`."""
        return dict(zip(self.names, self.values, strict=True))


MAX_ROWS, MIN_ROWS, MAX_CELLS = 10_000, 1_000, 1_000_000
"""Sample 1,000 to 10,000 rows, aiming for 1,000,000 cells."""

_SEED = 0
_DIGITS = 6  # significant digits, which rounding in sums cannot reach


def meta_features(cohort: Cohort) -> MetaFeatures:
    """Compute the meta-features of a cohort; times of an unknown unit count as days."""
    outcome: NDArray[np.int8] | ObservedTimes = cohort.y
    if cohort.target.timed_by:
        outcome = ObservedTimes(cohort.outcomes["time"], cohort.y, days_per_time(cohort.outcome) or 1.0)
    patient = None if cohort.visits is None else cohort.visits.patient
    return describe(cohort.features, cohort.X, outcome, patient=patient)


def describe(
    features: Sequence[Feature],
    X: NDArray[np.float64],
    outcome: NDArray[np.integer] | ObservedTimes,
    *,
    patient: NDArray[np.integer] | None = None,
) -> MetaFeatures:
    """Compute the meta-features of plain arrays, for every kind of outcome.

    Parameters
    ----------
    features : sequence of Feature, length n_features
        The columns.
    X : ndarray, shape = (n, n_features)
        One row per patient, or a visit if patients have visits; NaN is missing.
    outcome : ndarray of int, shape = (n,), or ObservedTimes of n rows
        0 and 1, or times under observation.
    patient : ndarray of int, shape = (n,), or None
        The patient of each visit; None without visits.

    Returns
    -------
    MetaFeatures
        All 55.
    """
    follow_up = outcome if isinstance(outcome, ObservedTimes) else None
    y = outcome.label() if isinstance(outcome, ObservedTimes) else outcome.astype(np.float64)
    event_rate = float(np.mean(outcome.event == OF_INTEREST if isinstance(outcome, ObservedTimes) else outcome))
    columns = sum(n_columns(f) for f in features)
    visits: NDArray[np.integer] | None = None
    alone = y
    if patient is not None:
        # Landmarks see each patient's first row, so that no patient is both in training and held out.
        _, first, visits = np.unique(patient, return_index=True, return_counts=True)
        alone = np.full(len(y), np.nan)
        alone[first] = y[first]
    n_patients = len(X) if visits is None else len(visits)
    values = {
        **size_features(features, X, n_patients, columns),
        **outcome_features(y, event_rate, columns, n_patients),
        **missingness_features(X, y),
        **_sampled_features(features, X, y, alone),
        **group_shares(clinical_groups(features)),
        **time_features(follow_up, visits),
    }
    return MetaFeatures.of({name: float(f"{value:.{_DIGITS}g}") for name, value in values.items()})


def _sampled_features(
    features: Sequence[Feature], X: NDArray[np.float64], y: NDArray[np.float64], alone: NDArray[np.float64]
) -> dict[str, float]:
    # A sample bounds the time and changes these little. A fixed seed, one thread and rounding make them reproducible.
    rng = np.random.default_rng(_SEED)
    with threadpool_limits(1):
        landmarks = landmark_features(features, X, alone, rng)
        rows = _sample(len(X), X.shape[1], rng)
        sample, labels = X[rows], y[rows]
        numeric = np.array([f.kind == "numeric" for f in features], dtype=bool)
        ordered = np.array([f.kind != "categorical" for f in features], dtype=bool)
        return {
            **landmarks,
            **moment_features(sample[:, numeric]),
            **correlation_features(sample[:, ordered]),
            **information_features(features, sample, labels),
        }


def _sample(n: int, d: int, rng: np.random.Generator) -> NDArray[np.intp] | slice:
    size = _sample_size(d)
    return slice(None) if n <= size else np.sort(rng.choice(n, size, replace=False, shuffle=False))


def _sample_size(d: int) -> int:
    return int(np.clip(MAX_CELLS // max(d, 1), MIN_ROWS, MAX_ROWS))
