"""Whether risks mean what they say: calibration slope, calibration intercept, expected over observed events.

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
from autoprog.validation.estimate import LEVEL, Estimate, make_estimate, n_rarer
from autoprog.validation.influence import of_expected_observed, standard_error
from autoprog.validation.logistic import fit_logistic, overlap


@dataclass(frozen=True, slots=True)
class Coefficient:
    """A regression coefficient.

    Attributes
    ----------
    estimate : float
        Maximum-likelihood estimate.
    lower, upper : float
        Wald interval of level `LEVEL`; of groups by Student's quantile.
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
    expected_observed : Estimate
        Expected over observed events; 1 is ideal, above 1 the risks are too high on the whole.
    level : float
        Of the intervals.
    """

    slope: Coefficient | None
    intercept: Coefficient
    expected_observed: Estimate
    level: float = LEVEL

    def to_json(self) -> dict[str, Any]:
        """Ready for JSON; the ratio's interval stands beside it."""
        ratio = self.expected_observed
        document = {**asdict(self), "expected_observed": ratio.estimate}
        return {**document, "expected_observed_interval": {"lower": ratio.lower, "upper": ratio.upper}}


def compute_calibration(
    y: NDArray[np.integer], p: NDArray[np.floating], groups: NDArray[np.integer] | None = None
) -> Calibration:
    """Calibration of risks against outcomes.

    Parameters
    ----------
    y : ndarray, shape = (n_patients,)
        0 and 1, both present.
    p : ndarray, shape = (n_patients,)
        Risks in [0, 1], of patients whom the model was not fitted on. The slope of in-sample risks says nothing.
    groups : ndarray of int, shape = (n_patients,), or None
        Patients who are alike: the visits of one, those of one hospital.

    Returns
    -------
    Calibration
        Slope, intercept, expected over observed.
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
    """Expected over observed events, with its interval; arguments as of `compute_calibration`."""
    ratio, error = float(p.sum() / y.sum()), standard_error(of_expected_observed(y, p), groups)
    return make_estimate("expected_observed", ratio, error, n_rarer(y, groups), grouped=groups is not None)


def _last_coefficient(
    y: NDArray[np.integer], Z: NDArray[np.float64], offset: NDArray[np.float64], groups: NDArray[np.integer] | None
) -> Coefficient:
    """Last coefficient of an unpenalised logistic regression, with its Wald interval."""
    beta, covariance = fit_logistic(y, Z, offset, groups)
    estimate, error = float(beta[-1]), float(np.sqrt(covariance[-1, -1]))
    quantile = ndtri((1 + LEVEL) / 2) if groups is None else stdtrit(len(np.unique(groups)) - 1, (1 + LEVEL) / 2)
    reach = float(quantile) * error
    return Coefficient(estimate, estimate - reach, estimate + reach)
