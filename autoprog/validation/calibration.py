"""Calibration slope, calibration intercept, and ratio of expected to observed events.

    y       outcomes, 1 for a patient with the outcome                  (n,)
    p       risks                                                       (n,)
    x       linear predictor, logit(p)                                  (n,)
    alpha   calibration intercept: logit P(y = 1) = alpha + x, 0 is ideal; above 0, risks are too low on the whole
    zeta    calibration slope: logit P(y = 1) = gamma + zeta x, 1 is ideal; below 1, risks are too extreme
    Z       design matrix of one of the two regressions                 (n, 1) or (n, 2)
    beta    its coefficients                                            (1,) or (2,)

References
----------
Cox 1958, Biometrika 45:562; Van Calster et al. 2019, BMC Medicine 17:230.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from autoprog.evaluation import compute_logit
from autoprog.validation.influence import of_expected_observed, standard_error
from autoprog.validation.logistic import fit_logistic, overlap
from autoprog.validation.score import LEVEL, Estimate, make_estimate, n_rarer


@dataclass(frozen=True, slots=True)
class Coefficient:
    """Regression coefficient with its Wald interval of level `LEVEL`; groups give Student's quantile."""

    estimate: float
    lower: float
    upper: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """Calibration of risks."""

    slope: Coefficient | None  # 1 is ideal, below 1 too extreme; None if risks are equal or separate the outcomes
    intercept: Coefficient  # 0 is ideal; above 0 the risks are too low on the whole
    expected_observed: Estimate  # 1 is ideal; above 1 the risks are too high on the whole
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
) -> Estimate:
    """Estimate the ratio of expected to observed events, with its interval."""
    ratio, error = float(p.sum() / y.sum()), standard_error(of_expected_observed(y, p), groups)
    return make_estimate("expected_observed", ratio, error, n_rarer(y, groups), grouped=groups is not None)


def _last_coefficient(
    y: NDArray[np.integer], Z: NDArray[np.float64], offset: NDArray[np.float64], groups: NDArray[np.integer] | None
) -> Coefficient:
    """Fit an unpenalised logistic regression and return its last coefficient."""
    beta, covariance = fit_logistic(y, Z, offset, groups)
    estimate, error = float(beta[-1]), float(np.sqrt(covariance[-1, -1]))
    quantile = ndtri((1 + LEVEL) / 2) if groups is None else stdtrit(len(np.unique(groups)) - 1, (1 + LEVEL) / 2)
    reach = float(quantile) * error
    return Coefficient(estimate, estimate - reach, estimate + reach)
