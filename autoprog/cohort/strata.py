"""Strata of patients, and samples that keep their shares."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def stratified_rows(y: NDArray[Any] | None, n_patients: int, size: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Rows of a random subsample that keeps the share of events.

    Parameters
    ----------
    y : ndarray, shape = (n_patients,), or None
        0 and 1, or structured with the event first: true, or 1 for the event of interest. Other values and None are
        not stratified.
    n_patients : int
        Rows to choose from.
    size : int
        Rows to choose, at least 2 and at most `n_patients`.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    ndarray of int, shape = (size,)
        Ascending; both outcomes are present if both were.
    """
    if y is not None and y.dtype.names:
        y = y[y.dtype.names[0]] == 1
    if y is None or not np.isin(y, (0, 1)).all():
        return np.sort(rng.choice(n_patients, size, replace=False))
    events, others = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
    n_events = int(np.clip(round(size * len(events) / n_patients), min(1, len(events)), size - min(1, len(others))))
    n_events = min(max(n_events, size - len(others)), len(events))
    chosen = [rng.choice(events, n_events, replace=False), rng.choice(others, size - n_events, replace=False)]
    return np.sort(np.concatenate(chosen))


def event_strata(event: NDArray[np.integer], folds: int) -> NDArray[np.int64]:
    """Strata of the folds: the event codes, with codes rarer than the number of folds merged into the most frequent.

    Parameters
    ----------
    event : ndarray of int, shape = (n_patients,)
        Event codes.
    folds : int
        Number of folds.

    Returns
    -------
    ndarray of int, shape = (n_patients,)
        Each distinct value has at least `folds` patients, if any code has.
    """
    strata = event.astype(np.int64)
    counts = np.bincount(strata)
    strata[counts[strata] < folds] = counts.argmax()
    return strata


def stratified_sample(strata: NDArray[np.int64], size: int, least: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Draw about `size` rows, ascending, in proportion to the strata, at least `least` (or all) of each."""
    chosen = []
    for stratum in np.unique(strata):
        rows = np.flatnonzero(strata == stratum)
        wanted = max(round(size * len(rows) / len(strata)), least)
        chosen.append(rng.choice(rows, min(wanted, len(rows)), replace=False))
    return np.sort(np.concatenate(chosen))
