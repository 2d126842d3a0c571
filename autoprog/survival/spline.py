"""Restricted cubic splines: smooth, and linear beyond the first and the last knot.

    x       variable                                              (n,)    any
    t       knots, ascending                                      (k,)    as x
    Z       columns 1, x and the k - 2 nonlinear terms            (n, k)  -

    Z_{j+2} = [ (x - t_j)+^3 - (x - t_{k-1})+^3 (t_k - t_j)/(t_k - t_{k-1})
                + (x - t_k)+^3 (t_{k-1} - t_j)/(t_k - t_{k-1}) ] / (t_k - t_1)^2,   j = 1, ..., k - 2

scikit-learn's splines are not linear beyond their last knots.

References
----------
Harrell 2015, Regression Modeling Strategies, 2nd ed., section 2.4.5.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Percentiles at which Harrell places 5 and 3 knots; 3 where there are too few events for 5 coefficients.
_FIVE = (0.05, 0.275, 0.5, 0.725, 0.95)
_THREE = (0.1, 0.5, 0.9)
_ENOUGH = 100

_APART = 6  # decimals in which two knots must differ


def spline_knots(x: NDArray[np.float64], events: float) -> NDArray[np.float64]:
    """Up to 5 knots at Harrell's percentiles, 3 with fewer than 100 patients of the rarer outcome; fewer for tied x."""
    percentiles = _FIVE if events >= _ENOUGH else _THREE
    # Knots are observed values, so there are never more of them than coefficients that can be estimated.
    return np.unique(np.quantile(x, percentiles, method="inverted_cdf").round(_APART))


def spline_columns(x: NDArray[np.float64], t: NDArray[np.float64]) -> NDArray[np.float64]:
    """Columns (n, k) of a restricted cubic spline of x (n,) with knots t (k,): one gives a constant, two a line."""
    if len(t) < 2:
        return np.ones((len(x), 1))
    return np.column_stack([np.ones(len(x)), x, *(_nonlinear(x, t, j) for j in range(len(t) - 2))])


def _nonlinear(x: NDArray[np.float64], t: NDArray[np.float64], j: int) -> NDArray[np.float64]:
    def cubed(u: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.maximum(u, 0.0) ** 3

    before_last, last = t[-2:]
    tail = cubed(x - before_last) * (last - t[j]) - cubed(x - last) * (before_last - t[j])
    term: NDArray[np.float64] = (cubed(x - t[j]) - tail / (last - before_last)) / (last - t[0]) ** 2
    return term
