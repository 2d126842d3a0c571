"""Logistic recalibration: an ensemble whose members were chosen to rank patients well is made to mean what it says.

    y           outcomes, 1 for a patient with the outcome      (n,)
    p           risks as the ensemble gives them, out of fold   (n,)
    a, b        intercept and slope: logit(risk) = a + b logit(p)

Of a delivered model a and b - 1 have a normal prior about 0 with standard deviation .1: a cohort of 150 patients, which
cannot tell them, leaves the risks nearly as they are, and one of some thousand settles them itself. On fifteen open
cohorts this was as good as no recalibration below 500 patients, and as the likeliest one above 2,000, where each is
best. Bringing a model to other patients has no such prior.

Selection by a measure of ranking does not care whether risks are too moderate (a heavily penalised member) or too
extreme, and an average of calibrated risks is too moderate in any case (Ranjan & Gneiting 2010, JRSS B 72:71). A slope
above 0 changes no ranking.

References
----------
Cox 1958, Biometrika 45:562; Steyerberg 2019, Clinical Prediction Models, 2nd ed., chapter 20.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtri, stdtrit
from sklearn.model_selection import StratifiedKFold

from autoprog.evaluation import EPSILON, compute_logit, grouped_splits
from autoprog.validation.calibration import Coefficient
from autoprog.validation.estimate import LEVEL, n_rarer
from autoprog.validation.logistic import fit_logistic, information, maximum_likelihood, overlap

PRIOR_PRECISION = 100.0
"""Of a and b - 1 of a delivered model."""

_FOLDS = 10


def recalibration_splits(
    strata: NDArray[np.integer], rarer: int, groups: NDArray[np.integer] | None, rng: np.random.Generator
) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Parts of the patients, each to be recalibrated by the others; groups are not split.

    Parameters
    ----------
    strata : ndarray of int, shape = (n,)
        What the parts share evenly.
    rarer : int
        Patients, or groups, with the rarer outcome, at least 2.
    groups : ndarray of int, shape = (n,), or None
        Rows that stay together.
    rng : numpy.random.Generator
        Shuffles the patients.

    Returns
    -------
    list of (train, test)
        Row numbers of up to ten parts.
    """
    folds, seed = min(_FOLDS, rarer), int(rng.integers(2**32))
    if groups is not None:
        return grouped_splits(strata, groups, folds, seed)
    splitter = StratifiedKFold(folds, shuffle=True, random_state=seed)
    return [(train, test) for train, test in splitter.split(np.zeros(len(strata)), strata)]


@dataclass(frozen=True, slots=True)
class Recalibration:
    """A map of risks to risks that keeps their order; only beyond 1e-6 of 0 and 1 may different ones become equal.

    Attributes
    ----------
    intercept : float
        a; 0 changes nothing.
    slope : float
        b, above 0; 1 changes nothing, above 1 makes risks more extreme.
    """

    intercept: float = 0.0
    slope: float = 1.0

    def apply(self, p: NDArray[np.floating]) -> NDArray[np.float64]:
        """Recalibrated risks, in [1e-6, 1 - 1e-6]; same shape as `p`."""
        risks: NDArray[np.float64] = expit(self.intercept + self.slope * compute_logit(p))
        return np.clip(risks, EPSILON, 1 - EPSILON)

    def then(self, step: Recalibration) -> Recalibration:
        """Both in one: this map, and `step` after it."""
        return Recalibration(step.intercept + step.slope * self.intercept, step.slope * self.slope)

    def to_json(self) -> dict[str, float]:
        """Ready for JSON."""
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
    y : ndarray, shape = (n,)
        0 and 1, both present.
    p : ndarray, shape = (n,)
        Risks of patients whom the model was not fitted on, in [0, 1].
    start : Recalibration, optional
        Where to start the search; the nearer, the sooner it ends.
    weights : ndarray, shape = (n,), optional
        How much each patient counts, above 0; 1 each by default.

    Returns
    -------
    Recalibration
        With slope 1 where the slope has no finite estimate or is not above 0: such risks do not rank the patients, and
        turning them around would be worse.
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
    """Estimate intercept and slope as those of a delivered model are: drawn to no change.

    Parameters
    ----------
    y, p, start, weights
        As `fit_recalibration` takes them.
    precision : float
        Of the prior of a and b - 1, above 0.

    Returns
    -------
    Recalibration
        The mode of the posterior; with slope 1 where that of the slope is not above 0.
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
    p: NDArray[np.floating], recalibration: Recalibration, precision: float = 0.0
) -> NDArray[np.float64]:
    """How uncertain a recalibration is that was estimated on some patients.

    Parameters
    ----------
    p : ndarray, shape = (n,)
        The risks that it was fitted to.
    recalibration : Recalibration
        As `fit_recalibration` gave it; a slope of exactly 1 was not estimated.
    precision : float
        Of its prior, where it had one.

    Returns
    -------
    ndarray, shape = (2, 2)
        Covariance of intercept and slope: the inverse of the information at them. Of a slope that was not estimated 0.
    """
    x = compute_logit(p)
    beta = np.array([recalibration.intercept, recalibration.slope])
    of_both = information(beta, np.column_stack([np.ones(len(x)), x]), np.zeros(len(x)))
    of_both = of_both + precision * np.eye(2)
    if recalibration.slope == 1:
        return np.diag([1 / of_both[0, 0], 0.0])
    return np.asarray(np.linalg.inv(of_both), dtype=np.float64)


def delivered_slope(
    y: NDArray[np.integer],
    p: NDArray[np.floating],
    recalibration: Recalibration,
    groups: NDArray[np.integer] | None = None,
    precision: float = PRIOR_PRECISION,
) -> Coefficient | None:
    """Calibration slope of a model that is recalibrated by the same patients, among others.

    The recalibrated risks of these patients have a slope near 1 by construction, and cross-fitted ones are too low by
    what the parts take from each other. With zeta the slope of the risks before, among other patients, the model's is
    zeta / b. Its estimate is zeta^ / b, zeta^ less its bias of order 1 / n, and as b follows the luck of zeta^, plus
    cov(zeta^, b) / b^2.

    Parameters
    ----------
    y : ndarray, shape = (n,)
        0 and 1, both present.
    p : ndarray, shape = (n,)
        Out-of-fold risks before recalibration, in [0, 1].
    recalibration : Recalibration
        As `shrunk_recalibration` gave it.
    groups : ndarray of int, shape = (n,), or None
        Patients who are alike.
    precision : float
        Of the recalibration's prior.

    Returns
    -------
    Coefficient or None
        Its interval is of zeta^, the recalibration being what it is. None where zeta^ is not finite.

    References
    ----------
    Cordeiro & McCullagh 1991, JRSS B 53:629 (the bias of logistic coefficients).
    """
    x, b = compute_logit(p), recalibration.slope
    if not overlap(y, x):
        return None
    Z, nothing = np.column_stack([np.ones(len(x)), x]), np.zeros(len(x))
    beta, V = fit_logistic(y, Z, nothing)
    mu = expit(Z @ beta)
    leverage = mu * (1 - mu) * np.einsum("ij,jk,ik->i", Z, V, Z)
    zeta = float((beta - V @ (Z.T @ (leverage * (mu - 0.5))))[1])
    quantile = ndtri((1 + LEVEL) / 2)
    if groups is not None:
        _, V = fit_logistic(y, Z, nothing, groups)
        quantile = stdtrit(len(np.unique(groups)) - 1, (1 + LEVEL) / 2)
    followed = 0.0
    if b != 1:  # else it was not estimated
        known = information(np.array([recalibration.intercept, b]), Z, nothing)
        followed = float(np.linalg.solve(known + precision * np.eye(2), known)[1] @ V[:, 1])
    estimate, reach = zeta / b + followed / b**2, float(quantile * np.sqrt(V[1, 1])) / b
    return Coefficient(estimate, estimate - reach, estimate + reach)


def cross_fitted(
    y: NDArray[np.integer],
    p: NDArray[np.floating],
    rng: np.random.Generator,
    groups: NDArray[np.integer] | None = None,
) -> NDArray[np.float64]:
    """Recalibrate each tenth of the patients by the others: what a score of recalibrated risks must be made of.

    Parameters
    ----------
    y : ndarray, shape = (n,)
        0 and 1; at least 2 of each.
    p : ndarray, shape = (n,)
        Out-of-fold risks, in [0, 1].
    rng : numpy.random.Generator
        Shuffles the patients.
    groups : ndarray of int, shape = (n,), or None
        Rows that stay together; both outcomes in at least 2 groups each.

    Returns
    -------
    ndarray, shape = (n,)
        Risks in (0, 1).
    """
    risks = np.empty(len(y))
    start = shrunk_recalibration(y, p)  # a matter of time alone: there is one maximum
    for train, test in recalibration_splits(y, n_rarer(y, groups), groups, rng):
        risks[test] = shrunk_recalibration(y[train], p[train], start).apply(p[test])
    return risks
