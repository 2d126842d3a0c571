"""Unpenalised logistic regression on the logit of a risk: what calibration and recalibration share.

    y       outcomes, 1 for a patient with the outcome      (n,)
    p       risks, cut to [epsilon, 1 - epsilon]            (n,)
    x       linear predictor, logit(p)                      (n,)
    Z       design matrix                                   (n, k)
    beta    coefficients                                    (k,)
    eta, mu linear predictor and mean                       (n,)

scikit-learn's LogisticRegression has neither an offset nor the coefficients' covariance.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

from autoprog.survival import sandwich

_GRADIENT_TOLERANCE = 1e-9


def overlap(y: NDArray[np.integer], x: NDArray[np.float64]) -> bool:
    """Whether the outcomes overlap on x, so that a slope has a finite estimate.

    Parameters
    ----------
    y : ndarray, shape = (n,)
        0 and 1, both present.
    x : ndarray, shape = (n,)
        Linear predictor.

    Returns
    -------
    bool
        False where x is constant or separates the outcomes.

    References
    ----------
    Albert & Anderson 1984, Biometrika 71:1.
    """
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
    """Coefficients of logit P(y = 1) = Z beta + offset.

    Parameters
    ----------
    y : ndarray, shape = (n,)
        0 and 1.
    Z : ndarray, shape = (n, k)
        Of full rank. Where it separates the outcomes the coefficients are large, and the risks at them 0 and 1.
    offset : ndarray, shape = (n,)
        Part of the linear predictor that is known.
    start : ndarray, shape = (k,), optional
        Where to start, 0 by default; the nearer, the sooner it ends.
    weights : ndarray, shape = (n,), optional
        How much each patient counts, above 0; 1 each by default.
    precision : float
        Of a normal prior about 0 of every coefficient; 0 for none.

    Returns
    -------
    ndarray, shape = (k,)
        beta.
    """
    total = len(y) if weights is None else weights.sum()
    shares = np.full(len(y), 1 / total) if weights is None else weights / total
    penalty = precision / total

    def loss(beta: NDArray[np.float64]) -> float:
        eta = Z @ beta + offset
        return float(shares @ (np.logaddexp(0.0, eta) - y * eta) + 0.5 * penalty * beta @ beta)

    def gradient(beta: NDArray[np.float64]) -> NDArray[np.float64]:
        slopes: NDArray[np.float64] = Z.T @ (shares * (expit(Z @ beta + offset) - y))
        return slopes + penalty * beta

    fit = minimize(
        loss,
        np.zeros(Z.shape[1]) if start is None else start,
        method="trust-exact",
        jac=gradient,
        hess=lambda beta: information(beta, Z, offset, shares) + penalty * np.eye(Z.shape[1]),
        options={"gtol": _GRADIENT_TOLERANCE},
    )
    return np.asarray(fit.x, dtype=np.float64)


def fit_logistic(
    y: NDArray[np.integer],
    Z: NDArray[np.float64],
    offset: NDArray[np.float64],
    groups: NDArray[np.integer] | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Coefficients as `maximum_likelihood` gives them, and how uncertain they are.

    Parameters
    ----------
    y : ndarray, shape = (n,)
        0 and 1.
    Z : ndarray, shape = (n, k)
        Of full rank, and such that the estimate is finite.
    offset : ndarray, shape = (n,)
        Part of the linear predictor that is known.
    groups : ndarray of int, shape = (n,), or None
        Patients who are alike, at least 2 groups; None where each is alone.

    Returns
    -------
    beta : ndarray, shape = (k,)
        Estimates.
    covariance : ndarray, shape = (k, k)
        Inverse of the information at them; of groups, that of the sums of scores within them (Liang & Zeger 1986,
        Biometrika 73:13).
    """
    beta = maximum_likelihood(y, Z, offset)
    # Of few patients the columns may be alike up to rounding.
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
    """Fisher information of the coefficients, shape = (k, k).

    Parameters
    ----------
    beta : ndarray, shape = (k,)
        Where.
    Z : ndarray, shape = (n, k)
        Design matrix.
    offset : ndarray, shape = (n,)
        Part of the linear predictor that is known.
    weights : ndarray, shape = (n,), or float
        How much each patient counts.

    Returns
    -------
    ndarray, shape = (k, k)
        The inverse of the estimates' covariance.
    """
    mu = expit(Z @ beta + offset)
    found: NDArray[np.float64] = (Z.T * (weights * mu * (1 - mu))) @ Z
    return found
