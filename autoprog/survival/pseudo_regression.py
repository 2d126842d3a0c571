"""Regression of pseudo-values with a complementary log-log link.

======  ====================================================================================  ======  ======
symbol  meaning                                                                               shape   range
======  ====================================================================================  ======  ======
theta   pseudo-values                                                                         (n,)    real
x       cloglog(p) = log(-log(1 - p)) of risks p                                              (n,)    real
Z       design matrix                                                                         (n, k)  -
o       part of the linear predictor that is known                                            (n,)    real
mu      mean, 1 - exp(-exp(Z beta + o))                                                       (n,)    [0, 1]
D       derivative of mu by beta                                                              (n, k)  -
======  ====================================================================================  ======  ======

    beta solves  D' (theta - mu) = 0,   which are the estimating equations of independent normal errors;
    its covariance is the sandwich  (D'D)^-1 D' diag((theta - mu)^2) D (D'D)^-1

The sandwich takes pseudo-values as independent. They are not quite, which makes it a little too wide.

References
----------
Andersen, Klein & Rosthoj 2003, Biometrika 90:15; Overgaard, Parner & Pedersen 2017, Ann Stat 45:1988.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares
from scipy.special import chdtri

from autoprog.survival.estimates import Interval

_Floats = NDArray[np.float64]

EPSILON = 1e-6  # a risk of 0 or 1 has no complementary log-log
_LARGEST = 30.0  # exp(-exp(30)) is 0, exp(exp(700)) overflows
_TOLERANCE = 1e-12
_DRAWS, _MOST_POINTS = 400, 2000


def cloglog(p: NDArray[np.floating]) -> NDArray[np.float64]:
    """Complementary log-log of risks in [0, 1], those of 0 and 1 as of 1e-6 and 1 - 1e-6; same shape."""
    return np.asarray(np.log(-np.log1p(-np.clip(np.asarray(p, dtype=np.float64), EPSILON, 1 - EPSILON))))


def inverse_cloglog(eta: NDArray[np.float64]) -> NDArray[np.float64]:
    """Risks 1 - exp(-exp(eta)); same shape."""
    return np.asarray(-np.expm1(-np.exp(np.minimum(eta, _LARGEST))))


def fit_cloglog(
    theta: _Floats, Z: _Floats, offset: _Floats, start: _Floats, groups: NDArray[np.integer] | None = None
) -> tuple[_Floats, _Floats]:
    """Coefficients of cloglog E(theta) = Z beta + offset.

    Parameters
    ----------
    theta : ndarray, shape = (n,)
        Pseudo-values.
    Z : ndarray, shape = (n, k)
        Of full rank.
    offset : ndarray, shape = (n,)
        o.
    start : ndarray, shape = (k,)
        Where to start: the squares have other stationary points far away.
    groups : ndarray of int, shape = (n,), or None
        Codes, from 0, of patients who are alike: the visits of one, those of one hospital.

    Returns
    -------
    beta : ndarray, shape = (k,)
        Estimates.
    covariance : ndarray, shape = (k, k)
        The sandwich.
    """

    def derivative(beta: _Floats) -> _Floats:
        eta = np.minimum(Z @ beta + offset, _LARGEST)
        return np.asarray(Z * np.exp(eta - np.exp(eta))[:, None])

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
    if groups is None:
        return np.asarray(fit.x), np.asarray(bread @ (scores.T @ scores) @ bread)
    sums = np.column_stack([np.bincount(groups, weights=column) for column in scores.T])
    m = int(np.count_nonzero(np.bincount(groups)))
    return np.asarray(fit.x), np.asarray(m / (m - 1) * bread @ (sums.T @ sums) @ bread)


def curve_distances(
    p: _Floats,
    x: _Floats,
    Z: _Floats,
    law: tuple[_Floats, _Floats],
    inverse_link: Callable[[_Floats], _Floats],
    level: float = 0.95,
) -> tuple[Interval, Interval, Interval]:
    """How far risks are from a smooth calibration curve: mean, median and 90th percentile of the distance.

    The intervals are basic ones of a bootstrap of the patients and of the curve, 2 d - quantiles of d(beta*): a curve
    that follows chance once more is further off than the curve is, and the basic interval takes that off. They begin
    at 0 where the curve may be that of calibrated risks, by Wald's test.

    Parameters
    ----------
    p : ndarray, shape = (n,)
        Risks.
    x : ndarray, shape = (n,)
        Their link: Z beta of a curve on which all lie.
    Z : ndarray, shape = (n, k)
        Design matrix of the curve.
    law : pair of ndarray, shapes = (k,) and (k, k)
        Estimates of its coefficients and their covariance: beta* is normal.
    inverse_link : callable (ndarray) -> ndarray
        From Z beta to risks.
    level : float
        Of the intervals.

    Returns
    -------
    tuple of three Interval
        ICI, E50 and E90.
    """
    beta, covariance = law
    found = _summaries(np.abs(p - inverse_link(Z @ beta)))
    rng = np.random.default_rng(0)
    # Of many patients an even part of them stands for all, and their luck is small beside the curve's.
    part = np.argsort(p, kind="stable")[np.unique(np.linspace(0, len(p) - 1, _MOST_POINTS).astype(np.intp))]
    again = np.empty((_DRAWS, 3))
    for b, drawn in enumerate(rng.multivariate_normal(beta, covariance, _DRAWS, method="eigh")):
        rows = part if len(part) < len(p) else part[rng.integers(len(part), size=len(part))]
        again[b] = _summaries(np.abs(p[rows] - inverse_link(Z[rows] @ drawn)))
    lower, upper = 2 * found - np.quantile(again, [(1 + level) / 2, (1 - level) / 2], axis=0)
    off = beta - np.linalg.lstsq(Z, x)[0]
    may_be_calibrated = off @ np.linalg.pinv(covariance, hermitian=True) @ off < chdtri(len(beta), 1 - level)
    mean, median, most = (
        Interval(float(d), 0.0 if may_be_calibrated else float(np.clip(low, 0.0, d)), float(max(high, d)))
        for d, low, high in zip(found, lower, upper, strict=True)
    )
    return mean, median, most


def _summaries(distance: _Floats) -> _Floats:
    e50, e90 = np.quantile(distance, [0.5, 0.9], axis=-1)
    return np.stack([distance.mean(axis=-1), e50, e90], axis=-1)
