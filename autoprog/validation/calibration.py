"""Whether risks mean what they say: calibration slope, calibration intercept, expected over observed events.

    y       outcomes, 1 for a patient with the outcome                  (n,)
    p       risks, cut to [epsilon, 1 - epsilon]                        (n,)
    x       linear predictor, logit(p)                                  (n,)
    alpha   calibration intercept: logit P(y = 1) = alpha + x, 0 is ideal; above 0, risks are too low on the whole
    zeta    calibration slope: logit P(y = 1) = gamma + zeta x, 1 is ideal; below 1, risks are too extreme
    Z       design matrix of one of the two regressions                 (n, 1) or (n, 2)
    beta    its coefficients
    eta, mu linear predictor and mean of that regression                (n,)

References
----------
Cox 1958, Biometrika 45:562; Van Calster et al. 2019, BMC Medicine 17:230.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, logit, ndtri

LEVEL = 0.95

_EPSILON = 1e-6  # a risk of 0 or 1 has no logit
_GRADIENT_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class Coefficient:
    """A regression coefficient.

    Attributes
    ----------
    estimate : float
        Maximum-likelihood estimate.
    lower, upper : float
        Wald interval of level `LEVEL`.
    """

    estimate: float
    lower: float
    upper: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """Calibration of a set of risks.

    Attributes
    ----------
    slope : Coefficient or None
        1 is ideal; below 1 the risks are too extreme, above 1 too moderate. None where it has no finite estimate: all
        risks are equal, or they separate the outcomes completely.
    intercept : Coefficient
        0 is ideal; above 0 the risks are too low on the whole, below 0 too high.
    expected_observed : float
        Expected over observed events; 1 is ideal, above 1 the risks are too high on the whole.
    level : float
        Of the intervals.
    """

    slope: Coefficient | None
    intercept: Coefficient
    expected_observed: float
    level: float = LEVEL

    def to_json(self) -> dict[str, Any]:
        """Ready for JSON."""
        return asdict(self)


def calibration_of(y: NDArray[np.integer], p: NDArray[np.floating]) -> Calibration:
    """Calibration of risks against outcomes.

    Parameters
    ----------
    y : ndarray, shape = (n_patients,)
        0 and 1, both present.
    p : ndarray, shape = (n_patients,)
        Risks in [0, 1], of patients whom the model was not fitted on. The slope of in-sample risks says nothing.

    Returns
    -------
    Calibration
        Slope, intercept, expected over observed.
    """
    p = np.asarray(p, dtype=np.float64)
    x = logit(np.clip(p, _EPSILON, 1 - _EPSILON))
    ones = np.ones((len(x), 1))
    intercept = _last_coefficient(y, ones, offset=x)
    slope = None
    if _has_finite_slope(y, x):
        slope = _last_coefficient(y, np.column_stack([ones, x]), offset=np.zeros(len(x)))
    return Calibration(slope, intercept, float(p.sum() / y.sum()))


def _has_finite_slope(y: NDArray[np.integer], x: NDArray[np.float64]) -> bool:
    """Whether the outcomes overlap on x (Albert & Anderson 1984, Biometrika 71:1)."""
    with_outcome, without = x[y == 1], x[y == 0]
    return bool(without.max() > with_outcome.min() and with_outcome.max() > without.min())


def _last_coefficient(y: NDArray[np.integer], Z: NDArray[np.float64], offset: NDArray[np.float64]) -> Coefficient:
    """Last coefficient of an unpenalised logistic regression."""

    def loss(beta: NDArray[np.float64]) -> float:
        eta = Z @ beta + offset
        return float(np.mean(np.logaddexp(0.0, eta) - y * eta))

    def gradient(beta: NDArray[np.float64]) -> NDArray[np.float64]:
        slopes: NDArray[np.float64] = Z.T @ (expit(Z @ beta + offset) - y) / len(y)
        return slopes

    def information(beta: NDArray[np.float64]) -> NDArray[np.float64]:
        mu = expit(Z @ beta + offset)
        curvatures: NDArray[np.float64] = (Z.T * (mu * (1 - mu))) @ Z / len(y)
        return curvatures

    fit = minimize(
        loss,
        np.zeros(Z.shape[1]),
        method="trust-exact",
        jac=gradient,
        hess=information,
        options={"gtol": _GRADIENT_TOLERANCE},
    )
    covariance = np.linalg.inv(information(fit.x) * len(y))
    estimate, error = float(fit.x[-1]), float(np.sqrt(covariance[-1, -1]))
    reach = float(ndtri((1 + LEVEL) / 2)) * error
    return Coefficient(estimate, estimate - reach, estimate + reach)
