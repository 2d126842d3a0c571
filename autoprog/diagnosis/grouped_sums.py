"""Sums of weights by code."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def sums_by_code(codes: NDArray[np.int64], weights: NDArray[np.float64], size: int = 0) -> NDArray[np.float64]:
    """Sum the weights of each code.

    Parameters
    ----------
    codes : ndarray of int, shape = (n,)
        From 0.
    weights : ndarray, shape = (n,)
        One a code.
    size : int
        Least length of the answer.

    Returns
    -------
    ndarray, shape = (max(size, 1 + the largest code),)
        0 of a code that does not occur.
    """
    return np.asarray(np.bincount(codes, weights, minlength=size), dtype=np.float64)
