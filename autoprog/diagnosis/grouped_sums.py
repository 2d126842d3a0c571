"""Sums of weights by code."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def sums_by_code(codes: NDArray[np.int64], weights: NDArray[np.float64], size: int = 0) -> NDArray[np.float64]:
    """Sum the weights of each code (from 0); the result has length max(size, 1 + largest code)."""
    return np.asarray(np.bincount(codes, weights, minlength=size), dtype=np.float64)
