"""Which horizons a cohort's follow-up bears.

Notation:

=========  =======================================================================  ==============  ==================
symbol     meaning                                                                  shape           unit
=========  =======================================================================  ==============  ==================
followed   how long each patient was followed, to an event or the censoring         (n_patients,)   the file's own time
events     the times of those patients who had the event of interest                (n_events,)     the file's own time
h          a horizon                                                                                the file's own time
=========  =======================================================================  ==============  ==================

A measure at h weighs patients by the inverse of the probability of not being censored, G. It needs patients who had the
event by h, and, for G(h) to be above 0, patients who are followed beyond h. Both are asked for: `FEWEST_OF_A_CLASS` of
each, as of a binary outcome.

References
----------
Gerds TA, Schumacher M. Consistent estimation of the expected Brier score in general survival models with right-censored
event times. Biom J 2006;48:1029-40, condition A2.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort.messages import count_text
from autoprog.cohort.outcome_rows import FEWEST_OF_A_CLASS

_QUARTILES = (0.25, 0.5, 0.75)


def horizon_limit(followed: NDArray[np.float64]) -> float:
    """The time that every horizon must lie below.

    Parameters
    ----------
    followed : ndarray, shape = (n_patients,)
        How long each patient was followed; at least `FEWEST_OF_A_CLASS` patients.

    Returns
    -------
    float
        The longest time such that enough patients are followed beyond any earlier one.
    """
    return float(np.partition(followed, -FEWEST_OF_A_CLASS)[-FEWEST_OF_A_CLASS])


def horizon_fault(h: float, followed: NDArray[np.float64], events: NDArray[np.float64]) -> str | None:
    """Why a horizon cannot be used.

    Parameters
    ----------
    h : float
        The horizon.
    followed : ndarray, shape = (n_patients,)
        How long each patient was followed.
    events : ndarray, shape = (n_events,)
        Times of the event of interest; at least `FEWEST_OF_A_CLASS`.

    Returns
    -------
    str or None
        With the counts and the bounds; None for a horizon that can be used.
    """
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
    """The quartiles of the observed times of the event of interest.

    Parameters
    ----------
    followed : ndarray, shape = (n_patients,)
        How long each patient was followed.
    events : ndarray, shape = (n_events,)
        Times of the event of interest; at least `FEWEST_OF_A_CLASS`.

    Returns
    -------
    horizons : tuple of float
        Those quartiles that can be used; equal ones once.
    left_out : tuple of str
        Why the others cannot.
    """
    quartiles: Sequence[float] = np.unique(np.quantile(events, _QUARTILES)).tolist()
    reasons = {h: horizon_fault(h, followed, events) for h in quartiles}
    return tuple(h for h in quartiles if reasons[h] is None), tuple(reason for reason in reasons.values() if reason)
