"""Regression of pseudo-values with a complementary log-log link.

    theta   pseudo-values                                                                   (n,)    real
    x       cloglog(p) = log(-log(1 - p)) of risks p                                        (n,)    real
    Z       design matrix                                                                   (n, k)  -
    o       known part of the linear predictor                                              (n,)    real
    mu      mean, 1 - exp(-exp(Z beta + o))                                                 (n,)    [0, 1]
    D       derivative of mu by beta                                                        (n, k)  -

    beta solves  D' (theta - mu) = 0,   the estimating equations of independent normal errors;
    its covariance is the sandwich  (D'D)^-1 D' diag((theta - mu)^2) D (D'D)^-1

The sandwich takes pseudo-values as independent. They are not quite, which makes it slightly too wide.

References
----------
Andersen, Klein & Rosthoj 2003, Biometrika 90:15; Overgaard, Parner & Pedersen 2017, Ann Stat 45:1988.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from autoprog.survival.clusters import sandwich

_Floats = NDArray[np.float64]

EPSILON = 1e-6  # a risk of 0 or 1 has no complementary log-log
_LARGEST = 30.0  # exp(-exp(30)) is 0, exp(exp(700)) overflows
_TOLERANCE = 1e-12


def cloglog(p: NDArray[np.floating]) -> NDArray[np.float64]:
    """Complementary log-log of risks in [0, 1], clipped to [1e-6, 1 - 1e-6]; same shape."""
    return np.asarray(np.log(-np.log1p(-np.clip(np.asarray(p, dtype=np.float64), EPSILON, 1 - EPSILON))))


def inverse_cloglog(eta: NDArray[np.float64]) -> NDArray[np.float64]:
    """Risks 1 - exp(-exp(eta)); same shape."""
    return np.asarray(-np.expm1(-np.exp(np.minimum(eta, _LARGEST))))


def fit_cloglog(
    theta: _Floats, Z: _Floats, offset: _Floats, start: _Floats, groups: NDArray[np.integer] | None = None
) -> tuple[_Floats, _Floats]:
    """Estimate beta (k,) and its covariance (k, k) in cloglog E(theta) = Z beta + offset; Z must have full rank."""

    def derivative(beta: _Floats) -> _Floats:
        eta = np.minimum(Z @ beta + offset, _LARGEST)
        return np.asarray(Z * np.exp(eta - np.exp(eta))[:, None])

    # The squares have other stationary points far away, so the start matters.
    fit = least_squares(
        lambda beta: inverse_cloglog(Z @ beta + offset) - theta,
        start,
        jac=derivative,
        method="lm",
        xtol=_TOLERANCE,
        ftol=_TOLERANCE,
        gtol=_TOLERANCE,
    )
    D = derivative(fit.x)
    bread = np.linalg.pinv(D.T @ D)
    scores = D * fit.fun[:, None]
    return np.asarray(fit.x), sandwich(bread, scores, groups)
