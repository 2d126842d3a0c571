"""Meta-features of the outcome, and a label for most patients.

======  ====================================================================  ======  ==================
symbol  meaning                                                               shape   range
======  ====================================================================  ======  ==================
y       label: 1 with the outcome, 0 without; NaN where unknown               (n,)    {0, 1, NaN}
p       share of 1 among the known labels                                     scalar  [0, 1]
T, d    time under observation, code of what ended it                         (n,)    > 0, 0..
======  ====================================================================  ======  ==================

The label for times is the event of interest by the median time of these events. A patient who was censored before that
time has no label; a patient with a competing event has 0. This is coarse, and enough to describe a cohort.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort import Outcome
from autoprog.cohort.follow_up import median_follow_up

CENSORED, OF_INTEREST = 0, 1

DAYS_OF = {"day": 1.0, "week": 7.0, "month": 365.25 / 12, "year": 365.25, "hour": 1 / 24, "minute": 1 / 1440}
"""Days in each unit of time that a column's name may tell."""

_UNIT = re.compile(r"(?:^|[^a-z])(minute|hour|day|week|month|year)s?(?:$|[^a-z])")


@dataclass(frozen=True, eq=False)
class ObservedTimes:
    """Times under observation."""

    time: NDArray[np.float64]  # T, in units of `unit_days`, shape = (n,)
    event: NDArray[np.integer]  # d: 0 censored, 1 the event of interest, 2 and above competing events, shape = (n,)
    unit_days: float = 1.0

    def label(self) -> NDArray[np.float64]:
        """y, shape = (n,): whether the event of interest came by the median time of these events."""
        of_interest = self.event == OF_INTEREST
        if not of_interest.any():
            return np.where(self.event == CENSORED, np.nan, 0.0)
        median = 2.0 * np.median(self.time[of_interest] / 2.0)  # halved, so that the sum of two does not overflow
        early = self.time <= median
        y = np.where(of_interest & early, 1.0, 0.0)
        y[(self.event == CENSORED) & (self.time < median)] = np.nan
        return y

    def median_days(self) -> float:
        """Median follow-up in days by reverse Kaplan-Meier; the longest time if it is not reached."""
        median = median_follow_up(self.time, self.event != CENSORED)
        return min((float(self.time.max()) if median is None else median) * self.unit_days, sys.float_info.max)


def days_per_unit(name: str) -> float | None:
    """Days in the unit that a name tells, of a unit or a column such as `follow_up_months`; None if it tells none."""
    found = _UNIT.search(name.casefold())
    return DAYS_OF[found[1]] if found else None


def days_per_time(outcome: Outcome) -> float | None:
    """Days in the unit of an outcome's times, by `time_unit`, or else by the column's name; None if neither tells."""
    names = (outcome.time_unit or "", *outcome.target.timed_by)
    return next((days for name in names if (days := days_per_unit(name)) is not None), None)


def outcome_features(y: NDArray[np.float64], event_rate: float, n_columns: int, n_patients: int) -> dict[str, float]:
    """Describe the frequency of the outcome, and its events per column of the design matrix; a row may be a visit."""
    known = y[~np.isnan(y)]
    p = float(known.mean()) if len(known) else 0.0
    minority = min(p, 1.0 - p)
    entropy = -sum(q * np.log2(q) for q in (p, 1.0 - p) if q > 0)
    return {
        "event_rate": event_rate,
        "minority_share": minority,
        "outcome_entropy": float(entropy),
        "events_per_column": minority * len(known) * (n_patients / len(y)) / max(n_columns, 1),
    }
