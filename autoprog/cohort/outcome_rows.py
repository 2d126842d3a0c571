"""The rows of a file that have an outcome, in any mode."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort.outcome import Outcome
from autoprog.cohort.visits import VisitTable
from autoprog.errors import Fault

FEWEST_OF_A_CLASS = 5
"""Minimum number of patients with and without the outcome, at each horizon if there are any."""

MAX_MISSING = 0.5
"""Maximum share of rows without an outcome."""


@dataclass(frozen=True, eq=False)
class EarlierRows:
    """Visits without an outcome that are kept, as the windows of later visits include them."""

    rows: NDArray[np.intp]  # indices in the file, shape = (n_earlier,)
    visits: VisitTable  # with the patient codes of the visits that have an outcome


@dataclass(frozen=True, eq=False)
class OutcomeRows:
    """Rows with an outcome; `y`, `time` and `visits` are as in `Cohort`, without earlier visits."""

    outcome: Outcome | None  # None with faults
    rows: NDArray[np.intp]  # indices in the file, in the cohort's order, shape = (n_kept,)
    y: NDArray[np.int8]
    time: NDArray[np.float64] | None = None
    visits: VisitTable | None = None
    earlier: EarlierRows | None = None  # visits without an outcome that windows of `visits` include
    faults: tuple[Fault, ...] = ()
    warnings: tuple[str, ...] = ()

    @classmethod
    def refused(cls, faults: tuple[Fault, ...], n_rows: int) -> OutcomeRows:
        """Keep the faults and all rows without an outcome, so that faults of other columns are found too."""
        return cls(None, np.arange(n_rows), np.zeros(n_rows, dtype=np.int8), faults=faults)
