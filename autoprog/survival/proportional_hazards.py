"""Proportional hazards, fitted by Newton's method: Cox, cause-specific, and Fine and Gray.

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

Cox's regression for large cohorts: the partial likelihood of `partial_likelihood`, without competing events.

scikit-survival loops over the patients, in minutes instead of seconds, and combines a Breslow baseline with Efron's
coefficients. Here the baseline follows the ties, as in R's survival.

Fine and Gray's regression: proportional hazards of the subdistribution of a cause.

    T       time                                                                            (n,)    time
    G       censoring survival, failures before censorings at ties                          step    [0, 1]
    H0      cumulative subdistribution hazard of a patient with mean columns                step    1

A patient with a competing event never has the event of interest and stays at risk of it, with a weight at u that falls
as G(u-)/G(T-) for the censoring that might have followed. This is a factor of u times one of the patient: sums over the
risk set stay cumulative sums, and the fit costs as much as Cox's. The incidence is 1 - exp(-H0(t) exp(beta'(x - c))).
Incidences of several causes, each fitted on its own, can sum to more than 1: see `rescale_causes`.

Cumulative incidence from the hazards of all causes, bounded by 1, and rescaling of incidences that sum to more.

    u       times at which a hazard jumps, up to the last horizon                           (m,)    time
    dH0_k   jump of the cumulative hazard of cause k, at log hazard ratio 0                 (m,)    1
    eta_k   log hazard ratio of a patient for cause k                                       (n, K)  1
    dH_k    dH0_k exp(eta_k);  dH = sum_k dH_k                                              (n, m)  1
    S       survival free of any event, exp(-sum dH)                                        (n, m)  [0, 1]
    F_k     cumulative incidence of cause k                                                 (n, H)  [0, 1]

    F_k(h) = sum_{u <= h} S(u-) (1 - exp(-dH(u))) dH_k(u)/dH(u)

Each jump of 1 - S is shared among the causes by their hazards, so that F_1 + ... + F_K = 1 - S. The plain sum of
S(u-) dH_k(u) exceeds 1 for a patient of high risk.

References
----------
Cox 1972, J R Stat Soc B 34:187.
Fine & Gray 1999, JASA 94:496; the weights in the form of a counting process: Geskus 2011, Biometrics 67:39.
Therneau, Crowson & Atkinson, Multi-state models and competing risks, vignette of the R package survival;
Benichou & Gail 1990, Biometrics 46:813.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from autoprog.survival.kaplan_meier import censoring_survival
from autoprog.survival.outcomes import ConvergenceError, OutcomeError, Times, check_events, check_outcomes
from autoprog.survival.partial_likelihood import PartialLikelihood, Subdistribution, Ties, check_weights
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
    coefficients : ndarray, shape = (d,)
        Log hazard ratio beta per unit of each column.
    centre : ndarray, shape = (d,)
        Weighted mean c of each column.
    standard_error : ndarray, shape = (d,)
        Of the coefficients, from the inverse information.
    robust_standard_error : ndarray, shape = (d,)
        From the sandwich; valid even if the model is wrong.
    cumulative_hazard : StepFunction
        H0, of a patient with columns c.
    log_likelihood_null, log_likelihood : float
        Without the penalty, at beta = 0 and at the estimate.
    steps : int
        Number of Newton steps.
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
        msg = f"one row per patient and one column or more are needed: got shape {columns.shape} for {n:,} patients"
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


def fit_cox(
    X: ArrayLike,
    time: ArrayLike,
    event: ArrayLike,
    *,
    ties: Ties = "efron",
    ridge: float = 0.0,
    weights: NDArray[np.generic] | None = None,
) -> ProportionalHazards:
    """Fit Cox's model.

    Parameters
    ----------
    X : array-like, shape = (n, d), columns, none constant and none a combination of the others
    time : array-like, shape = (n,)
    event : array-like, shape = (n,)
        Codes: 1 is the event, all others are censored. For the hazard of another cause pass `event == cause`.
    ties : {"efron", "breslow"}, how tied events are counted, in the coefficients and in the baseline
    ridge : float, 0 or more
        Penalty `ridge / 2` times the sum of squared coefficients of the standardised columns, against the summed log
        partial likelihood. Above 0 every estimate is finite and unique.
    weights : ndarray, shape = (n,), optional, case weights, 0 or more
        With Breslow's ties a weight counts as copies of the patient; Efron's take the copies as one event of that
        weight.

    Returns
    -------
    ProportionalHazards
        `risk` gives 1 - S.

    Raises
    ------
    OutcomeError, NoEventError, ConvergenceError
        If times, codes, columns or weights are invalid; if nobody had the event; if there is no finite or unique
        estimate.
    """
    t, codes = check_outcomes(time, event)
    columns = checked_columns(X, len(t))
    w = np.ones(len(t)) if weights is None else check_weights(weights, len(t))
    check_events(t[w > 0], codes[w > 0], np.inf, 1)
    return fit(columns, t, codes == 1, w, ties=ties, ridge=ridge)


def fit_fine_gray(
    X: ArrayLike,
    time: ArrayLike,
    event: ArrayLike,
    *,
    cause: int = 1,
    ties: Ties = "breslow",
    ridge: float = 0.0,
    weights: NDArray[np.generic] | None = None,
) -> ProportionalHazards:
    """Fit Fine and Gray's model.

    Parameters
    ----------
    X : array-like, shape = (n, d), columns, none constant and none a combination of the others
    time, event : array-like, shape = (n,), times and codes, 0 for censored
    cause : int
        Code of the event of interest; all others compete.
    ties, ridge
        As for `fit_cox`; the penalty is against the summed log pseudo likelihood.
    weights : ndarray, shape = (n,), optional, case weights, 0 or more; the censoring is learnt with them too

    Returns
    -------
    ProportionalHazards
        `risk` gives the cumulative incidence of the cause. The robust standard error takes the censoring as known; the
        other one, for comparison, takes the weights for numbers of patients.

    Raises
    ------
    OutcomeError, NoEventError, ConvergenceError
        As `fit_cox`.

    Notes
    -----
    R's `cmprsk::crr` takes censorings before failures at ties, so the fourth decimal differs if there are any;
    `survival::finegray` does not.
    """
    t, codes = check_outcomes(time, event)
    columns = checked_columns(X, len(t))
    w = np.ones(len(t)) if weights is None else check_weights(weights, len(t))
    check_events(t[w > 0], codes[w > 0], np.inf, cause)
    competing = (codes > 0) & (codes != cause)
    stay = Subdistribution(competing, censoring_survival(t, codes, w))
    return fit(columns, t, codes == cause, w, ties=ties, ridge=ridge, subdistribution=stay)


_CELLS = 2**20  # patients times jumps held at once, 8 MiB per array


def cause_specific_incidence(
    hazards: Sequence[StepFunction], log_hazard_ratio: ArrayLike, horizons: ArrayLike
) -> NDArray[np.float64]:
    """Cumulative incidence of every cause, in time proportional to n times the number of jumps of the hazards.

    Parameters
    ----------
    hazards : sequence of StepFunction, length = K
        Cumulative hazard of each cause, from 0 upwards, of a patient with log hazard ratio 0.
    log_hazard_ratio : array-like, shape = (n, K)
    horizons : array-like, shape = (H,), ascending

    Returns
    -------
    ndarray, shape = (n, H, K)
        In [0, 1], not falling with the horizon; the sum over the causes is at most 1.

    Raises
    ------
    OutcomeError
        If the log hazard ratios have another shape or one is missing.
    """
    eta = np.asarray(log_hazard_ratio, dtype=np.float64)
    h = np.atleast_1d(np.asarray(horizons, dtype=np.float64))
    if eta.ndim != 2 or eta.shape[1] != len(hazards) or np.isnan(eta).any():
        msg = f"log hazard ratios for {len(hazards)} causes are needed, none missing: got shape {eta.shape}"
        raise OutcomeError(msg)
    u = np.unique(np.concatenate([hazard.times for hazard in hazards]))
    u = u[u <= h.max()]
    jumps = np.stack([np.diff(hazard(u), prepend=0.0) for hazard in hazards])
    log_jumps = np.log(jumps, out=np.full(jumps.shape, -np.inf), where=jumps > 0)
    until = np.searchsorted(u, h, side="right")
    F = np.zeros((len(eta), len(h), len(hazards)))
    patients = max(1, _CELLS // max(1, len(u)))
    for first in range(0, len(eta), patients):
        F[first : first + patients] = _incidence(log_jumps, eta[first : first + patients], until)
    return F


def bounded_incidence(dH: NDArray[np.float64]) -> NDArray[np.float64]:
    """Cumulative incidence (n, K, m), at most 1 in sum, of K causes after each jump dH (n, K, m) of their hazards."""
    total = dH.sum(axis=1)
    # An overflowing sum is infinite, and the survival rightly 0.
    with np.errstate(over="ignore"):
        S = np.exp(-np.cumsum(total, axis=1))
    fall = np.concatenate([np.ones((len(dH), 1)), S[:, :-1]], axis=1) * -np.expm1(-total)
    share = np.divide(dH, total[:, None], out=np.zeros_like(dH), where=total[:, None] > 0)
    F: NDArray[np.float64] = np.cumsum(fall[:, None] * share, axis=2)
    return F


def _incidence(log_jumps: _Floats, eta: _Floats, until: NDArray[np.intp]) -> _Floats:
    """F of some patients; `until` is the number of jumps by each horizon."""
    F = bounded_incidence(np.exp(np.minimum(eta[:, :, None] + log_jumps, _LARGEST_EXPONENT)))
    by_now = np.concatenate([np.zeros((*F.shape[:2], 1)), F], axis=2)[:, :, until]
    return by_now.transpose(0, 2, 1)


def rescale_causes(risks: ArrayLike) -> tuple[NDArray[np.float64], int]:
    """Scale risks (..., K) of K causes that sum to more than 1 down to 1; return them and the number of such sums."""
    r = np.asarray(risks, dtype=np.float64)
    total = r.sum(axis=-1, keepdims=True)
    return r / np.maximum(total, 1.0), int((total > 1).sum())
