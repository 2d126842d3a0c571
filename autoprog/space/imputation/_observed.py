"""The observed cells of a table."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def observed_range(X: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Lowest and highest observed cell of each column; 0 if no cell is observed."""
    missing = np.isnan(X)
    empty = missing.all(axis=0)
    lowest = np.where(missing, np.inf, X).min(axis=0)
    highest = np.where(missing, -np.inf, X).max(axis=0)
    return np.where(empty, 0.0, lowest), np.where(empty, 0.0, highest)
