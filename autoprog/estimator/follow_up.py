"""The target of models of time to an event."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_consistent_length, column_or_1d


@dataclass(frozen=True, eq=False)
class Survival:
    """Follow-up of patients, as the target of `AutoPrognosis(mode="survival")`.

    Attributes
    ----------
    time : array-like, shape = (n_patients,)
        Time from the start to the event or to censoring, above 0, in the unit of the horizons.
    event : array-like, shape = (n_patients,)
        How the follow-up ended: 0 or False for censored, 1 or True for the event of interest, 2 and more for competing
        events.

    Raises
    ------
    ValueError
        If one of them is no column of numbers, their lengths differ, or a code is no whole number from 0.

    Examples
    --------
    >>> len(Survival(time=[12.5, 30.0], event=[1, 0]))
    2
    """

    time: ArrayLike
    event: ArrayLike

    def __post_init__(self) -> None:
        time = column_or_1d(np.asarray(self.time, dtype=np.float64))
        event = column_or_1d(np.asarray(self.event))
        check_consistent_length(time, event)
        codes = event.astype(np.int64)
        if (codes != event).any() or (codes < 0).any():
            msg = "event holds codes: 0 for censored, 1 for the event of interest, 2 and more for competing events"
            raise ValueError(msg)
        object.__setattr__(self, "time", time)
        object.__setattr__(self, "event", codes)

    def __len__(self) -> int:
        return len(np.asarray(self.time))
