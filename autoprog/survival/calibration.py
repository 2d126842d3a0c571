"""Calibration of risks by a horizon: expected over observed incidence, calibration intercept and slope.

    h       horizon                                                                         scalar  time
    p       risk of the cause by h                                                          (n,)    [0, 1]
    x       cloglog(p)                                                                      (n,)    real
    theta   pseudo-values of the incidence of the cause by h                                (n,)    real
    O       observed incidence by h, the Aalen-Johansen estimate                            scalar  [0, 1]
    E       expected incidence by h, the mean of p                                          scalar  [0, 1]
    alpha   calibration intercept: cloglog E(theta) = alpha + x; 0 is ideal                 scalar  real
    zeta    calibration slope: cloglog E(theta) = gamma + zeta x; 1 is ideal                scalar  real

A proportional (subdistribution) hazards model is linear on the scale of cloglog, as a logistic model is on that of the
logit. The interval of E/O is the estimate times exp(+- z se(O)/O): E is taken as known.

D-calibration: whether the survival predicted at each patient's own time is uniform, as it is for a right model.

    u       predicted survival of each patient at the patient's own time, S_i(T_i)          (n,)    [0, 1]
    B       number of bins of equal width                                                   scalar  -
    N_b     patients in the bin [(b - 1)/B, b/B), b = 1, ..., B; the last includes 1        (B,)    [0, n]

A patient with the event counts in the bin of u. For a censored one the survival at the event is anywhere below u: every
bin counts by its overlap with [0, u), over u.

    X^2 = sum_b (N_b - n/B)^2 / (n/B),   chi-squared with B - 1 degrees of freedom without censoring

With censoring X^2 is smaller, and the p-value too large.

References
----------
van Geloven et al. 2022, BMJ 377:e069249 (competing risks); McLernon et al. 2023, Ann Intern Med 176:105; pseudo-values:
Andersen & Pohar Perme 2010, Stat Methods Med Res 19:71.
Haider, Hoehn, Davis & Greiner 2020, JMLR 21(85), section 3.4 and appendix B.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import chdtrc, stdtrit

from autoprog.survival.aalen_johansen import aalen_johansen
from autoprog.survival.clusters import summed_by_group
from autoprog.survival.estimates import Interval, normal_quantile
from autoprog.survival.outcomes import (
    Events,
    OutcomeError,
    Times,
    check_horizons,
    check_outcomes,
    check_probabilities,
    risk_columns,
)
from autoprog.survival.pseudo_values import cloglog, fit_cloglog, inverse_cloglog, pseudo_values

_Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Calibration:
    """Calibration of risks by a horizon.

    Attributes
    ----------
    expected_observed : Interval
        Expected over observed incidence; 1 is ideal, above 1 the risks are too high overall.
    observed : Interval
        Observed incidence.
    slope : Interval or None
        1 is ideal; below 1 the risks are too extreme, above 1 too moderate. None if it has no finite estimate: all
        risks are equal, or they separate those with the event from those without.
    intercept : Interval
        0 is ideal; above 0 the risks are too low overall, below 0 too high.
    """

    expected_observed: Interval
    observed: Interval
    slope: Interval | None
    intercept: Interval


def calibration_at(
    time: ArrayLike,
    event: ArrayLike,
    risk: ArrayLike,
    horizon: float,
    cause: int = 1,
    *,
    level: float = 0.95,
    groups: NDArray[np.integer] | None = None,
) -> Calibration:
    """Calibration of risks by a horizon.

    Parameters
    ----------
    time, event : array-like, shape = (n,), times and codes, 0 for censored
    risk : array-like, shape = (n,)
        Risk of the cause by the horizon, in [0, 1], of patients whom the model was not fitted on.
    horizon : float within the follow-up
    cause : int
        Code of the event.
    level : float
        Confidence level of the intervals.
    groups : ndarray of int, shape = (n,), or None
        Codes, from 0, of patients who belong together: the visits of one patient, the patients of one hospital.

    Returns
    -------
    Calibration
        Expected over observed, intercept, slope. Censoring must not depend on the risk; if it depends strongly, compare
        within strata.

    Raises
    ------
    OutcomeError, HorizonError, NoEventError
        If times, codes or risks are invalid; if the horizon is beyond the follow-up; if nobody had the event by then.
    """
    t, codes, p = checked_risks(time, event, risk, horizon, cause)
    observed = aalen_johansen(t, codes).at(horizon, cause, level)
    incidence, error = float(observed.estimate[0]), float(observed.standard_error[0])
    known = Interval(incidence, float(observed.lower[0]), float(observed.upper[0]))
    theta = pseudo_values(t, codes, horizon, cause)[:, 0]
    z = normal_quantile(level)
    if groups is not None:
        sums, m = summed_by_group(theta - theta.mean(), groups)
        z = float(stdtrit(m - 1, (1 + level) / 2))
        error = float(np.sqrt(m / (m - 1) * (sums @ sums)) / len(theta))
        # On the scale of cloglog, like the Aalen-Johansen interval.
        lower, upper = inverse_cloglog(
            cloglog(np.array([incidence])) + np.array([-1, 1]) * z * error / _cloglog_slope(incidence)
        ).tolist()
        known = Interval(incidence, lower, upper)
    ratio, spread = float(p.mean()) / incidence, float(np.exp(z * error / incidence))
    x, ones = cloglog(p), np.ones((len(p), 1))
    intercept = _last_coefficient(theta, ones, x, np.zeros(1), z, groups)
    slope = None
    if _overlap(t, codes, x, horizon, cause):
        both = np.column_stack([ones, x])
        slope = _last_coefficient(theta, both, np.zeros(len(x)), np.array([0.0, 1.0]), z, groups)
    return Calibration(
        Interval(ratio, ratio / spread, ratio * spread),
        known,
        slope,
        intercept,
    )


def checked_risks(
    time: ArrayLike, event: ArrayLike, risk: ArrayLike, horizon: float, cause: int
) -> tuple[Times, Events, _Floats]:
    """Check times, codes, risks and a horizon, raising as `calibration_at` does."""
    t, codes = check_outcomes(time, event)
    check_horizons(t, codes, horizon, cause=cause)
    return t, codes, check_probabilities(risk_columns(risk, len(t), 1)[0])


def _overlap(time: Times, event: Events, x: _Floats, horizon: float, cause: int) -> bool:
    """Whether x overlaps between those known to have the event by the horizon and those known not to."""
    with_event = x[(time <= horizon) & (event == cause)]
    without = x[(time > horizon) | ((event > 0) & (event != cause))]
    return bool(len(without) and without.max() > with_event.min() and with_event.max() > without.min())


def _cloglog_slope(p: float) -> float:
    """Derivative of the risk p by its cloglog."""
    return -(1 - p) * float(np.log1p(-p))


def _last_coefficient(
    theta: _Floats, Z: _Floats, offset: _Floats, start: _Floats, z: float, groups: NDArray[np.integer] | None
) -> Interval:
    beta, covariance = fit_cloglog(theta, Z, offset, start, groups)
    estimate, reach = float(beta[-1]), z * float(np.sqrt(covariance[-1, -1]))
    return Interval(estimate, estimate - reach, estimate + reach)


@dataclass(frozen=True, slots=True, eq=False)
class DCalibration:
    """Distance from uniform of the survival at the patients' own times.

    Attributes
    ----------
    statistic : float
        X^2, 0 or more; lower is better.
    p_value : float in [0, 1], probability of a larger X^2 if the model is right; small speaks against it
    proportions : ndarray, shape = (B,)
        Shares of the patients by bin; 1/B each is ideal.
    """

    statistic: float
    p_value: float
    proportions: NDArray[np.float64]


def d_calibration(survival_at_time: ArrayLike, event: ArrayLike, bins: int = 10) -> DCalibration:
    """Test the whole predicted distribution of the time to the event.

    Parameters
    ----------
    survival_at_time : array-like, shape = (n,)
        Survival free of any event that the model predicts for each patient at the patient's own time.
    event : array-like, shape = (n,), 0 for censored; every other code is the event
    bins : int
        At least 2.

    Returns
    -------
    DCalibration
        Statistic, p-value, proportions. With censoring the p-value is too large.

    Raises
    ------
    OutcomeError
        If the lengths differ, a survival is missing or outside [0, 1], or there are fewer than two bins.
    """
    u, failed = np.asarray(survival_at_time, dtype=np.float64), np.asarray(event) != 0
    if u.ndim != 1 or failed.shape != u.shape or len(u) == 0 or np.isnan(u).any():
        msg = f"one survival and one event code a patient are needed: got shapes {u.shape} and {failed.shape}"
        raise OutcomeError(msg)
    if bins < 2:
        msg = f"two bins or more are needed, not {bins}"
        raise OutcomeError(msg)
    check_probabilities(u)
    bin_of = np.minimum((u * bins).astype(np.int64), bins - 1)
    counts = np.bincount(bin_of[failed], minlength=bins) + _spread(u[~failed], bin_of[~failed], bins)
    expected = len(u) / bins
    statistic = float(((counts - expected) ** 2).sum() / expected)
    return DCalibration(statistic, float(chdtrc(bins - 1, statistic)), counts / len(u))


def _spread(u: NDArray[np.float64], bin_of: NDArray[np.int64], bins: int) -> NDArray[np.float64]:
    """Censored patients by bin: the bins below that of u in full, and the part of the own bin below u."""
    positive = u > 0
    # A patient with a survival of 0 is surely in the first bin.
    whole = np.divide(1 / bins, u, out=np.zeros_like(u), where=positive)
    own = np.where(positive, 1 - bin_of * whole, 1.0)
    ends = np.bincount(bin_of, whole, minlength=bins)
    below = np.cumsum(ends[::-1])[::-1] - ends
    return np.asarray(below + np.bincount(bin_of, own, minlength=bins))
