"""What parts of a cohort, folds or a sample, are to share evenly: how patients fared, and of event times when.

A measure until a horizon needs, in every part that it is taken of, patients with the event of interest by then and
patients who are followed beyond. Events by the first horizon, further ones by the last, what comes after it, and by
cause what ends a follow-up before it, are strata of their own.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort import Cohort
from autoprog.space import event_strata

# Of event times: the event of interest by the first horizon and by the last, of whom is followed beyond the last those
# who have the event then and all others; after these whoever was lost before, then the competing causes.
_EARLY, _BY_LAST, _LATE, _BEYOND, _LOST = range(5)


def outcome_strata(cohort: Cohort, least: int) -> NDArray[np.int64]:
    """The stratum of every row.

    Parameters
    ----------
    cohort : Cohort
        With horizons, where it has times.
    least : int
        Rows that a stratum has at least; smaller ones are joined to the next, or to the largest.

    Returns
    -------
    ndarray of int, shape = (n_rows,)
        Codes.
    """
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
    """A random sample that keeps the shares of the strata.

    Parameters
    ----------
    strata : ndarray of int, shape = (n,)
        Of every row.
    size : int
        Rows to choose, at most n; more are chosen where `least` asks for more.
    least : int
        Rows of a stratum that are chosen at least, or all that it has.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    ndarray of int, shape = (about size,)
        Ascending.
    """
    chosen = []
    for stratum in np.unique(strata):
        rows = np.flatnonzero(strata == stratum)
        wanted = max(round(size * len(rows) / len(strata)), least)
        chosen.append(rng.choice(rows, min(wanted, len(rows)), replace=False))
    return np.sort(np.concatenate(chosen))
