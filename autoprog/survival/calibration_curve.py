"""Observed incidence at each predicted risk: a smooth calibration curve with its ICI, and groups of patients.

    h       horizon                                                                         scalar  time
    p       risk of the cause by h                                                          (n,)    [0, 1]
    x       cloglog(p)                                                                      (n,)    real
    theta   pseudo-values of the incidence of the cause by h                                (n,)    real
    Z(x)    restricted cubic spline of x                                                    (n, k)  -
    f       smooth calibration curve, cloglog f = Z(x) beta, fitted to theta                (n,)    [0, 1]

    ICI = mean |p - f|,  E50 = median |p - f|,  E90 = 90th percentile of |p - f|

The link keeps the curve in [0, 1]. It takes one regression for any number of patients, while the time of a local
smoother grows with their square.

Restricted cubic splines: smooth, and linear beyond the first and the last knot.

    x       variable                                              (n,)    any
    t       knots, ascending                                      (k,)    as x
    Z       columns 1, x and the k - 2 nonlinear terms            (n, k)  -

    Z_{j+2} = [ (x - t_j)+^3 - (x - t_{k-1})+^3 (t_k - t_j)/(t_k - t_{k-1})
                + (x - t_k)+^3 (t_{k-1} - t_j)/(t_k - t_{k-1}) ] / (t_k - t_1)^2,   j = 1, ..., k - 2

scikit-learn's splines are not linear beyond their last knots.

References
----------
Austin, Harrell & van Klaveren 2020, Stat Med 39:2714; competing risks: Austin, Putter, Giardiello & van Klaveren 2022,
Diagn Progn Res 6:2; pseudo-values in the place of a second model: Gerds, Andersen & Kattan 2014, Stat Med 33:3191.
Harrell 2015, Regression Modeling Strategies, 2nd ed., section 2.4.5.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import chdtri, fdtri

from autoprog.survival.aalen_johansen import aalen_johansen
from autoprog.survival.calibration import checked_risks
from autoprog.survival.estimates import Interval, grouped_quantile
from autoprog.survival.outcomes import OutcomeError
from autoprog.survival.pseudo_values import cloglog, fit_cloglog, inverse_cloglog, pseudo_values

_DRAWS, _MAX_POINTS = 400, 2000


def curve_distances(
    p: _Floats,
    x: _Floats,
    Z: _Floats,
    law: tuple[_Floats, _Floats],
    inverse_link: Callable[[_Floats], _Floats],
    *,
    level: float = 0.95,
    groups: NDArray[np.integer] | None = None,
) -> tuple[Interval, Interval, Interval]:
    """Mean, median and 90th percentile of the distance d of risks from a smooth calibration curve.

    The intervals are basic ones, 2 d - quantiles of d(beta*), of a bootstrap of the patients and of the curve. A
    resampled curve follows chance twice and is further off, which the basic interval subtracts. If the risks may be
    calibrated by Wald's test, intervals begin at 0. With m groups beta* has Student's law with m - 1 degrees of freedom
    and the test is Hotelling's; no more groups than coefficients say nothing, and the intervals are [0, 1].

    Parameters
    ----------
    p : ndarray, shape = (n,)
        Risks.
    x : ndarray, shape = (n,)
        Link of the risks: Z beta of a curve on which all lie.
    Z : ndarray, shape = (n, k)
        Design matrix of the curve.
    law : pair of ndarray, shapes = (k,) and (k, k), coefficients of the curve and their covariance
    inverse_link : callable (ndarray) -> ndarray
        From Z beta to risks.
    level : float
        Confidence level of the intervals.
    groups : ndarray of int, shape = (n,), or None
        Groups of correlated patients, by which the covariance is.

    Returns
    -------
    tuple of three Interval
        ICI, E50 and E90.
    """
    beta, covariance = law
    found = _summaries(np.abs(p - inverse_link(Z @ beta)))
    k, m = len(beta), len(p) if groups is None else len(np.unique(groups))
    if groups is not None and m <= k:
        mean, median, most = (Interval(float(d), 0.0, 1.0) for d in found)
        return mean, median, most
    rng = np.random.default_rng(0)
    # Many patients are thinned evenly and not redrawn: their variation is small compared with the curve's.
    part = np.argsort(p, kind="stable")[np.unique(np.linspace(0, len(p) - 1, _MAX_POINTS).astype(np.intp))]
    again = np.empty((_DRAWS, 3))
    steps = rng.standard_normal((_DRAWS, k))
    if groups is not None:
        steps *= np.sqrt((m - 1) / rng.chisquare(m - 1, (_DRAWS, 1)))
    for b, drawn in enumerate(beta + steps @ _root(covariance)):
        rows = part if len(part) < len(p) else part[rng.integers(len(part), size=len(part))]
        again[b] = _summaries(np.abs(p[rows] - inverse_link(Z[rows] @ drawn)))
    lower, upper = 2 * found - np.quantile(again, [(1 + level) / 2, (1 - level) / 2], axis=0)
    off = beta - np.linalg.lstsq(Z, x)[0]
    most_off = chdtri(k, 1 - level) if groups is None else k * (m - 1) / (m - k) * fdtri(k, m - k, level)
    may_be_calibrated = off @ np.linalg.pinv(covariance, hermitian=True) @ off < most_off
    mean, median, most = (
        Interval(float(d), 0.0 if may_be_calibrated else float(np.clip(low, 0.0, d)), float(max(high, d)))
        for d, low, high in zip(found, lower, upper, strict=True)
    )
    return mean, median, most


def curve_reach(
    z: _Floats, covariance: _Floats, level: float, groups: NDArray[np.integer] | None = None
) -> NDArray[np.float64]:
    """Distance of a curve's pointwise limits from it, at columns z (m, k); infinite if no more groups than columns."""
    if groups is not None and len(np.unique(groups)) <= z.shape[1]:
        return np.full(len(z), np.inf)
    variance = np.maximum(np.einsum("ij,jk,ik->i", z, covariance, z), 0.0)
    return np.asarray(grouped_quantile(level, groups) * np.sqrt(variance), dtype=np.float64)


def _root(covariance: _Floats) -> _Floats:
    """Symmetric root; clips eigenvalues that rounding leaves below 0."""
    eigenvalues, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
    root: _Floats = (vectors * np.sqrt(np.maximum(eigenvalues, 0.0))) @ vectors.T
    return root


def _summaries(distance: _Floats) -> _Floats:
    e50, e90 = np.quantile(distance, [0.5, 0.9], axis=-1)
    return np.stack([distance.mean(axis=-1), e50, e90], axis=-1)


# Percentiles at which Harrell places 5 and 3 knots; 3 where too few have the rarer outcome for 5 coefficients.
_FIVE = (0.05, 0.275, 0.5, 0.725, 0.95)
_THREE = (0.1, 0.5, 0.9)
_ENOUGH = 100

_APART = 6  # decimals in which two knots must differ


def spline_knots(x: NDArray[np.float64], events: float) -> NDArray[np.float64]:
    """Up to 5 knots at Harrell's percentiles, 3 with fewer than 100 patients of the rarer outcome; fewer for tied x."""
    percentiles = _FIVE if events >= _ENOUGH else _THREE
    # Knots are observed values, so there are never more of them than coefficients that can be estimated.
    knots = np.unique(np.quantile(x, percentiles, method="inverted_cdf").round(_APART))
    # Where so many values are equal that all knots coincide, the two ends, for a line.
    return knots if len(knots) > 1 or np.ptp(x) == 0 else np.array([x.min(), x.max()])


def spline_columns(x: NDArray[np.float64], t: NDArray[np.float64]) -> NDArray[np.float64]:
    """Columns (n, k) of a restricted cubic spline of x (n,) with knots t (k,): one gives a constant, two a line."""
    if len(t) < 2:
        return np.ones((len(x), 1))
    return np.column_stack([np.ones(len(x)), x, *(_nonlinear(x, t, j) for j in range(len(t) - 2))])


def _nonlinear(x: NDArray[np.float64], t: NDArray[np.float64], j: int) -> NDArray[np.float64]:
    def cubed(u: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.maximum(u, 0.0) ** 3

    before_last, last = t[-2:]
    tail = cubed(x - before_last) * (last - t[j]) - cubed(x - last) * (before_last - t[j])
    term: NDArray[np.float64] = (cubed(x - t[j]) - tail / (last - before_last)) / (last - t[0]) ** 2
    return term


_Floats = NDArray[np.float64]

_POINTS = 51
_OUTERMOST = 0.01  # share of patients beyond either end of the drawn curve


@dataclass(frozen=True, slots=True, eq=False)
class CalibrationCurve:
    """A smooth calibration curve and the distance of the risks from it.

    Attributes
    ----------
    ici : float in [0, 1], integrated calibration index, the mean distance over patients; smaller is better
    e50, e90 : float
        Median and 90th percentile of the distance.
    risk : ndarray, shape = (k,)
        Risks of the curve, ascending, by default from the patients' 1st to 99th percentile.
    observed, lower, upper : ndarray, shape = (k,)
        The curve and its pointwise interval.
    knots : int
        Number of knots; 1 if all risks are equal, 2 if they differ too little for more than a line.
    distances : tuple of three Interval, `ici`, `e50` and `e90` with their intervals
    """

    ici: float
    e50: float
    e90: float
    risk: NDArray[np.float64]
    observed: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    knots: int
    distances: tuple[Interval, Interval, Interval]


@dataclass(frozen=True, slots=True, eq=False)
class CalibrationGroups:
    """Groups of patients by their risk, in ascending order.

    Attributes
    ----------
    n : ndarray of int, shape = (k,)
        Numbers of patients.
    risk : ndarray, shape = (k,)
        Mean risk.
    observed : ndarray, shape = (k,)
        Aalen-Johansen estimate; nan if no patient of the group was followed to the horizon and not all had an event.
    lower, upper : ndarray, shape = (k,)
        Its interval; nan where the estimate is 0, 1 or nan.
    """

    n: NDArray[np.int64]
    risk: NDArray[np.float64]
    observed: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]


def calibration_curve(
    time: ArrayLike,
    event: ArrayLike,
    risk: ArrayLike,
    horizon: float,
    cause: int = 1,
    *,
    level: float = 0.95,
    groups: NDArray[np.integer] | None = None,
    at: NDArray[np.float64] | None = None,
) -> CalibrationCurve:
    """Smooth calibration curve of risks by a horizon.

    Parameters
    ----------
    time, event, risk, horizon, cause, level, groups
        As for `calibration_at`.
    at : ndarray, shape = (k,), optional
        Risks of the curve's points, in [0, 1], ascending; by default from the patients' 1st to 99th percentile.

    Returns
    -------
    CalibrationCurve
        The curve, ICI, E50 and E90. Even a perfectly calibrated model has an ICI above 0, since the curve follows
        chance: compare models on the same patients, not with 0.

    Raises
    ------
    OutcomeError, HorizonError, NoEventError
        As `calibration_at`.
    """
    t, codes, p = checked_risks(time, event, risk, horizon, cause)
    theta = pseudo_values(t, codes, horizon, cause)[:, 0]
    x = cloglog(p)
    had = (t <= horizon) & (codes == cause)
    without = (t > horizon) | ((codes != 0) & (codes != cause))
    knots = spline_knots(x, min(int(had.sum()), int(without.sum())))
    Z = spline_columns(x, knots)
    # Start at a line of slope 1, the estimate for calibrated risks.
    start = np.zeros(Z.shape[1])
    start[min(1, len(start) - 1)] = 1.0 if len(start) > 1 else float(x.mean())
    beta, covariance = fit_cloglog(theta, Z, np.zeros(len(x)), start, groups)
    distances = curve_distances(p, x, Z, (beta, covariance), inverse_cloglog, level=level, groups=groups)
    if at is None:
        lowest, highest = np.quantile(p, [_OUTERMOST, 1 - _OUTERMOST])
        at = np.unique(np.linspace(float(lowest), float(highest), _POINTS))
    z = spline_columns(cloglog(at), knots)
    eta, reach = z @ beta, curve_reach(z, covariance, level, groups)
    lower, upper = inverse_cloglog(eta - reach), inverse_cloglog(eta + reach)
    return CalibrationCurve(
        distances[0].estimate,
        distances[1].estimate,
        distances[2].estimate,
        at,
        inverse_cloglog(eta),
        lower,
        upper,
        len(knots),
        distances,
    )


def calibration_groups(
    time: ArrayLike,
    event: ArrayLike,
    risk: ArrayLike,
    horizon: float,
    *,
    cause: int = 1,
    groups: int = 10,
    level: float = 0.95,
) -> CalibrationGroups:
    """Mean risk against observed incidence in groups of equal size.

    Parameters
    ----------
    time, event, risk, horizon, cause
        As for `calibration_at`.
    groups : int
        Largest number of groups; fewer are possible, as patients with equal risks stay together.
    level : float
        Confidence level of the intervals.

    Returns
    -------
    CalibrationGroups
        In ascending order of risk.

    Raises
    ------
    OutcomeError, HorizonError, NoEventError
        As `calibration_at`; OutcomeError if `groups` is below 1.
    """
    if groups < 1:
        msg = f"one group or more is needed, not {groups}"
        raise OutcomeError(msg)
    t, codes, p = checked_risks(time, event, risk, horizon, cause)
    causes = max(cause, int(codes.max()))
    cuts = np.unique(np.quantile(p, np.arange(1, groups) / groups, method="inverted_cdf"))
    group = np.searchsorted(cuts, p)
    members = [np.flatnonzero(group == g) for g in np.unique(group)]
    rows = [(p[i].mean(), *_observed(t[i], codes[i], horizon, cause, causes, level)) for i in members]
    return CalibrationGroups(np.array([len(i) for i in members]), *np.array(rows).T)


def _observed(
    time: _Floats, event: NDArray[np.int64], horizon: float, cause: int, causes: int, level: float
) -> tuple[float, float, float]:
    found = aalen_johansen(time, event, causes=causes)
    if time.max() < horizon and found.survival(time.max()) > 0:
        return np.nan, np.nan, np.nan
    at = found.at(horizon, cause, level)
    return float(at.estimate[0]), float(at.lower[0]), float(at.upper[0])
