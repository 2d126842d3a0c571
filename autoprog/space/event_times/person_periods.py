"""Patients as rows of the intervals that they were at risk in: what turns event times into yes and no.

=======  =======================================================================  ==============
symbol   meaning                                                                  shape
=======  =======================================================================  ==============
n, d     patients, columns                                                        scalars
y        outcomes: event code and time                                            (n,)
t        cuts, ascending: interval j is (t[j - 1], t[j]], the first from 0        (J,)
m        number of intervals in which a patient counts as at risk                 (n,)
i, j     patient and interval of each row of the pooled table                     (sum m,)
=======  =======================================================================  ==============

A patient who was censored within an interval counts as at risk in it from its middle on: he was for part of it, and
over many such patients for half of it. He who was censored later than the last cut had no event in any interval.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MIN_EVENTS = 5
"""Events of any cause in an interval; what has fewer is joined to the next."""


@dataclass(frozen=True, eq=False)
class PersonPeriods:
    """The pooled table's rows.

    Attributes
    ----------
    patient, interval : ndarray of int, shape = (n_rows,)
        i and j, patients one after another, each one's intervals ascending.
    event : ndarray of int8, shape = (n_rows,)
        Code of what happened in the interval; 0 for nothing.
    """

    patient: NDArray[np.intp]
    interval: NDArray[np.intp]
    event: NDArray[np.int8]

    @classmethod
    def of(cls, y: NDArray[np.void], t: NDArray[np.float64]) -> PersonPeriods:
        """Split follow-up at the cuts.

        Parameters
        ----------
        y : structured ndarray, shape = (n,)
            See `event_times`.
        t : ndarray, shape = (J,)
            Cuts, ascending, above 0.

        Returns
        -------
        PersonPeriods
            At most J rows a patient, none of one who was censored early in the first interval.
        """
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
    """Those of some times between which enough events lie.

    Parameters
    ----------
    y : structured ndarray, shape = (n,)
        Outcomes of the patients to learn from.
    times : ndarray, shape = (n_times,)
        Ascending, above 0.

    Returns
    -------
    ndarray, shape = (J,)
        The last of the times is always among them.
    """
    before = np.searchsorted(np.sort(y["time"][y["event"] != 0]), times, side="right")
    kept: list[float] = []
    counted = 0
    for time, count in zip(times[:-1].tolist(), before[:-1].tolist(), strict=True):
        if count - counted >= MIN_EVENTS and before[-1] - count >= MIN_EVENTS:
            kept.append(time)
            counted = count
    return np.array([*kept, times[-1]])


def with_interval(X: NDArray[np.float64], interval: NDArray[np.intp], n_intervals: int) -> NDArray[np.float64]:
    """Columns of the pooled table: the patient's, and for each cut but the last whether the interval lies beyond it.

    Linear learners get a baseline of their own for every interval from these, trees a split between any two.

    Parameters
    ----------
    X : ndarray, shape = (n_rows, d)
        The patients' columns, repeated.
    interval : ndarray of int, shape = (n_rows,)
        j.
    n_intervals : int
        J.

    Returns
    -------
    ndarray, shape = (n_rows, d + J - 1)
        float64.
    """
    d = X.shape[1]
    table = np.empty((len(X), d + n_intervals - 1))
    table[:, :d] = X
    table[:, d:] = interval[:, None] > np.arange(n_intervals - 1)
    return table
