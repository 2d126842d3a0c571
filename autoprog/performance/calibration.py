"""Calibration: slope, intercept, expected over observed events, and smooth curves with their distances.

    y       outcomes, 1 for a patient with the outcome                  (n,)
    p       risks                                                       (n,)
    x       linear predictor, logit(p)                                  (n,)
    alpha   calibration intercept: logit P(y = 1) = alpha + x, 0 is ideal; above 0, risks are too low on the whole
    zeta    calibration slope: logit P(y = 1) = gamma + zeta x, 1 is ideal; below 1, risks are too extreme
    Z       design matrix of one of the two regressions                 (n, 1) or (n, 2)
    beta    its coefficients                                            (1,) or (2,)

Distance of risks from a smooth calibration curve: ICI, E50 and E90.

    y       outcomes, 1 for a patient with the outcome                        (n,)
    p       risks                                                             (n,)
    x       linear predictor, logit(p)                                        (n,)
    Z       restricted cubic spline of x, of `autoprog.survival.spline_columns`   (n, k)
    f       smooth calibration curve, P(y = 1 | p) = expit(Z beta)            (n,)

    ICI = mean |p - f|,  E50 = median |p - f|,  E90 = 90th percentile of |p - f|

Austin and Steyerberg use loess, whose time grows with the square of the number of patients; a spline takes one logistic
regression. scikit-learn's splines are not linear beyond their last knots, where risks are few.

References
----------
Cox 1958, Biometrika 45:562; Van Calster et al. 2019, BMC Medicine 17:230.
Austin & Steyerberg 2019, Statistics in Medicine 38:4051; the spline and its knots: Harrell 2015, Regression Modeling
Strategies, 2nd ed., section 2.4.5.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from autoprog.performance.influence import of_expected_observed, standard_error
from autoprog.performance.logistic import fit_logistic, overlap
from autoprog.performance.metrics import compute_logit
from autoprog.performance.score import LEVEL, make_interval, n_rarer
from autoprog.survival import Interval, curve_distances, curve_reach, grouped_quantile, spline_columns, spline_knots


@dataclass(frozen=True, slots=True)
class Calibration:
    """Calibration of risks."""

    slope: Interval | None  # 1 is ideal, below 1 too extreme; None if risks are equal or separate the outcomes
    intercept: Interval  # 0 is ideal; above 0 the risks are too low on the whole
    expected_observed: Interval  # 1 is ideal; above 1 the risks are too high on the whole
    level: float = LEVEL  # of the intervals

    def to_json(self) -> dict[str, Any]:
        """JSON document; the ratio's interval is a separate entry."""
        ratio = self.expected_observed
        document = {**asdict(self), "expected_observed": ratio.estimate}
        return {**document, "expected_observed_interval": {"lower": ratio.lower, "upper": ratio.upper}}


def compute_calibration(
    y: NDArray[np.integer], p: NDArray[np.floating], groups: NDArray[np.integer] | None = None
) -> Calibration:
    """Estimate the calibration of risks.

    Parameters
    ----------
    y, p : ndarray, shape = (n_patients,)
        Outcomes 0 and 1, both present; out-of-sample risks in [0, 1] (in-sample risks give a meaningless slope).
    groups : ndarray of int, shape = (n_patients,), or None
        Groups of correlated patients, such as one patient's visits or one hospital's patients.

    Returns
    -------
    Calibration
        Slope, intercept and ratio of expected to observed events.
    """
    p = np.asarray(p, dtype=np.float64)
    x = compute_logit(p)
    ones = np.ones((len(x), 1))
    intercept = _last_coefficient(y, ones, x, groups)
    slope = None
    if overlap(y, x):
        slope = _last_coefficient(y, np.column_stack([ones, x]), np.zeros(len(x)), groups)
    return Calibration(slope, intercept, expected_observed(y, p, groups))


def expected_observed(
    y: NDArray[np.integer], p: NDArray[np.floating], groups: NDArray[np.integer] | None = None
) -> Interval:
    """Estimate the ratio of expected to observed events, with its interval."""
    ratio, error = float(p.sum() / y.sum()), standard_error(of_expected_observed(y, p), groups)
    return make_interval("expected_observed", ratio, error, n_rarer(y, groups), grouped=groups is not None)


def _last_coefficient(
    y: NDArray[np.integer], Z: NDArray[np.float64], offset: NDArray[np.float64], groups: NDArray[np.integer] | None
) -> Interval:
    """Fit an unpenalised logistic regression; its last coefficient with Wald's interval of level `LEVEL`."""
    beta, covariance = fit_logistic(y, Z, offset, groups)
    estimate, error = float(beta[-1]), float(np.sqrt(covariance[-1, -1]))
    reach = grouped_quantile(LEVEL, groups) * error
    return Interval(estimate, estimate - reach, estimate + reach)


_METHODS = {  # by number of knots
    1: "one frequency for all, as the risks are equal",
    2: "logistic in the logit of the risk, as the risks differ too little for a spline, or it separates the outcomes",
}
_LINE, _DIVERGED = 2, 15.0  # knots of a line; log odds from which a curve has no finite estimate
_SPLINE = "logistic in a restricted cubic spline of the logit of the risk, {} knots"

_NAMES = ("ici", "e50", "e90")
_PERCENTILES, _DECIMALS = np.linspace(0.01, 0.99, 50), 6  # default points of a curve


@dataclass(frozen=True, slots=True)
class SmoothCalibration:
    """Distance of risks from a smooth calibration curve, in [0, 1]; smaller is better."""

    ici: float  # integrated calibration index: mean over patients
    e50: float  # median over patients
    e90: float  # 90th percentile over patients
    method: str  # how the curve was smoothed
    intervals: dict[str, Interval]  # by name


def smooth_calibration(
    y: NDArray[np.integer], p: NDArray[np.floating], groups: NDArray[np.integer] | None = None
) -> SmoothCalibration | None:
    """Compute the distance of risks from the smoothed frequency of the outcome.

    Parameters
    ----------
    y, p : ndarray, shape = (n_patients,)
        Outcomes 0 and 1, both present; risks in [0, 1] of patients on whom the model was not fitted.
    groups : ndarray of int, shape = (n_patients,), or None
        Groups of correlated patients.

    Returns
    -------
    SmoothCalibration or None
        None if the risks separate the outcomes, so that the curve has no finite estimate.

    Notes
    -----
    By chance a perfectly calibrated model has an ICI of about 0.03 in 300 patients, of about 0.01 in 5,000: compare
    models on the same patients, not with 0.
    """
    risks = np.asarray(p, dtype=np.float64)
    x = compute_logit(risks)
    if np.ptp(x) > 0 and not overlap(y, x):
        return None
    t, Z, law = _fit_curve(y, x, groups)
    found = curve_distances(risks, x, Z, law, expit, level=LEVEL, groups=groups)
    ici, e50, e90 = (d.estimate for d in found)
    return SmoothCalibration(ici, e50, e90, _method(t), dict(zip(_NAMES, found, strict=True)))


@dataclass(frozen=True, slots=True)
class CalibrationCurve:
    """Smooth calibration curve at some risks."""

    risks: tuple[float, ...]  # ascending, in (0, 1)
    observed: tuple[float, ...]  # f; ideal is the risk itself
    lower: tuple[float, ...]  # pointwise interval, a Wald interval of the log odds
    upper: tuple[float, ...]
    level: float
    method: str  # how the curve was smoothed

    def to_json(self) -> dict[str, Any]:
        """JSON document."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}


def calibration_curve(
    y: NDArray[np.integer],
    p: NDArray[np.floating],
    at: NDArray[np.float64] | None = None,
    groups: NDArray[np.integer] | None = None,
) -> CalibrationCurve | None:
    """Compute the curve from which `smooth_calibration` measures distances.

    Parameters
    ----------
    y, p
        As `smooth_calibration` takes them.
    at : ndarray, shape = (n_points,), optional
        Risks of the curve's points, in (0, 1), ascending; by default the 1st to 99th percentile of p.
    groups : ndarray of int, shape = (n_patients,), or None
        Groups of correlated patients.

    Returns
    -------
    CalibrationCurve or None
        None as for `smooth_calibration`.
    """
    x = compute_logit(p)
    if np.ptp(x) > 0 and not overlap(y, x):
        return None
    t, _, (beta, covariance) = _fit_curve(y, x, groups)
    risks = np.unique(np.quantile(p, _PERCENTILES).round(_DECIMALS)) if at is None else at
    points = spline_columns(compute_logit(risks), t)
    eta = points @ beta
    reach = curve_reach(points, covariance, LEVEL, groups)
    f, lower, upper = (tuple(expit(bound).tolist()) for bound in (eta, eta - reach, eta + reach))
    return CalibrationCurve(tuple(risks.tolist()), f, lower, upper, LEVEL, _method(t))


def _fit_curve(
    y: NDArray[np.integer], x: NDArray[np.float64], groups: NDArray[np.integer] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64], tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Knots, design matrix, and coefficients with their covariance."""
    t = spline_knots(x, min(int(y.sum()), int(len(y) - y.sum())))
    Z, nothing = spline_columns(x, t), np.zeros(len(x))
    law = fit_logistic(y, Z, nothing, groups)
    if len(t) > _LINE and np.abs(Z @ law[0]).max() > max(_DIVERGED, 2 * np.abs(x).max()):
        # The spline separates outcomes that no line does.
        t, Z = t[[0, -1]], Z[:, :_LINE]
        law = fit_logistic(y, Z, nothing, groups)
    return t, Z, law


def _method(t: NDArray[np.float64]) -> str:
    return _METHODS.get(len(t), _SPLINE.format(len(t)))
