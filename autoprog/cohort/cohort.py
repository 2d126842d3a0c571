"""The cohort: a matrix of features, an outcome a patient, and what the columns mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort.outcome import Binary
from autoprog.cohort.schema import Feature

Mode = Literal["classification", "survival"]


@dataclass(frozen=True, eq=False)
class Cohort:
    """Patients ready to learn from; nothing in it is imputed.

    Attributes
    ----------
    name : str
        As the client calls it.
    outcome : Binary
        What is predicted.
    features : tuple of Feature, length n_features
        The columns of `X`, in order.
    X : ndarray, shape = (n_patients, n_features)
        float64; NaN is a missing cell; codes of levels for kinds other than numeric.
    y : ndarray, shape = (n_patients,)
        int8; 1 for a patient with the outcome, 0 for one without.
    groups : ndarray, shape = (n_patients,), or None
        int64 codes of patients who must not be split over folds (a hospital, a family).
    """

    name: str
    outcome: Binary
    features: tuple[Feature, ...]
    X: NDArray[np.float64]
    y: NDArray[np.int8]
    groups: NDArray[np.int64] | None = None

    @property
    def mode(self) -> Mode:
        """The kind of outcome, as the API names it."""
        return "classification"

    @property
    def n_patients(self) -> int:
        """Number of patients with a known outcome."""
        return int(self.X.shape[0])

    @property
    def event_rate(self) -> float:
        """Share of patients with the outcome, in (0, 1)."""
        return float(self.y.mean())

    @property
    def has_missing(self) -> bool:
        """Whether any cell of `X` is missing."""
        return bool(np.isnan(self.X).any())
