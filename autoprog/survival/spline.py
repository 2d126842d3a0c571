"""Restricted cubic splines: smooth, and linear beyond the first and the last knot.

======  ====================================================  ======  ======
symbol  meaning                                               shape   unit
======  ====================================================  ======  ======
x       variable                                              (n,)    any
t       knots, ascending                                      (k,)    as x
Z       columns 1, x and the k - 2 nonlinear terms            (n, k)  -
======  ====================================================  ======  ======

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
    """Knots at the percentiles that Harrell recommends.

    Parameters
    ----------
    x : ndarray, shape = (n,)
        Variable.
    events : float
        Patients of the rarer outcome; 100 allow five knots, fewer three.

    Returns
    -------
    ndarray, shape = (k,)
        At most 5, fewer where values of x are tied.
    """
    percentiles = _FIVE if events >= _ENOUGH else _THREE
    # As observed values there are never more of them than coefficients can be told apart.
    return np.unique(np.quantile(x, percentiles, method="inverted_cdf").round(_APART))


def spline_columns(x: NDArray[np.float64], t: NDArray[np.float64]) -> NDArray[np.float64]:
    """Columns of a restricted cubic spline.

    Parameters
    ----------
    x : ndarray, shape = (n,)
        Variable.
    t : ndarray, shape = (k,)
        Knots; one alone stands for a constant, two for a line.

    Returns
    -------
    ndarray, shape = (n, k)
        Z.
    """
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
