"""Horizons that a cohort's follow-up supports.

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
