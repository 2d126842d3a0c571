"""Candidate thresholds of a continuous measurement."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from autoprog.errors import Fault, InvalidInputError


def candidate_thresholds(x: NDArray[np.floating], K: int) -> NDArray[np.float64]:
    """Interior quantiles of a feature, at k / (K + 1).

    Parameters
    ----------
    x : ndarray, shape = (n,)
        Observed values; NaN is left out.
    K : int
        Maximum number of thresholds, at least 1.

    Returns
    -------
    ndarray, shape = (at most K,)
        Ascending; fewer than K where quantiles divide the values alike or equal the largest value. If all equal it, the
        next smaller value. Empty for a feature that is constant or never observed: skip it.

    Raises
    ------
    InvalidInputError
        If K is below 1 or a value is infinite.
    """
    faults: list[Fault] = []
    if K < 1:
        faults.append(Fault("/thresholds", f"at least one threshold is needed, not {K}"))
    if np.isinf(x).any():
        faults.append(Fault("/values", f"{int(np.isinf(x).sum())} values are infinite"))
    if faults:
        raise InvalidInputError(faults)
    seen = np.asarray(x[~np.isnan(x)], dtype=np.float64)
    if not seen.size:
        return np.empty(0)
    quantiles = np.quantile(seen, np.arange(1, K + 1) / (K + 1))
    # No value exceeds the largest, and two quantiles between the same two values are one question.
    quantiles = quantiles[quantiles < seen.max()]
    _, first = np.unique(np.searchsorted(np.sort(seen), quantiles, side="right"), return_index=True)
    distinct: NDArray[np.float64] = quantiles[first]
    return distinct if distinct.size else np.unique(seen[seen < seen.max()])[-1:]
