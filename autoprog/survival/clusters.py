"""Sums within groups of patients, for standard errors by groups.

References
----------
Liang & Zeger 1986, Biometrika 73:13.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def summed_by_group(values: NDArray[np.float64], groups: NDArray[np.integer]) -> tuple[NDArray[np.float64], int]:
    """Sum values (n,) or (n, k) by group codes (n,) from 0, 0 for unused codes; return sums and number of groups."""
    columns = values.reshape(len(values), -1).T
    sums = np.column_stack([np.bincount(groups, weights=column) for column in columns])
    m = int(np.count_nonzero(np.bincount(groups)))
    return np.asarray(sums.reshape(-1, *values.shape[1:]), dtype=np.float64), m


def sandwich(
    bread: NDArray[np.floating[Any]], scores: NDArray[np.floating[Any]], groups: NDArray[np.integer] | None = None
) -> NDArray[np.float64]:
    """Covariance of estimates from the patients' contributions to their estimating equations.

    Parameters
    ----------
    bread : ndarray, shape = (k, k)
        Inverse of the derivative of the equations.
    scores : ndarray, shape = (n, k)
        Contribution of each patient.
    groups : ndarray of int, shape = (n,), or None
        Codes, from 0, of at least 2 groups of patients who belong together: one patient's visits, one hospital's.

    Returns
    -------
    ndarray, shape = (k, k)
        With m groups, that of their sums times m / (m - 1).
    """
    if groups is None:
        return np.asarray(bread @ (scores.T @ scores) @ bread)
    sums, m = summed_by_group(np.asarray(scores, dtype=np.float64), groups)
    return np.asarray(m / (m - 1) * bread @ (sums.T @ sums) @ bread)
