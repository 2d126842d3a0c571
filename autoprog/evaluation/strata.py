"""Strata that folds and samples share evenly: outcome and, with event times, its time.

A measure until a horizon needs in every part patients with the event of interest by then, and patients followed beyond.
So there are strata for events by the first horizon, events by the last, follow-up beyond, and each way to be lost.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort import Cohort
from autoprog.space import event_strata

# With event times: event of interest by the first horizon, by the last and after it; other follow-up beyond the last;
# censored before it; codes above are competing causes before it.
_EARLY, _BY_LAST, _LATE, _BEYOND, _LOST = range(5)


def outcome_strata(cohort: Cohort, least: int) -> NDArray[np.int64]:
    """Stratum of every row; strata of fewer than `least` rows are joined to the next, or to the largest."""
    if cohort.time is None:
        return event_strata(cohort.y, least)
    first, last = cohort.horizons[0], cohort.horizons[-1]
    strata = np.where(cohort.y == 0, _LOST, _LOST + cohort.y.astype(np.int64) - 1)
    strata[cohort.time > last] = _BEYOND
    of_interest = cohort.y == 1
    strata[of_interest] = np.select([cohort.time <= first, cohort.time <= last], [_EARLY, _BY_LAST], _LATE)[of_interest]
    for small, into in ((_EARLY, _BY_LAST), (_LATE, _BEYOND), (_BEYOND, _LATE)):
        if (strata == small).sum() < least:
            strata[strata == small] = into
    return event_strata(strata, least)


def stratified_sample(strata: NDArray[np.int64], size: int, least: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Draw about `size` rows, ascending, in proportion to the strata, at least `least` (or all) of each."""
    chosen = []
    for stratum in np.unique(strata):
        rows = np.flatnonzero(strata == stratum)
        wanted = max(round(size * len(rows) / len(strata)), least)
        chosen.append(rng.choice(rows, min(wanted, len(rows)), replace=False))
    return np.sort(np.concatenate(chosen))
