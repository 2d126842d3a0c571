"""Confidence intervals from standard errors, on the scale on which each measure is closest to normal.

    x, s     a measure and its standard error
    f        the scale: log x for a positive measure, log odds for one between 0 and 1, else x itself
    m        patients, or groups of patients, with the rarer outcome
    h        q s; q is Student's quantile with m - 1 degrees of freedom, since the standard error is itself
             uncertain if few have the outcome. On the scale of log x without groups, q is the normal quantile:
             there the number with the outcome is what varies, and the standard error follows from it

    interval    f^-1( f(x) -+ h f'(x) )

References
----------
Efron & Tibshirani 1993, An Introduction to the Bootstrap, chapter 12 (transformations); Newcombe 2006, Stat Med 25:559
(areas on the scale of log odds).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, ndtri, stdtrit

LEVEL = 0.95

_Transform = tuple[Callable[[float], float], Callable[[float], float], Callable[[float], float]]

# f, its derivative, its inverse.
_LOG: _Transform = (lambda x: float(np.log(x)), lambda x: 1 / x, lambda u: float(np.exp(u)))
_LOG_ODDS: _Transform = (lambda x: float(logit(x)), lambda x: 1 / (x * (1 - x)), lambda u: float(expit(u)))

_RANKS = ("auc_roc", "auc_prc", "auc", "time_dependent_auc", "uno_c", "wolbers_c", "c_index")
_POSITIVE = ("brier", "log_loss", "integrated_brier", "expected_observed")
_SCALES: dict[str, _Transform] = {**dict.fromkeys(_RANKS, _LOG_ODDS), **dict.fromkeys(_POSITIVE, _LOG)}


@dataclass(frozen=True, slots=True)
class Estimate:
    """A measure with an interval of level `LEVEL`."""

    estimate: float
    lower: float
    upper: float

    def to_json(self) -> dict[str, Any]:
        """JSON document."""
        return asdict(self)


def make_estimate(
    name: str, estimate: float, error: float, rarer: int, most: float = math.inf, *, grouped: bool = False
) -> Estimate:
    """Compute a measure's interval, up to `most`; its length is 0 if the measure is at an end of its range."""
    level = (1 + LEVEL) / 2
    # A single group has the quantile of two, and so a wide interval.
    h = float(ndtri(level) if name in _POSITIVE and not grouped else stdtrit(max(1, rarer - 1), level)) * error
    if name not in _SCALES:
        return Estimate(estimate, estimate - h, min(most, estimate + h))
    if error == 0 or estimate <= 0 or (name in _RANKS and estimate >= 1):
        return Estimate(estimate, estimate, estimate)
    f, slope, inverse = _SCALES[name]
    reach = h * slope(estimate)
    return Estimate(estimate, inverse(f(estimate) - reach), min(most, inverse(f(estimate) + reach)))


def n_rarer(labels: NDArray[np.integer], groups: NDArray[np.integer] | None) -> int:
    """Count the patients, or groups with patients, of the rarer of two outcomes."""
    counted = np.arange(len(labels)) if groups is None else groups
    return min(len(np.unique(counted[labels == label])) for label in (0, 1))
