"""Logistic regression on the logit of a risk, shared by calibration and recalibration.

    y       outcomes, 1 for a patient with the outcome      (n,)
    p       risks, cut to [epsilon, 1 - epsilon]            (n,)
    x       linear predictor, logit(p)                      (n,)
    Z       design matrix                                   (n, k)
    beta    coefficients                                    (k,)
    eta, mu linear predictor and mean                       (n,)

scikit-learn's LogisticRegression offers neither an offset nor the coefficients' covariance.

References
----------
Albert & Anderson 1984, Biometrika 71:1 (overlap); Liang & Zeger 1986, Biometrika 73:13 (groups).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from autoprog.survival import sandwich

_GRADIENT_TOLERANCE = 1e-9
# Fall of the loss, per patient, below which one more step is the last.
_CLOSE = 1e-11
_STEPS, _HALVINGS = 100, 30
# A step too far makes all means 0 or 1. The curvature is then almost 0, so the step back is bounded.
_LEAST_CURVED, _FURTHEST = 1e-40, 1e4


def overlap(y: NDArray[np.integer], x: NDArray[np.float64]) -> bool:
    """Whether the outcomes overlap on x, so that a slope has a finite estimate; false if x is constant."""
    with_outcome, without = x[y == 1], x[y == 0]
    return bool(without.max() > with_outcome.min() and with_outcome.max() > without.min())


def maximum_likelihood(
    y: NDArray[np.integer],
    Z: NDArray[np.float64],
    offset: NDArray[np.float64],
    start: NDArray[np.float64] | None = None,
    weights: NDArray[np.float64] | None = None,
    precision: float = 0.0,
) -> NDArray[np.float64]:
    """Fit logit P(y = 1) = Z beta + offset, under a normal prior about 0 with this precision on each coefficient."""
    # If Z separates the outcomes the coefficients are large, and the risks 0 and 1.
    total = len(y) if weights is None else weights.sum()
    shares = np.full(len(y), 1 / total) if weights is None else weights / total
    penalty = precision / total

    def loss(beta: NDArray[np.float64], eta: NDArray[np.float64]) -> float:
        return float(shares @ (np.logaddexp(0.0, eta) - y * eta) + 0.5 * penalty * beta @ beta)

    # Newton's steps, halved until the loss falls; close to the minimum the last one is exact to rounding.
    beta = np.zeros(Z.shape[1]) if start is None else np.asarray(start, dtype=np.float64)
    eta = Z @ beta + offset
    value = loss(beta, eta)
    for _ in range(_STEPS):
        mu = expit(eta)
        slopes = Z.T @ (shares * (mu - y)) + penalty * beta
        if np.linalg.norm(slopes) <= _GRADIENT_TOLERANCE:
            break
        hessian = (Z.T * np.maximum(shares * mu * (1.0 - mu), _LEAST_CURVED)) @ Z + penalty * np.eye(len(beta))
        step = -np.linalg.lstsq(hessian, slopes)[0]
        if -slopes @ step <= _CLOSE:
            return np.asarray(beta + step)
        step = step / max(1.0, float(np.abs(Z @ step).max()) / _FURTHEST)
        for _ in range(_HALVINGS):
            tried = beta + step
            at = Z @ tried + offset
            found = loss(tried, at)
            if found < value:
                break
            step = step / 2
        else:
            break
        beta, eta, value = tried, at, found
    return beta


def fit_logistic(
    y: NDArray[np.integer],
    Z: NDArray[np.float64],
    offset: NDArray[np.float64],
    groups: NDArray[np.integer] | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Estimate beta and its covariance; groups, at least 2, give the sandwich covariance of their summed scores."""
    beta = maximum_likelihood(y, Z, offset)
    # With few patients the columns may be collinear up to rounding.
    inverse = np.linalg.pinv(information(beta, Z, offset), hermitian=True)
    if groups is None:
        return beta, np.asarray(inverse, dtype=np.float64)
    return beta, sandwich(inverse, Z * (y - expit(Z @ beta + offset))[:, None], groups)


def information(
    beta: NDArray[np.float64],
    Z: NDArray[np.float64],
    offset: NDArray[np.float64],
    weights: NDArray[np.float64] | float = 1.0,
) -> NDArray[np.float64]:
    """Fisher information of the coefficients, the inverse of their covariance."""
    mu = expit(Z @ beta + offset)
    found: NDArray[np.float64] = (Z.T * (weights * mu * (1 - mu))) @ Z
    return found
