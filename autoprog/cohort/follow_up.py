"""Follow-up of a cohort: its length and its events.

Horizons that a cohort's follow-up supports.

Notation:

=========  =======================================================================  ==============  ==================
symbol     meaning                                                                  shape           unit
=========  =======================================================================  ==============  ==================
followed   follow-up of each patient, to an event or the censoring                  (n_patients,)   the file's time
events     times of the patients with the event of interest                         (n_events,)     the file's time
h          a horizon                                                                                the file's time
=========  =======================================================================  ==============  ==================

A measure at h weights patients by 1 / G, the inverse probability of being uncensored. It needs patients with the event
by h and, for G(h) > 0, patients followed beyond h: `FEWEST_OF_A_CLASS` of each, as for a binary outcome.

References
----------
Schemper M, Smith TL. A note on quantifying follow-up in studies of failure time. Control Clin Trials 1996;17:343-6.
Gerds TA, Schumacher M. Consistent estimation of the expected Brier score in general survival models with right-censored
event times. Biom J 2006;48:1029-40, condition A2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort.cohort import Cohort
from autoprog.cohort.messages import count_text
from autoprog.cohort.outcome_column import FEWEST_OF_A_CLASS


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


_ROUNDING = 1e-9  # of a product that is one half


def median_follow_up(time: NDArray[np.float64], event: NDArray[np.bool_]) -> float | None:
    """Median follow-up by the reverse Kaplan-Meier estimate; None if it stays above one half."""
    times, place = np.unique(time, return_inverse=True)
    censored = np.bincount(place, weights=~event, minlength=len(times))
    events = np.bincount(place, weights=event, minlength=len(times))
    # At equal times an event precedes a censoring.
    at_risk = np.cumsum((censored + events)[::-1])[::-1] - events
    survival = np.cumprod(1 - np.divide(censored, at_risk, out=np.zeros(len(times)), where=at_risk > 0))
    reached = np.flatnonzero(survival <= 0.5 + _ROUNDING)
    return float(times[reached[0]]) if len(reached) else None


_QUARTILES = (0.25, 0.5, 0.75)


def horizon_limit(followed: NDArray[np.float64]) -> float:
    """Time below which every horizon must lie; needs at least `FEWEST_OF_A_CLASS` patients."""
    return float(np.partition(followed, -FEWEST_OF_A_CLASS)[-FEWEST_OF_A_CLASS])


def horizon_fault(h: float, followed: NDArray[np.float64], events: NDArray[np.float64]) -> str | None:
    """Explain why a horizon cannot be used; None if it can. Needs at least `FEWEST_OF_A_CLASS` events."""
    n_events, n_beyond = int((events <= h).sum()), int((followed > h).sum())
    if n_beyond < FEWEST_OF_A_CLASS:
        beyond = "patient is" if n_beyond == 1 else "patients are"
        return (
            f"{h:g} is too far ahead: {n_beyond:,} {beyond} followed beyond it, at least {FEWEST_OF_A_CLASS} are "
            f"needed; a horizon must be below {horizon_limit(followed):g}"
        )
    if n_events < FEWEST_OF_A_CLASS:
        least = float(np.partition(events, FEWEST_OF_A_CLASS - 1)[FEWEST_OF_A_CLASS - 1])
        return (
            f"{h:g} is too early: {count_text(n_events, 'patient')} with the event of interest by then, at least "
            f"{FEWEST_OF_A_CLASS} are needed; a horizon must be {least:g} or later"
        )
    return None


def default_horizons(
    followed: NDArray[np.float64], events: NDArray[np.float64]
) -> tuple[tuple[float, ...], tuple[str, ...]]:
    """Usable quartiles of the event times, without repeats, and why the others cannot be used."""
    quartiles: Sequence[float] = np.unique(np.quantile(events, _QUARTILES)).tolist()
    reasons = {h: horizon_fault(h, followed, events) for h in quartiles}
    return tuple(h for h in quartiles if reasons[h] is None), tuple(reason for reason in reasons.values() if reason)
