"""Whose row of a cohort was seen when."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class VisitTable:
    """The visits that the rows of a cohort are, sorted by patient and then by time.

    Attributes
    ----------
    patient : ndarray, shape = (n_rows,)
        int64; ascending codes from 0, one a patient.
    time : ndarray, shape = (n_rows,)
        float64; when the visit was, ascending within a patient, in the unit of the file's column.
    """

    patient: NDArray[np.int64]
    time: NDArray[np.float64]

    @property
    def n_patients(self) -> int:
        """Number of different patients."""
        return len(np.unique(self.patient))

    def take(self, rows: NDArray[np.intp]) -> VisitTable:
        """The visits of some of the rows, which keep their patients' codes."""
        return VisitTable(self.patient[rows], self.time[rows])
