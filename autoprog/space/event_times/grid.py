"""The times at which a search evaluates risk curves."""

from __future__ import annotations

import numpy as np

from autoprog.cohort import Cohort

_INTERVALS = 10


def time_grid(cohort: Cohort) -> tuple[float, ...]:
    """Times with about a tenth of the events of interest between them, horizons included.

    Pipelines give their curves at these times, classifiers learn the hazards between them, and the Brier score is
    integrated over them.

    Parameters
    ----------
    cohort : Cohort
        The whole cohort of a search.

    Returns
    -------
    tuple of float
        Ascending, ending with the last horizon; empty if the outcome has no time.
    """
    if cohort.time is None:
        return ()
    horizons = np.asarray(cohort.horizons)
    events = np.sort(cohort.time[(cohort.y == 1) & (cohort.time <= horizons[-1])])
    before = np.searchsorted(events, np.concatenate([[0.0], horizons]), side="right")
    times = set(horizons.tolist())
    for low, high in zip(before[:-1].tolist(), before[1:].tolist(), strict=True):
        parts = max(1, round(_INTERVALS * (high - low) / len(events)))
        inner = low + (high - low) * np.arange(1, parts) / parts
        times |= set(events[inner.astype(np.intp)].tolist())
    return tuple(sorted(times))
