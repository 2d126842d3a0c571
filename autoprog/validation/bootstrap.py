"""Bootstrap samples of patients."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_MIN_OF_EACH = 2


def bootstrap_rows(
    y: NDArray[np.integer], groups: NDArray[np.integer] | None, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Draw n rows, or as many groups, with replacement; y must hold 1 at least twice, and other values twice."""
    distinct, of_row = np.unique(np.arange(len(y)) if groups is None else groups, return_inverse=True)
    by_unit = np.argsort(of_row, kind="stable")
    ends = np.cumsum(np.bincount(of_row))
    members = np.split(by_unit, ends[:-1])
    while True:
        drawn = rng.integers(len(distinct), size=len(distinct))
        rows = drawn if groups is None else np.concatenate([members[unit] for unit in drawn])
        events = int(np.count_nonzero(y[rows] == 1))
        if min(events, len(rows) - events) >= _MIN_OF_EACH:  # else it is drawn again
            return rows
