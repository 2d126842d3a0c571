"""Follow-up of a cohort: its length and its events.

References
----------
Schemper M, Smith TL. A note on quantifying follow-up in studies of failure time. Control Clin Trials 1996;17:343-6.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort.cohort import Cohort


@dataclass(frozen=True, slots=True)
class FollowUpSummary:
    """Follow-up of a cohort, each patient counted once, in mode `temporal` from the first visit.

    Attributes
    ----------
    events : dict of str to int
        Value of the event column -> patients with that event, the event of interest first.
    n_censored : int
        Patients without an event.
    person_time : float
        Sum of the times, in the unit of the file's column.
    median : float or None
        Median follow-up by the reverse Kaplan-Meier estimate; None if too few are censored to reach it.
    """

    events: dict[str, int]
    n_censored: int
    person_time: float
    median: float | None


def follow_up(cohort: Cohort) -> FollowUpSummary | None:
    """Describe the follow-up of a cohort.

    Parameters
    ----------
    cohort : Cohort
        Patients or their visits.

    Returns
    -------
    FollowUpSummary or None
        None for an outcome without a time.
    """
    outcome = cohort.time_to_event
    if outcome is None or cohort.time is None:
        return None
    time, y = cohort.time, cohort.y
    if cohort.visits is not None:
        first = np.flatnonzero(np.diff(cohort.visits.patient, prepend=-1))
        time, y = time[first], y[first]
    counts = np.bincount(y, minlength=outcome.n_causes + 1).tolist()
    events = dict(zip(outcome.causes, counts[1:], strict=True))
    return FollowUpSummary(events, counts[0], float(time.sum()), median_follow_up(time, y > 0))


def median_follow_up(time: NDArray[np.float64], event: NDArray[np.bool_]) -> float | None:
    """Median follow-up by the reverse Kaplan-Meier estimate; None if it stays above one half."""
    times, place = np.unique(time, return_inverse=True)
    censored = np.bincount(place, weights=~event, minlength=len(times))
    events = np.bincount(place, weights=event, minlength=len(times))
    # At equal times an event precedes a censoring.
    at_risk = np.cumsum((censored + events)[::-1])[::-1] - events
    survival = np.cumprod(1 - np.divide(censored, at_risk, out=np.zeros(len(times)), where=at_risk > 0))
    reached = np.flatnonzero(survival <= 0.5)
    return float(times[reached[0]]) if len(reached) else None
