"""Proportional hazards: a fitted model and its fit by Newton's method.

    X       columns                                                                         (n, d)  any
    c, s    weighted mean and standard deviation of each column                             (d,)    X's
    b       coefficients of (X - c)/s                                                       (d,)    1
    beta    b/s, log hazard ratio per unit of each column                                   (d,)    1 / X's
    lam     ridge penalty: log L - lam/2 |b|^2 is maximised                                 scalar  1
    J       negative Hessian of it, by b                                                    (d, d)  1
    U       score residuals                                                                 (n, d)  1
    H0      cumulative hazard at X = c                                                      step    1

Each step is halved until the likelihood does not fall. The fit ends when both the decrement gradient' J^-1 gradient and
the step are small: if a column separates those with the event from all others, the decrement vanishes while the
estimate diverges in steps of one. Covariances of b: J^-1 (naive), J^-1 U'U J^-1 (robust).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from autoprog.survival.errors import ConvergenceError, OutcomeError
from autoprog.survival.outcomes import Times
from autoprog.survival.partial_likelihood import PartialLikelihood, Subdistribution, Ties
from autoprog.survival.step import StepFunction

_Floats = NDArray[np.float64]

_MAX_STEPS = 50
_MAX_HALVINGS = 30
_DECREMENT = 1e-14  # squared distance from the maximum, in standard errors
_STEP = 1e-4  # largest change of a standardised coefficient
_ROUNDING = 1e-12  # relative; a smaller fall of the likelihood is rounding
_COLLINEAR = 1e-10  # smallest eigenvalue of the information, scaled to a unit diagonal
_LARGEST_EXPONENT = 700.0


@dataclass(frozen=True, slots=True, eq=False)
class ProportionalHazards:
    """Fitted proportional hazards of an event, or of the subdistribution of a cause.

    Attributes
    ----------
    coefficients : ndarray, shape = (d,), log hazard ratio beta per unit of each column
    centre : ndarray, shape = (d,), weighted mean c of each column
    standard_error : ndarray, shape = (d,), of the coefficients, from the inverse information
    robust_standard_error : ndarray, shape = (d,), from the sandwich; valid even if the model is wrong
    cumulative_hazard : StepFunction, H0, of a patient with columns c
    log_likelihood_null, log_likelihood : float, without the penalty, at beta = 0 and at the estimate
    steps : int, number of Newton steps
    """

    coefficients: _Floats
    centre: _Floats
    standard_error: _Floats
    robust_standard_error: _Floats
    cumulative_hazard: StepFunction
    log_likelihood_null: float
    log_likelihood: float
    steps: int

    def log_hazard_ratio(self, X: ArrayLike) -> NDArray[np.float64]:
        """beta'(x - c) of each patient relative to one with columns c, shape = (n,); higher is worse."""
        return np.asarray((np.asarray(X, dtype=np.float64) - self.centre) @ self.coefficients)

    def risk(self, X: ArrayLike, horizons: ArrayLike) -> NDArray[np.float64]:
        """Risk by each horizon, 1 - exp(-H0(h) exp(beta'(x - c))).

        Parameters
        ----------
        X : array-like, shape = (n, d), columns as in the fit
        horizons : array-like, shape = (H,), times; after the last event the last value holds

        Returns
        -------
        ndarray, shape = (n, H)
            In [0, 1]: 1 - survival of a Cox model, cumulative incidence of a Fine-Gray model.
        """
        H0 = self.cumulative_hazard(np.atleast_1d(np.asarray(horizons, dtype=np.float64)))
        log_H0 = np.log(H0, out=np.full(H0.shape, -np.inf), where=H0 > 0)
        log_H = self.log_hazard_ratio(X)[:, None] + log_H0
        return np.asarray(-np.expm1(-np.exp(np.minimum(log_H, _LARGEST_EXPONENT))))


def checked_columns(X: ArrayLike, n: int) -> _Floats:
    """Check columns (n, d): OutcomeError unless there is a finite row for each patient."""
    columns = np.asarray(X, dtype=np.float64)
    if columns.ndim != 2 or len(columns) != n or columns.shape[1] == 0:
        msg = f"one row a patient and one column or more are needed: got shape {columns.shape} for {n:,} patients"
        raise OutcomeError(msg)
    unusable = np.flatnonzero(~np.isfinite(columns).all(axis=0))
    if len(unusable):
        count = int((~np.isfinite(columns[:, unusable[0]])).sum())
        msg = f"column {unusable[0]} has {count:,} cells that are missing or infinite"
        raise OutcomeError(msg)
    return columns


def fit(
    X: _Floats,
    time: Times,
    fails: NDArray[np.bool_],
    weights: _Floats,
    *,
    ties: Ties,
    ridge: float,
    subdistribution: Subdistribution | None = None,
) -> ProportionalHazards:
    """Maximise the penalised partial likelihood; ConvergenceError if there is no finite or no unique maximum."""
    counted = weights > 0  # at least one of these fails
    if not counted.all():
        X, time, fails, weights = X[counted], time[counted], fails[counted], weights[counted]
        subdistribution = None if subdistribution is None else subdistribution.of(counted)
    centre = weights @ X / weights.sum()
    scaled = np.asfortranarray(X - centre)
    scale = np.sqrt(np.einsum("i,ij,ij->j", weights, scaled, scaled) / weights.sum())
    scale[scale == 0] = 1.0
    scaled /= scale
    likelihood = PartialLikelihood(scaled, time, fails, weights, ties=ties, subdistribution=subdistribution)
    b, steps = _maximise(likelihood, ridge)
    log_L, state = likelihood.at(b)
    _, information = likelihood.derivatives(state)
    inverse = np.linalg.inv(information + ridge * np.eye(len(b)))
    U = likelihood.score_residuals(state)
    robust = inverse @ (U.T @ U) @ inverse
    return ProportionalHazards(
        coefficients=b / scale,
        centre=centre,
        standard_error=np.sqrt(np.diag(inverse)) / scale,
        robust_standard_error=np.sqrt(np.diag(robust)) / scale,
        cumulative_hazard=likelihood.cumulative_hazard(state),
        log_likelihood_null=likelihood.at(np.zeros(len(b)))[0],
        log_likelihood=log_L,
        steps=steps,
    )


def _maximise(likelihood: PartialLikelihood, ridge: float) -> tuple[_Floats, int]:
    """Return b and the number of steps."""
    d = likelihood.X.shape[1]
    b = np.zeros(d)
    log_L, state = likelihood.at(b)
    for count in range(1, _MAX_STEPS + 1):
        gradient, information = likelihood.derivatives(state)
        gradient -= ridge * b
        information += ridge * np.eye(d)
        if count == 1:
            _check_independent(information)
        step = _solve(information, gradient)
        decrement = float(gradient @ step)
        target = log_L - ridge / 2 * float(b @ b)
        for _ in range(_MAX_HALVINGS):
            log_L, state = likelihood.at(b + step)
            reached = log_L - ridge / 2 * float((b + step) @ (b + step))
            if np.isfinite(reached) and reached >= target - _ROUNDING * abs(target):
                break
            step = step / 2
        else:
            msg = "no step of the regression raises its likelihood: the columns are too large or too unlike each other"
            raise ConvergenceError(msg)
        b = b + step
        if decrement < _DECREMENT and np.abs(step).max() < _STEP:
            return b, count
    worst = int(np.abs(step).argmax())
    msg = (
        f"the regression has no finite estimate: after {_MAX_STEPS} steps the coefficient of column {worst} still "
        "grows, as it separates those with the event from the others"
    )
    raise ConvergenceError(msg, worst)


def _solve(information: _Floats, gradient: _Floats) -> _Floats:
    try:
        return np.asarray(cho_solve(cho_factor(information), gradient))
    except LinAlgError as error:
        worst = int(np.diag(information).argmin())
        msg = f"the regression has no finite estimate: nothing is left to tell about the coefficient of column {worst}"
        raise ConvergenceError(msg, worst) from error


def _check_independent(information: _Floats) -> None:
    """Check that columns vary among those at risk when events happen, and none follows from the others."""
    diagonal = np.diag(information)
    constant = np.flatnonzero(diagonal <= _COLLINEAR * max(float(diagonal.max()), 1.0))
    if len(constant):
        msg = f"column {constant[0]} does not vary among those at risk when events happen"
        raise ConvergenceError(msg, int(constant[0]))
    scale = 1 / np.sqrt(diagonal)
    values, vectors = np.linalg.eigh(information * scale * scale[:, None])
    if values[0] < _COLLINEAR:
        worst = int(np.abs(vectors[:, 0]).argmax())
        msg = f"column {worst} follows from the other columns: the coefficients are not unique"
        raise ConvergenceError(msg, worst)
