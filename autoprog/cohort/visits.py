"""Patients and times of a cohort's visits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class EarlierVisits:
    """Visits without an outcome that the windows of later ones include.

    Attributes
    ----------
    X : ndarray, shape = (n_earlier, n_features)
        float64; the cohort's features.
    patient : ndarray, shape = (n_earlier,)
        int64; codes of patients who also have a row in the cohort.
    time : ndarray, shape = (n_earlier,)
        float64; times of the visits.
    """

    X: NDArray[np.float64]
    patient: NDArray[np.int64]
    time: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class VisitTable:
    """The visits that are a cohort's rows, sorted by patient and then by time.

    Attributes
    ----------
    patient : ndarray, shape = (n_rows,)
        int64; ascending codes from 0, one per patient.
    time : ndarray, shape = (n_rows,)
        float64; times of the visits, ascending within a patient, in the unit of the file's column.
    earlier : EarlierVisits or None
        Further visits in the windows; None if every visit has an outcome, and once windows are made.
    """

    patient: NDArray[np.int64]
    time: NDArray[np.float64]
    earlier: EarlierVisits | None = None

    @property
    def n_patients(self) -> int:
        """Number of different patients."""
        return len(np.unique(self.patient))

    def take(self, rows: NDArray[np.intp]) -> VisitTable:
        """Select rows; patients keep their codes."""
        return VisitTable(self.patient[rows], self.time[rows], self.earlier)
