"""The outcome as meta-features see it: a label for most patients, and what time adds.

======  ====================================================================  ======  ==================
symbol  meaning                                                               shape   range
======  ====================================================================  ======  ==================
y       label: 1 with the outcome, 0 without; NaN where nobody can say        (n,)    {0, 1, NaN}
p       share of 1 among the known labels                                     scalar  [0, 1]
T, d    time under observation, code of what ended it                         (n,)    > 0, 0..
G(t)    probability to be under observation still, had there been no event    steps   [0, 1]
======  ====================================================================  ======  ==================

A label for times: the event of interest by the median time of these events. Who was under observation for less, without
any event, has no label; a competing event is none of interest. This is coarse, and enough to describe a cohort.

References
----------
Schemper & Smith 1996, Control. Clin. Trials 17:343-346 (median follow-up).
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

CENSORED, OF_INTEREST = 0, 1

DAYS_OF = {"day": 1.0, "week": 7.0, "month": 365.25 / 12, "year": 365.25, "hour": 1 / 24, "minute": 1 / 1440}
"""Days of the units of time that the name of a column may tell."""

_UNIT = re.compile(r"(?:^|[^a-z])(minute|hour|day|week|month|year)s?(?:$|[^a-z])")


@dataclass(frozen=True, eq=False)
class ObservedTimes:
    """Times under observation.

    Attributes
    ----------
    time : ndarray, shape = (n,)
        T, at least 0, in `unit_days`.
    event : ndarray of int, shape = (n,)
        d: 0 censored, 1 the event of interest, 2 and above competing ones.
    unit_days : float
        Days that a unit of `time` has.
    """

    time: NDArray[np.float64]
    event: NDArray[np.integer]
    unit_days: float = 1.0

    def label(self) -> NDArray[np.float64]:
        """Whether the event of interest came by the median time of these events, shape = (n,); NaN where unknown."""
        of_interest = self.event == OF_INTEREST
        if not of_interest.any():
            return np.where(self.event == CENSORED, np.nan, 0.0)
        median = 2.0 * np.median(self.time[of_interest] / 2.0)  # the sum of two halves is a number
        early = self.time <= median
        y = np.where(of_interest & early, 1.0, 0.0)
        y[(self.event == CENSORED) & (self.time < median)] = np.nan
        return y

    def median_days(self) -> float:
        """Median time under observation by reverse Kaplan-Meier; the longest one where G stays above one half.

        Returns
        -------
        float
            In days, at most the largest number that there is.
        """
        times, place = np.unique(self.time, return_inverse=True)
        ended = np.bincount(place, weights=self.event == CENSORED, minlength=len(times))
        events = np.bincount(place, weights=self.event != CENSORED, minlength=len(times))
        # At the same time events come first: who has one is no longer at risk of being censored.
        left = np.cumsum((ended + events)[::-1])[::-1]
        G = np.cumprod(1.0 - ended / np.maximum(left - events, 1.0))
        reached = np.flatnonzero(G <= 0.5)
        median = float(times[reached[0] if len(reached) else -1])
        return min(median * self.unit_days, sys.float_info.max)


def days_per_unit(column: str) -> float | None:
    """Days that a unit of time has, by the name of its column.

    Parameters
    ----------
    column : str
        Such as `days`, `follow_up_months`, `time`.

    Returns
    -------
    float or None
        None where the name does not tell.
    """
    found = _UNIT.search(column.casefold())
    return DAYS_OF[found[1]] if found else None


def outcome_features(y: NDArray[np.float64], event_rate: float, n_columns: int) -> dict[str, float]:
    """How often the outcome is, and how much of it there is a column.

    Parameters
    ----------
    y : ndarray, shape = (n,)
        Labels; NaN where unknown.
    event_rate : float
        Share of all patients with the outcome.
    n_columns : int
        Columns of the design matrix.

    Returns
    -------
    dict
        Name of a meta-feature -> value.
    """
    known = y[~np.isnan(y)]
    p = float(known.mean()) if len(known) else 0.0
    minority = min(p, 1.0 - p)
    entropy = -sum(q * np.log2(q) for q in (p, 1.0 - p) if q > 0)
    return {
        "event_rate": event_rate,
        "minority_share": minority,
        "outcome_entropy": float(entropy),
        "events_per_column": minority * len(known) / max(n_columns, 1),
    }
