"""How far risks are from the frequencies observed at them: ICI, E50 and E90 of a smooth calibration curve.

    y       outcomes, 1 for a patient with the outcome                        (n,)
    p       risks                                                             (n,)
    x       linear predictor, logit(p)                                        (n,)
    t       knots, ascending                                                  (k,)
    Z       restricted cubic spline of x: linear beyond the first and the last knot   (n, k)
    f       smooth calibration curve, P(y = 1 | p) = expit(Z beta)            (n,)

    Z_1 = 1,  Z_2 = x,
    Z_{j+2} = [ (x - t_j)+^3 - (x - t_{k-1})+^3 (t_k - t_j)/(t_k - t_{k-1})
                + (x - t_k)+^3 (t_{k-1} - t_j)/(t_k - t_{k-1}) ] / (t_k - t_1)^2,   j = 1, ..., k - 2

    ICI = mean |p - f|,  E50 = median |p - f|,  E90 = 90th percentile of |p - f|

Austin and Steyerberg smooth with loess, which takes a time that grows with the square of the number of patients; the
spline takes one logistic regression, and is as free as five knots make it. scikit-learn's splines are not linear beyond
their last knots, where risks are few.

References
----------
Austin & Steyerberg 2019, Statistics in Medicine 38:4051; the spline and its knots: Harrell 2015, Regression Modeling
Strategies, 2nd ed., section 2.4.5.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtri

from autoprog.evaluation import compute_logit
from autoprog.survival import curve_distances, spline_columns, spline_knots
from autoprog.validation.estimate import LEVEL, Estimate
from autoprog.validation.logistic import fit_logistic, overlap

_METHODS = {
    1: "one frequency for all, as the risks are equal",
    2: "logistic in the logit of the risk, as the risks differ too little for a spline",
}
_SPLINE = "logistic in a restricted cubic spline of the logit of the risk, {} knots"

_LEVEL = LEVEL
_NAMES = ("ici", "e50", "e90")
_PERCENTILES, _DECIMALS = np.linspace(0.01, 0.99, 50), 6  # where a curve is told, and of its risks


@dataclass(frozen=True, slots=True)
class SmoothCalibration:
    """Distance of risks from a smooth calibration curve; smaller is better throughout, in [0, 1].

    Attributes
    ----------
    ici : float
        Integrated calibration index, the mean distance over patients.
    e50, e90 : float
        Median and 90th percentile of the distance.
    method : str
        How the curve was smoothed, in words.
    intervals : dict of str to Estimate
        Of the three, by name.
    """

    ici: float
    e50: float
    e90: float
    method: str
    intervals: dict[str, Estimate]


def smooth_calibration(
    y: NDArray[np.integer], p: NDArray[np.floating], groups: NDArray[np.integer] | None = None
) -> SmoothCalibration | None:
    """Distance of risks from the smoothed frequency of the outcome at them.

    Parameters
    ----------
    y : ndarray, shape = (n_patients,)
        0 and 1, both present.
    p : ndarray, shape = (n_patients,)
        Risks in [0, 1], of patients whom the model was not fitted on.
    groups : ndarray of int, shape = (n_patients,), or None
        Patients who are alike.

    Returns
    -------
    SmoothCalibration or None
        None where the risks separate the outcomes, so that no curve has a finite estimate.

    Notes
    -----
    A perfectly calibrated model has an ICI above 0 as well, as the curve follows chance: of 300 patients about 0.03, of
    5,000 about 0.01. Compare models on the same patients, not with 0.
    """
    risks = np.asarray(p, dtype=np.float64)
    x = compute_logit(risks)
    if np.ptp(x) > 0 and not overlap(y, x):
        return None
    t = _knots(y, x)
    Z = _design(x, t)
    beta, covariance = fit_logistic(y, Z, np.zeros(len(x)), groups)
    found = curve_distances(risks, x, Z, (beta, covariance), expit, LEVEL)
    intervals = {name: Estimate(d.estimate, d.lower, d.upper) for name, d in zip(_NAMES, found, strict=True)}
    ici, e50, e90 = (d.estimate for d in found)
    return SmoothCalibration(ici, e50, e90, _method(Z, t), intervals)


@dataclass(frozen=True, slots=True)
class CalibrationCurve:
    """A smooth calibration curve at some risks.

    Attributes
    ----------
    risks : tuple of float
        Ascending, in (0, 1).
    observed : tuple of float
        f: the smoothed frequency of the outcome at them. Ideal is the risk itself.
    lower, upper : tuple of float
        Pointwise Wald interval of level `level`, of the log odds.
    level : float
        Of the intervals.
    method : str
        How the curve was smoothed, in words.
    """

    risks: tuple[float, ...]
    observed: tuple[float, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    level: float
    method: str

    def to_json(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}


def calibration_curve(
    y: NDArray[np.integer],
    p: NDArray[np.floating],
    at: NDArray[np.float64] | None = None,
    groups: NDArray[np.integer] | None = None,
) -> CalibrationCurve | None:
    """The curve that `smooth_calibration` measures distances from.

    Parameters
    ----------
    y : ndarray, shape = (n_patients,)
        0 and 1, both present.
    p : ndarray, shape = (n_patients,)
        Risks in [0, 1], of patients whom the model was not fitted on.
    at : ndarray, shape = (n_points,), optional
        Risks at which to tell it, in (0, 1), ascending; by default percentiles of p from the 1st to the 99th.
    groups : ndarray of int, shape = (n_patients,), or None
        Patients who are alike.

    Returns
    -------
    CalibrationCurve or None
        None where the risks separate the outcomes, so that no curve has a finite estimate.
    """
    x = compute_logit(p)
    if np.ptp(x) > 0 and not overlap(y, x):
        return None
    t = _knots(y, x)
    Z = _design(x, t)
    beta, covariance = fit_logistic(y, Z, np.zeros(len(x)), groups)
    risks = np.unique(np.quantile(p, _PERCENTILES).round(_DECIMALS)) if at is None else at
    points = _columns(compute_logit(risks), t)[:, : Z.shape[1]]
    eta = points @ beta
    error = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", points, covariance, points), 0.0))
    reach = float(ndtri((1 + _LEVEL) / 2)) * error
    f, lower, upper = (tuple(expit(bound).tolist()) for bound in (eta, eta - reach, eta + reach))
    return CalibrationCurve(tuple(risks.tolist()), f, lower, upper, _LEVEL, _method(Z, t))


def _method(Z: NDArray[np.float64], t: NDArray[np.float64]) -> str:
    return _METHODS.get(Z.shape[1], _SPLINE.format(len(t)))


def _knots(y: NDArray[np.integer], x: NDArray[np.float64]) -> NDArray[np.float64]:
    return spline_knots(x, min(int(y.sum()), int(len(y) - y.sum())))


def _design(x: NDArray[np.float64], t: NDArray[np.float64]) -> NDArray[np.float64]:
    """Z; fewer than three knots leave a line, equal risks one frequency."""
    return np.ones((len(x), 1)) if np.ptp(x) == 0 else _columns(x, t)


def _columns(x: NDArray[np.float64], t: NDArray[np.float64]) -> NDArray[np.float64]:
    # Knots that coincide leave a line where the risks differ.
    return spline_columns(x, t) if len(t) > 1 else np.column_stack([np.ones(len(x)), x])
