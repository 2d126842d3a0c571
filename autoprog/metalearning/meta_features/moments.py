"""The shapes of the numeric features' distributions.

======  ====================================================  ======  ====
symbol  meaning                                               shape   unit
======  ====================================================  ======  ====
x       observed cells of one numeric feature that varies     (k,)    own
z       x, centred and divided by its standard deviation      (k,)    1
g1, g2  mean of z^3, mean of z^4                              scalar  1
======  ====================================================  ======  ====
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_FENCE = 1.5  # in interquartile ranges
_ROUNDING = 1e-9  # a standard deviation below this share of the largest absolute value is rounding


def moment_features(numeric: NDArray[np.float64]) -> dict[str, float]:
    """Describe skewness, kurtosis, outliers, zeros and ties; 0 if no numeric feature varies."""
    shapes = [shape for x in numeric.T if (shape := _shape(x[~np.isnan(x)])) is not None]
    skewness, kurtosis, outliers, zeros, distinct = np.array(shapes).T if shapes else np.zeros((5, 1))
    return {
        "skewness_mean": float(skewness.mean()),
        "skewness_max": float(skewness.max()),
        "kurtosis_mean": float(kurtosis.mean()),
        "kurtosis_max": float(kurtosis.max()),
        "outlier_share": float(outliers.mean()),
        "zero_share": float(zeros.mean()),
        "distinct_share": float(distinct.mean()),
    }


def _shape(x: NDArray[np.float64]) -> tuple[float, float, float, float, float] | None:
    """|g1|, g2, and the shares of outliers, zeros and distinct values; None for a column that does not vary."""
    if len(x) < 2:
        return None
    # Divide first, because the fourth power of 1e100 overflows.
    largest = float(np.abs(x).max()) or 1.0
    unit = x / largest
    sd = float(unit.std())
    if sd <= _ROUNDING:
        return None
    z = (unit - unit.mean()) / sd
    lower, upper = np.quantile(z, (0.25, 0.75))
    fence = _FENCE * (upper - lower)
    outside = (z < lower - fence) | (z > upper + fence)
    g1, g2 = float((z**3).mean()), float((z**4).mean())
    return abs(g1), g2, float(outside.mean()), float((x == 0).mean()), len(np.unique(x)) / len(x)
