"""Person-period data: patients as rows of the intervals in which they were at risk, with a binary outcome in each.

=======  =======================================================================  ==============
symbol   meaning                                                                  shape
=======  =======================================================================  ==============
n, d     patients, columns                                                        scalars
y        outcomes: event code and time                                            (n,)
t        cuts, ascending: interval j is (t[j - 1], t[j]], the first from 0        (J,)
m        number of intervals in which a patient counts as at risk                 (n,)
i, j     patient and interval of each row of the pooled table                     (sum m,)
=======  =======================================================================  ==============

A patient censored within an interval counts as at risk in it if censored after its midpoint: on average, such
patients are at risk for half of it. A patient followed beyond the last cut had no event in any interval.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MIN_EVENTS = 5
"""Fewest events of any cause in an interval; an interval with fewer is merged with the next."""


@dataclass(frozen=True, eq=False)
class PersonPeriods:
    """Rows of the pooled table, ordered by patient and interval."""

    patient: NDArray[np.intp]  # i
    interval: NDArray[np.intp]  # j
    event: NDArray[np.int8]  # event code in the interval; 0 for none

    @classmethod
    def of(cls, y: NDArray[np.void], t: NDArray[np.float64]) -> PersonPeriods:
        """Split follow-up at the cuts `t`: at most J rows per patient, none if censored early in the first interval."""
        ends_in = np.searchsorted(t, y["time"])
        failed = (y["event"] != 0) & (ends_in < len(t))
        last = np.minimum(ends_in, len(t) - 1)
        middle = (np.concatenate([[0.0], t])[last] + t[last]) / 2
        counts_at_last = failed | (y["time"] >= middle)
        m = last + counts_at_last
        patient = np.repeat(np.arange(len(y)), m)
        interval = np.arange(len(patient)) - np.repeat(np.cumsum(m) - m, m)
        event = np.where(failed[patient] & (interval == last[patient]), y["event"][patient], 0)
        return cls(patient, interval, event.astype(np.int8))


def cuts_with_events(y: NDArray[np.void], times: NDArray[np.float64]) -> NDArray[np.float64]:
    """Thin out `times` so that at least `MIN_EVENTS` events lie between two cuts; the last time always stays."""
    before = np.searchsorted(np.sort(y["time"][y["event"] != 0]), times, side="right")
    kept: list[float] = []
    counted = 0
    for time, count in zip(times[:-1].tolist(), before[:-1].tolist(), strict=True):
        if count - counted >= MIN_EVENTS and before[-1] - count >= MIN_EVENTS:
            kept.append(time)
            counted = count
    return np.array([*kept, times[-1]])


def with_interval(X: NDArray[np.float64], interval: NDArray[np.intp], n_intervals: int) -> NDArray[np.float64]:
    """Table of shape (n_rows, d + J - 1): the patient's columns, and an indicator beyond each cut but the last."""
    d = X.shape[1]
    table = np.empty((len(X), d + n_intervals - 1))
    table[:, :d] = X
    # These columns give a linear learner a baseline for every interval, and a tree a split between any two.
    table[:, d:] = interval[:, None] > np.arange(n_intervals - 1)
    return table
