"""Logistic recalibration of an ensemble's risks.

    y           outcomes, 1 for a patient with the outcome      (n,)
    p           risks as the ensemble gives them, out of fold   (n,)
    a, b        intercept and slope: logit(risk) = a + b logit(p)

Selection by a rank measure ignores whether risks are too moderate (a heavily penalised member) or too extreme, and an
average of calibrated risks is always too moderate (Ranjan & Gneiting 2010, JRSS B 72:71). A slope above 0 keeps the
ranking.

In a delivered model a and b - 1 have a normal prior about 0 with standard deviation .1, which dominates for 150
patients and hardly matters for some thousands. On fifteen open cohorts this was as good as no recalibration below 500
patients, and as maximum likelihood above 2,000, where each is best. An update for other patients has no prior.

References
----------
Cox 1958, Biometrika 45:562; Steyerberg 2019, Clinical Prediction Models, 2nd ed., chapter 20.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.model_selection import StratifiedKFold

from autoprog.cohort import grouped_splits
from autoprog.performance import EPSILON, compute_logit
from autoprog.performance.logistic import fit_logistic, information, maximum_likelihood, overlap
from autoprog.performance.score import LEVEL, n_rarer
from autoprog.survival import Interval, grouped_quantile, sandwich

PRIOR_PRECISION = 100.0
"""Prior precision of a and b - 1 in a delivered model."""

MAX_FOLDS = 10
"""Most parts of the patients that are recalibrated by the others."""


def recalibration_splits(
    strata: NDArray[np.integer], rarer: int, groups: NDArray[np.integer] | None, rng: np.random.Generator
) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Split the rows into up to ten parts, each to be recalibrated by the others; groups stay together."""
    folds, seed = min(MAX_FOLDS, rarer), int(rng.integers(2**32))
    if groups is not None:
        return grouped_splits(strata, groups, folds, seed)
    splitter = StratifiedKFold(folds, shuffle=True, random_state=seed)
    return [(train, test) for train, test in splitter.split(np.zeros(len(strata)), strata)]


@dataclass(frozen=True, slots=True)
class Recalibration:
    """Map logit(risk) = a + b logit(p), b above 0: it keeps the order, up to ties beyond 1e-6 of 0 and 1."""

    intercept: float = 0.0
    slope: float = 1.0  # above 1 it makes risks more extreme

    def apply(self, p: NDArray[np.floating]) -> NDArray[np.float64]:
        """Recalibrated risks, in [1e-6, 1 - 1e-6]; same shape as `p`."""
        risks: NDArray[np.float64] = expit(self.intercept + self.slope * compute_logit(p))
        return np.clip(risks, EPSILON, 1 - EPSILON)

    def then(self, step: Recalibration) -> Recalibration:
        """Compose this map with a later `step`."""
        return Recalibration(step.intercept + step.slope * self.intercept, step.slope * self.slope)

    def to_json(self) -> dict[str, float]:
        """JSON document."""
        return asdict(self)


IDENTITY = Recalibration()


def fit_recalibration(
    y: NDArray[np.integer],
    p: NDArray[np.floating],
    start: Recalibration = IDENTITY,
    weights: NDArray[np.float64] | None = None,
) -> Recalibration:
    """Estimate intercept and slope by maximum likelihood.

    Parameters
    ----------
    y, p : ndarray, shape = (n,)
        Outcomes 0 and 1, both present; risks in [0, 1] of patients on whom the model was not fitted.
    start : Recalibration, optional
        Start of the optimisation.
    weights : ndarray, shape = (n,), optional
        Weights of the patients, above 0; 1 each by default.

    Returns
    -------
    Recalibration
        With slope 1 if its estimate is not finite or not above 0.
    """
    x = compute_logit(p)
    if overlap(y, x):
        near = np.array([start.intercept, start.slope])
        a, b = maximum_likelihood(y, np.column_stack([np.ones(len(x)), x]), np.zeros(len(x)), near, weights)
        if b > 0:
            return Recalibration(float(a), float(b))
    return fit_intercept(y, p, weights=weights)


def shrunk_recalibration(
    y: NDArray[np.integer],
    p: NDArray[np.floating],
    start: Recalibration = IDENTITY,
    weights: NDArray[np.float64] | None = None,
    precision: float = PRIOR_PRECISION,
) -> Recalibration:
    """Estimate a delivered model's intercept and slope, shrunk towards no change.

    Parameters
    ----------
    y, p, start, weights
        As `fit_recalibration` takes them.
    precision : float
        Prior precision of a and b - 1, above 0.

    Returns
    -------
    Recalibration
        Posterior mode; slope 1 if the slope's mode is not above 0.
    """
    x = compute_logit(p)
    near = np.array([start.intercept, start.slope - 1.0])
    a, b = maximum_likelihood(y, np.column_stack([np.ones(len(x)), x]), x, near, weights, precision)
    if b > -1.0:
        return Recalibration(float(a), float(1.0 + b))
    (a,) = maximum_likelihood(y, np.ones((len(x), 1)), x, weights=weights, precision=precision)
    return Recalibration(float(a), 1.0)


def fit_intercept(
    y: NDArray[np.integer],
    p: NDArray[np.floating],
    weights: NDArray[np.float64] | None = None,
) -> Recalibration:
    """Estimate the intercept alone; see `fit_recalibration`."""
    x = compute_logit(p)
    (a,) = maximum_likelihood(y, np.ones((len(x), 1)), x, weights=weights)
    return Recalibration(float(a), 1.0)


def recalibration_covariance(
    p: NDArray[np.floating],
    recalibration: Recalibration,
    precision: float = 0.0,
    residuals: NDArray[np.float64] | None = None,
    groups: NDArray[np.integer] | None = None,
) -> NDArray[np.float64]:
    """Estimate the covariance of intercept and slope.

    Parameters
    ----------
    p : ndarray, shape = (n,)
        Risks that the recalibration was fitted to.
    recalibration : Recalibration
        The fit.
    precision : float
        Precision of its prior.
    residuals, groups : ndarray, shape = (n,), or None
        Weighted outcomes less recalibrated risks, and codes of groups of correlated patients; without them, or with a
        single group, patients count as independent.

    Returns
    -------
    ndarray, shape = (2, 2)
        0 for a slope of exactly 1, which was not estimated.
    """
    x = compute_logit(p)
    Z = np.column_stack([np.ones(len(x)), x])
    beta = np.array([recalibration.intercept, recalibration.slope])
    of_both = information(beta, Z, np.zeros(len(x))) + precision * np.eye(2)
    fitted = slice(0, 1 if recalibration.slope == 1 else 2)
    covariance = np.linalg.inv(of_both[fitted, fitted])
    if residuals is not None and groups is not None and len(np.unique(groups)) > 1:
        covariance = sandwich(covariance, Z[:, fitted] * residuals[:, None], groups)
    found = np.zeros((2, 2))
    found[fitted, fitted] = covariance
    return found


def delivered_slope(
    y: NDArray[np.integer],
    p: NDArray[np.floating],
    recalibration: Recalibration,
    groups: NDArray[np.integer] | None = None,
    precision: float = PRIOR_PRECISION,
) -> Interval | None:
    """Estimate the calibration slope of a model whose recalibration was fitted to the same patients.

    Parameters
    ----------
    y, p, recalibration
        As `shrunk_recalibration` took them and its result; p are out-of-fold risks before recalibration.
    groups : ndarray of int, shape = (n,), or None
        Groups of correlated patients.
    precision : float
        Precision of the recalibration's prior.

    Returns
    -------
    Interval or None
        With the interval of zeta^ for a fixed recalibration; None if zeta^ is not finite.

    References
    ----------
    Cordeiro & McCullagh 1991, JRSS B 53:629 (the bias of logistic coefficients).
    """
    # Recalibrated risks of these patients have a slope near 1 by construction, cross-fitted ones a slope too low.
    # With zeta the slope before recalibration among other patients, the model's is zeta / b. It is estimated by
    # zeta^ / b, zeta^ less its bias of order 1 / n, plus cov(zeta^, b) / b^2, as b follows the chance errors of zeta^.
    x, b = compute_logit(p), recalibration.slope
    if not overlap(y, x):
        return None
    Z, nothing = np.column_stack([np.ones(len(x)), x]), np.zeros(len(x))
    beta, V = fit_logistic(y, Z, nothing)
    mu = expit(Z @ beta)
    leverage = mu * (1 - mu) * np.einsum("ij,jk,ik->i", Z, V, Z)
    zeta = float((beta - V @ (Z.T @ (leverage * (mu - 0.5))))[1])
    if groups is not None:
        _, V = fit_logistic(y, Z, nothing, groups)
    followed = 0.0
    if b != 1:  # else it was not estimated
        known = information(np.array([recalibration.intercept, b]), Z, nothing)
        followed = float(np.linalg.solve(known + precision * np.eye(2), known)[1] @ V[:, 1])
    estimate, reach = zeta / b + followed / b**2, grouped_quantile(LEVEL, groups) * float(np.sqrt(V[1, 1])) / b
    return Interval(estimate, estimate - reach, estimate + reach)


def cross_fitted(
    y: NDArray[np.integer],
    p: NDArray[np.floating],
    rng: np.random.Generator,
    groups: NDArray[np.integer] | None = None,
) -> NDArray[np.float64]:
    """Recalibrate each tenth of the patients or groups, at least 2 with each outcome, by the others, for scoring."""
    risks = np.empty(len(y))
    start = shrunk_recalibration(y, p)  # saves time alone: there is one maximum
    for train, test in recalibration_splits(y, n_rarer(y, groups), groups, rng):
        risks[test] = shrunk_recalibration(y[train], p[train], start).apply(p[test])
    return risks
