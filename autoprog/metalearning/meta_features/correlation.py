"""Correlations of the features.

======  ================================================================================  ======  =======
symbol  meaning                                                                           shape   range
======  ================================================================================  ======  =======
Z       numeric, ordinal and binary features, standardised; 0 where a cell is missing     (n, p)  real
R       their correlations                                                                (p, p)  [-1, 1]
lam     eigenvalues of R, the largest first; they sum to p                                (p,)    [0, p]
======  ================================================================================  ======  =======

References
----------
Bretherton et al. 1999, J. Climate 12:1990-2009, eq. 5: the effective dimension (sum lam)^2 / sum lam^2.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

MAX_COLUMNS = 500
"""Use 500 evenly spaced features if there are more."""

_CORRELATED = 0.5
_VARIANCE = 0.95
_ROUNDING = 1e-9


def correlation_features(ordered: NDArray[np.float64]) -> dict[str, float]:
    """Describe pairwise correlations and their spectrum; all 0 if no feature varies, correlations 0 if one does."""
    Z = _standardised(ordered[:, evenly_spaced(ordered.shape[1], MAX_COLUMNS)])
    p = Z.shape[1]
    if p == 0:
        return dict.fromkeys(_NAMES, 0.0)
    R = np.clip(Z.T @ Z / len(Z), -1.0, 1.0)
    pairs = np.abs(R[np.triu_indices(p, k=1)])
    if not len(pairs):
        pairs = np.zeros(1)
    lam = np.linalg.eigvalsh(R)[::-1]
    # Tolerance: the last of equal eigenvalues must not depend on rounding.
    n_components = int((np.cumsum(lam) < (_VARIANCE - _ROUNDING) * p).sum()) + 1
    values = (pairs.mean(), pairs.max(), (pairs > _CORRELATED).mean(), p / (R**2).sum(), min(n_components, p) / p)
    return {name: float(value) for name, value in zip(_NAMES, values, strict=True)}


_NAMES = ("correlation_mean", "correlation_max", "correlated_share", "effective_dimension", "components_95")


def evenly_spaced(n: int, most: int) -> NDArray[np.intp]:
    """Choose at most `most` of n indices, evenly spaced from the first to the last."""
    if n <= most:
        return np.arange(n)
    return np.linspace(0, n - 1, most).round().astype(np.intp)


def _standardised(X: NDArray[np.float64]) -> NDArray[np.float64]:
    observed = ~np.isnan(X)
    counts = np.maximum(observed.sum(axis=0), 1)
    filled = np.where(observed, X, 0.0)
    largest = np.abs(filled).max(axis=0, initial=0.0)
    filled /= np.where(largest > 0, largest, 1.0)
    centred = np.where(observed, filled - filled.sum(axis=0) / counts, 0.0)
    sd = np.sqrt((centred**2).mean(axis=0))
    varies = sd > _ROUNDING
    standardised: NDArray[np.float64] = centred[:, varies] / sd[varies]
    return standardised
