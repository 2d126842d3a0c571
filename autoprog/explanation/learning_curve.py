"""The score by number of patients that the ensemble is fitted to.

The members keep their settings and weights; a share of every training fold is drawn, by whole groups and with its share
of outcomes, each share within the next larger one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autoprog.explanation.refits import Refitting

SHARES = (0.25, 0.5, 0.75)
"""Shares of the training folds besides the whole."""


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """The score of an ensemble that was fitted to fewer patients.

    Attributes
    ----------
    n_patients : int
        Rows that it was fitted to, on average over the folds.
    estimate, lower, upper : float
        Its score and the interval, out of fold, in the metric's own direction.
    """

    n_patients: int
    estimate: float
    lower: float
    upper: float

    def to_json(self) -> dict[str, Any]:
        """JSON document for the API."""
        return {
            "n_patients": self.n_patients,
            "estimate": self.estimate,
            "lower": self.lower,
            "upper": self.upper,
        }


def shares_of(refitting: Refitting, share: float) -> Callable[[NDArray[np.intp]], NDArray[np.intp]]:
    """Draw a share of the rows of a training fold."""
    y, groups = refitting.cohort.y, refitting.cohort.groups

    def keep(rows: NDArray[np.intp]) -> NDArray[np.intp]:
        rng = np.random.default_rng([refitting.plan.seed, len(rows)])
        # One order for all shares, outcome by outcome, so that a smaller share lies within a larger one.
        units = rows if groups is None else groups[rows]
        kinds, of_row = np.unique(units, return_inverse=True)
        has_event = np.zeros(len(kinds), dtype=np.bool_)
        np.logical_or.at(has_event, of_row, y[rows] == 1)
        order = rng.permutation(len(kinds))
        kept = np.zeros(len(kinds), dtype=np.bool_)
        for outcome in (False, True):
            of_outcome = order[has_event[order] == outcome]
            kept[of_outcome[: max(1, round(share * len(of_outcome)))]] = True
        return rows[kept[of_row]]

    return keep
