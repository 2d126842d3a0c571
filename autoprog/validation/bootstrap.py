"""Bootstrap samples of patients to fit a model to."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_MIN_OF_EACH = 2


def bootstrap_rows(
    y: NDArray[np.integer], groups: NDArray[np.integer] | None, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Draw as many patients as there are, with replacement; or as many groups, each with all its patients.

    Parameters
    ----------
    y : ndarray, shape = (n,)
        Outcomes; at least 2 patients each with 1 and with another.
    groups : ndarray of int, shape = (n,), or None
        Rows that must be drawn together.
    rng : numpy.random.Generator
        Draws them.

    Returns
    -------
    ndarray of int
        Row numbers. A sample that holds fewer than 2 rows with 1, or with another outcome, is drawn anew.
    """
    distinct, of_row = np.unique(np.arange(len(y)) if groups is None else groups, return_inverse=True)
    by_unit = np.argsort(of_row, kind="stable")
    ends = np.cumsum(np.bincount(of_row))
    members = np.split(by_unit, ends[:-1])
    while True:
        drawn = rng.integers(len(distinct), size=len(distinct))
        rows = drawn if groups is None else np.concatenate([members[unit] for unit in drawn])
        events = int(np.count_nonzero(y[rows] == 1))
        if min(events, len(rows) - events) >= _MIN_OF_EACH:
            return rows
