"""Sums within groups of patients: what a standard error by groups is made of.

References
----------
Liang & Zeger 1986, Biometrika 73:13.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def summed_by_group(values: NDArray[np.float64], groups: NDArray[np.integer]) -> tuple[NDArray[np.float64], int]:
    """What the patients of each group contribute together.

    Parameters
    ----------
    values : ndarray, shape = (n,) or (n, k)
        Of each patient.
    groups : ndarray of int, shape = (n,)
        Codes, from 0, of patients who are alike: the visits of one, those of one hospital.

    Returns
    -------
    sums : ndarray, shape = (codes,) or (codes, k)
        0 where nobody has a code.
    m : int
        Groups that hold somebody.
    """
    columns = values.reshape(len(values), -1).T
    sums = np.column_stack([np.bincount(groups, weights=column) for column in columns])
    m = int(np.count_nonzero(np.bincount(groups)))
    return np.asarray(sums.reshape(-1, *values.shape[1:]), dtype=np.float64), m


def sandwich(
    bread: NDArray[np.floating[Any]], scores: NDArray[np.floating[Any]], groups: NDArray[np.integer] | None = None
) -> NDArray[np.float64]:
    """Covariance of estimates from what each patient adds to their equations.

    Parameters
    ----------
    bread : ndarray, shape = (k, k)
        Inverse of the derivative of the equations.
    scores : ndarray, shape = (n, k)
        What each patient adds.
    groups : ndarray of int, shape = (n,), or None
        As `summed_by_group` takes them; at least 2 groups.

    Returns
    -------
    ndarray, shape = (k, k)
        Of m groups m / (m - 1) times as much as their sums say.
    """
    if groups is None:
        return np.asarray(bread @ (scores.T @ scores) @ bread)
    sums, m = summed_by_group(np.asarray(scores, dtype=np.float64), groups)
    return np.asarray(m / (m - 1) * bread @ (sums.T @ sums) @ bread)
