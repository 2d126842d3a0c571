"""Number of patients for external validation of a prognostic model: Riley's criteria by the width of intervals.

=========  ==========================================================================================  ===============
symbol     meaning                                                                                     range
=========  ==========================================================================================  ===============
phi        share of patients with the outcome                                                          (0, 1)
eta        linear predictor: log odds of the predicted risk, assumed to be calibrated                  real
p          1 / (1 + exp(-eta))                                                                         (0, 1)
I          information of a patient on intercept and slope: E p (1 - p) (1, eta)'(1, eta)              (2, 2)
C          probability that of two patients the one with the outcome has the larger eta                [1/2, 1)
r2         anticipated Cox-Snell R^2                                                                   (0, r2_max)
rate, h    events per unit of person-time; a horizon                                                   1 / time, time
=========  ==========================================================================================  ===============

The minimum makes the 95 % intervals at most 0.2 wide for observed over expected outcomes and for the calibration slope,
and 0.1 for C, the defaults of the authors' pmvalsampsize. For event times, C is left out; the slope's information is
that of the likelihood ratio, -ln(1 - r2) per patient, and observed over expected is taken at the most demanding
horizon, under a constant rate.

References
----------
Riley RD, Debray TPA, Collins GS, et al. Minimum sample size for external validation of a clinical prediction model with
a binary outcome. Stat Med 2021;40:4230-51. Riley RD, Collins GS, Ensor J, et al. Minimum sample size calculations for
external validation of a clinical prediction model with a time-to-event outcome. Stat Med 2022;41:1280-95. Riley RD,
Snell KIE, Archer L, et al. Evaluation of clinical prediction models (part 3). BMJ 2024;384:e074821.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit

_Z = 1.96
_WIDTH, _WIDTH_OF_C = 0.2, 0.1
_MOST = 10**12

_Floats = NDArray[np.float64]

# Standard normal distribution on a grid fine enough for six digits.
_GRID = np.linspace(-8.0, 8.0, 1601)
_LAW = np.exp(-(_GRID**2) / 2) / np.exp(-(_GRID**2) / 2).sum()


def validation_minimum(eta: _Floats, weight: _Floats) -> int:
    """Minimum number of patients for a binary outcome; `eta`, not all equal, has probabilities `weight` (sum 1)."""
    phi = float(weight @ expit(eta))
    by_c = patients_by_c(phi, concordance(eta, weight))
    return max(patients_by_expected_observed(phi), patients_by_slope(eta, weight), by_c)


def validation_minimum_of_times(r2: float, rate: float, mean_follow_up: float, horizons: Sequence[float]) -> int:
    """Minimum number of patients for a time to an event; every argument is above 0, and `r2` below 1."""
    by_slope = 1 / (-math.log1p(-r2) * _standard_error(_WIDTH) ** 2)
    events = max((_relative_error(rate * h) / _standard_error_of_ratio()) ** 2 for h in horizons)
    return max(math.ceil(by_slope), math.ceil(events / (rate * mean_follow_up)))


def patients_by_expected_observed(phi: float, width: float = _WIDTH) -> int:
    """Number of patients at which the interval of observed over expected outcomes has this width, for a ratio of 1."""
    return math.ceil((1 - phi) / (phi * _standard_error_of_ratio(width) ** 2))


def patients_by_slope(eta: _Floats, weight: _Floats, width: float = _WIDTH) -> int:
    """Number of patients at which the interval of the calibration slope has this width, for a slope of 1."""
    p = expit(eta)
    a, b, c = (float(weight @ (p * (1 - p) * eta**k)) for k in (0, 1, 2))
    return math.ceil(a / (a * c - b * b) / _standard_error(width) ** 2)


def patients_by_c(phi: float, c: float, width: float = _WIDTH_OF_C) -> int:
    """Number of patients at which the 95 % interval of C in [0.5, 1) has this width; uses Newcombe's standard error."""

    def variance(n: float) -> float:
        pairs = 1 + (n / 2 - 1) * ((1 - c) / (2 - c) + c / (1 + c))
        return c * (1 - c) * pairs / (n * n * phi * (1 - phi))

    target = _standard_error(width) ** 2
    n: float = brentq(lambda n: variance(n) - target, 2.0, _MOST, xtol=0.01)
    return math.ceil(n)


def concordance(eta: _Floats, weight: _Floats) -> float:
    """C of a calibrated model with these linear predictors and their probabilities."""
    order = np.argsort(eta)
    p, w = expit(eta[order]), weight[order]
    with_outcome, without = w * p, w * (1 - p)
    below = np.cumsum(without) - without / 2
    return float((with_outcome @ below) / (with_outcome.sum() * without.sum()))


def normal_predictor(phi: float, r2: float) -> tuple[_Floats, _Floats]:
    """Values and probabilities of a calibrated, normal linear predictor; `phi` in (0, 1), `r2` in (0, r2_max)."""

    def shifted(sd: float) -> _Floats:
        def excess(mean: float) -> float:
            return float(_LAW @ expit(mean + sd * _GRID)) - phi

        eta: _Floats = brentq(excess, -50 - 8 * sd, 50 + 8 * sd) + sd * _GRID
        return eta

    def explained(sd: float) -> float:
        """Cox and Snell's R^2 by the expected log likelihood."""
        eta = shifted(sd)
        p = expit(eta)
        likelihood = float(_LAW @ (p * eta - np.logaddexp(0, eta)))
        nothing = phi * math.log(phi) + (1 - phi) * math.log(1 - phi)
        return 1 - math.exp(2 * (nothing - likelihood))

    sd = brentq(lambda s: explained(s) - r2, 1e-3, 30.0)
    return shifted(sd), _LAW


def _standard_error(width: float) -> float:
    return width / (2 * _Z)


def _standard_error_of_ratio(width: float = _WIDTH) -> float:
    """Standard error of the log ratio for which the interval from exp(-z se) to exp(z se) has this width."""
    return math.asinh(width / 2) / _Z


def _relative_error(hazard: float) -> float:
    """Standard error of ln(1 - exp(-hazard)) if the rate is estimated from one event."""
    return hazard / math.expm1(hazard) if hazard < 700 else 0.0
