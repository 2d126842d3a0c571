"""Whether patients on whom a model is measured are those that it was fitted on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from autoprog.cohort import Cohort
from autoprog.model.members import ModelMetadata

# Rows alike by chance are expected as often as the training rows are alike among themselves.
_MARGIN = 0.1
_MIN_FEATURES = 3  # rows of fewer common features are alike by chance too often

_TOO_GOOD = "the results below are too good and say nothing of other patients"


@dataclass(frozen=True, slots=True)
class TrainingOverlap:
    """Share of a cohort's rows that are training rows."""

    share: float | None  # None if the training cohorts are unknown, or have too few features in common with this one
    is_training: bool
    warnings: tuple[str, ...] = ()


def compare_with_training(metadata: ModelMetadata, cohort: Cohort, training: Sequence[Cohort]) -> TrainingOverlap:
    """Compare the rows, by their common features and the outcome; without training rows, size and event rate."""
    found = [shares for each in training if (shares := _shares(cohort, each)) is not None]
    if not found:
        alike = metadata.n_patients == cohort.n_patients and np.isclose(metadata.event_rate, cohort.event_rate, 1e-9)
        if not alike:
            return TrainingOverlap(None, is_training=False)
        text = f"as many patients and events as in the training cohort: if this is the same cohort, {_TOO_GOOD}"
        return TrainingOverlap(None, is_training=False, warnings=(text,))
    share, by_chance = max(found, key=lambda shares: shares[0] - shares[1])
    if share - by_chance <= _MARGIN:
        return TrainingOverlap(share, is_training=False)
    text = f"{share:.0%} of the rows are rows that the model was fitted on: {_TOO_GOOD}"
    return TrainingOverlap(share, is_training=True, warnings=(text,))


def _shares(cohort: Cohort, training: Cohort) -> tuple[float, float] | None:
    """Share of the cohort's rows that are training rows, and of the training rows that have a double."""
    cohort, training = cohort.unweighted, training.unweighted  # copies of a patient are no chance doubles
    names = sorted({f.name for f in cohort.features} & {f.name for f in training.features})
    if len(names) < _MIN_FEATURES:
        return None
    here, there = _rows(cohort, names), Counter(_rows(training, names))
    doubles = sum(n for n in there.values() if n > 1)
    return sum(row in there for row in here) / len(here), doubles / training.n_rows


def _rows(cohort: Cohort, names: Sequence[str]) -> list[bytes]:
    """Return each row as bytes; levels by their texts, since two cohorts may code them differently."""
    places = {feature.name: j for j, feature in enumerate(cohort.features)}
    columns = [_texts(cohort, places[name]) for name in names]
    columns.append(np.where(cohort.y == 1, b"1", b"0"))
    columns += [np.array([repr(float(t)).encode() for t in cohort.outcomes["time"]]) for _ in cohort.target.timed_by]
    return [b"\0".join(map(bytes, row)) for row in zip(*columns, strict=True)]


def _texts(cohort: Cohort, place: int) -> np.ndarray:
    x, levels = cohort.X[:, place], cohort.features[place].levels
    if not levels:
        return np.array([b"" if np.isnan(value) else repr(float(value)).encode() for value in x])
    coded = np.array([*(level.encode() for level in levels), b""])
    return coded[np.where(np.isnan(x), len(levels), x).astype(np.intp)]
