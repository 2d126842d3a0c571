"""What the outcome's columns make of a file's rows, whatever the mode."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort.outcome import Outcome
from autoprog.cohort.visits import VisitTable
from autoprog.errors import Fault

FEWEST_OF_A_CLASS = 5
"""Patients with, and without, the outcome that a cohort needs at least, where there are horizons at each of them."""

MAX_MISSING = 0.5
"""Share of rows without an outcome that a cohort has at most."""


@dataclass(frozen=True, eq=False)
class EarlierRows:
    """Visits without an outcome that are kept, since windows of later visits hold them.

    Attributes
    ----------
    rows : ndarray, shape = (n_earlier,)
        Indices of the file's rows.
    visits : VisitTable
        Whose they are, by the codes of the visits with an outcome, and when they were.
    """

    rows: NDArray[np.intp]
    visits: VisitTable


@dataclass(frozen=True, eq=False)
class OutcomeRows:
    """The rows that have an outcome, and which.

    Attributes
    ----------
    outcome : Binary, TimeToEvent, Visits or None
        None where the columns cannot be an outcome.
    rows : ndarray, shape = (n_kept,)
        Indices of the file's rows, in the order of the cohort's.
    y : ndarray, shape = (n_kept,)
        int8; as in `Cohort`.
    time : ndarray, shape = (n_kept,), or None
        float64; as in `Cohort`.
    visits : VisitTable or None
        As in `Cohort`, without earlier ones.
    earlier : EarlierRows or None
        Visits without an outcome that those of `visits` look back on.
    faults : tuple of Fault
        Why they cannot be an outcome.
    warnings : tuple of str
        Which rows were dropped and why, and what else is doubtful.
    """

    outcome: Outcome | None
    rows: NDArray[np.intp]
    y: NDArray[np.int8]
    time: NDArray[np.float64] | None = None
    visits: VisitTable | None = None
    earlier: EarlierRows | None = None
    faults: tuple[Fault, ...] = ()
    warnings: tuple[str, ...] = ()

    @classmethod
    def refused(cls, faults: tuple[Fault, ...], n_rows: int) -> OutcomeRows:
        """No outcome: the faults, and all rows, so that faults of other columns are found too."""
        return cls(None, np.arange(n_rows), np.zeros(n_rows, dtype=np.int8), faults=faults)
