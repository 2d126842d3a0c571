"""Stacking of predictive distributions: the average of the pipelines' risks that gives the outcomes most probability.

=======  =========================================================================================  =========
symbol   meaning                                                                                    shape
=======  =========================================================================================  =========
q        probability of each patient's outcome by each pipeline, see `log_scores`                   (t, n)
c        how often each patient counts                                                              (n,)
w        weights, at least 0                                                                        (t,)
=======  =========================================================================================  =========

    maximise  sum_i c_i log(sum_k w_k q_ki) - (sum_i c_i) sum_k w_k

which is concave; at its maximum the weights sum to 1, whatever the scale of w. Greedy selection (Caruana et al. 2004)
approaches the same average step by step.

References
----------
Yao, Vehtari, Simpson & Gelman 2018, Bayesian Analysis 13:917, section 3.1; Hastie, Tibshirani & Friedman 2009, section
8.8 (stacking with weights at least 0).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

_Floats = NDArray[np.float64]

# The mean log score is exact to 1e-5, far below its standard error.
_OPTIONS = {"gtol": 1e-5, "ftol": 1e-10, "maxiter": 200}


def likeliest(q: _Floats, c: NDArray[np.floating], most: int) -> NDArray[np.intp]:
    """The pipelines with the best log scores, at most so many; the earliest among equals."""
    return np.argsort(-(np.log(q) @ c), kind="stable")[:most]


def pooled_weights(q: _Floats, c: NDArray[np.floating]) -> _Floats:
    """Weights of the likeliest average.

    Parameters
    ----------
    q : ndarray, shape = (t, n)
        Above 0.
    c : ndarray, shape = (n,)
        At least 0.

    Returns
    -------
    ndarray, shape = (t,)
        At least 0, summing to 1.
    """
    counted = c > 0
    q, c = q[:, counted], np.asarray(c[counted], dtype=np.float64)
    share = c / c.sum()
    t = len(q)

    def loss(w: _Floats) -> tuple[float, _Floats]:
        pooled = w @ q
        return float(w.sum() - share @ np.log(pooled)), 1.0 - q @ (share / pooled)

    first = np.full(t, 1.0 / t)
    fit = minimize(loss, first, jac=True, method="L-BFGS-B", bounds=[(0.0, None)] * t, options=_OPTIONS)
    w = np.asarray(fit.x, dtype=np.float64)
    weights: _Floats = w / w.sum()
    return weights
