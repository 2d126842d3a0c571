"""Whose row of a cohort was seen when."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class EarlierVisits:
    """Visits without an outcome of their own that later ones look back on.

    Attributes
    ----------
    X : ndarray, shape = (n_earlier, n_features)
        float64; their cells, with the features of the cohort.
    patient : ndarray, shape = (n_earlier,)
        int64; codes of patients who have a row in the cohort, too.
    time : ndarray, shape = (n_earlier,)
        float64; when the visit was.
    """

    X: NDArray[np.float64]
    patient: NDArray[np.int64]
    time: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class VisitTable:
    """The visits that the rows of a cohort are, sorted by patient and then by time.

    Attributes
    ----------
    patient : ndarray, shape = (n_rows,)
        int64; ascending codes from 0, one a patient.
    time : ndarray, shape = (n_rows,)
        float64; when the visit was, ascending within a patient, in the unit of the file's column.
    earlier : EarlierVisits or None
        What is looked back on beside them; None where every visit has an outcome, and once windows are made.
    """

    patient: NDArray[np.int64]
    time: NDArray[np.float64]
    earlier: EarlierVisits | None = None

    @property
    def n_patients(self) -> int:
        """Number of different patients."""
        return len(np.unique(self.patient))

    def take(self, rows: NDArray[np.intp]) -> VisitTable:
        """The visits of some of the rows, which keep their patients' codes."""
        return VisitTable(self.patient[rows], self.time[rows], self.earlier)
