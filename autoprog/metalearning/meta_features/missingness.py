"""Missing cells of a cohort, and whether they tell about the outcome.

======  ==============================================================  ======  =======
symbol  meaning                                                         shape   range
======  ==============================================================  ======  =======
m       whether a cell is missing                                       (n, d)  bool
y       label; NaN where unknown                                        (n,)    {0, 1}
q, p    share of the missing in a column, of 1 among the known labels   (d,)    [0, 1]
phi     correlation of m and y                                          (d,)    [-1, 1]
======  ==============================================================  ======  =======
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def missingness_features(X: NDArray[np.float64], y: NDArray[np.float64]) -> dict[str, float]:
    """Describe shares of missing cells, and the largest |phi|."""
    m = np.isnan(X)
    q = m.mean(axis=0) if m.size else np.zeros(1)
    return {
        "missing_share": float(q.mean()),
        "incomplete_feature_share": float((q > 0).mean()),
        "complete_patient_share": float((~m.any(axis=1)).mean()),
        "missing_max": float(q.max()),
        "missing_informative": _largest_phi(m, y),
    }


def _largest_phi(m: NDArray[np.bool_], y: NDArray[np.float64]) -> float:
    known = ~np.isnan(y)
    n, n_events = int(known.sum()), int((y == 1).sum())
    if not 0 < n_events < n:
        return 0.0
    n_missing = m.sum(axis=0) - m[~known].sum(axis=0)
    varies = (n_missing > 0) & (n_missing < n)
    if not varies.any():
        return 0.0
    q, p = n_missing[varies] / n, n_events / n
    both = m[y == 1][:, varies].sum(axis=0) / n
    phi = (both - q * p) / np.sqrt(q * (1 - q) * p * (1 - p))
    return float(min(np.abs(phi).max(), 1.0))
