"""Score of a set of risks, with an interval for other patients, or groups of patients; the models are not refitted.

Confidence intervals from standard errors, on the scale on which each measure is closest to normal.

    x, s     a measure and its standard error
    f        the scale: log x for a positive measure, log odds for one between 0 and 1, else x itself
    m        patients, or groups of patients, with the rarer outcome
    h        q s; q is Student's quantile with m - 1 degrees of freedom, since the standard error is itself
             uncertain if few have the outcome. On the scale of log x without groups, q is the normal quantile:
             there the number with the outcome is what varies, and the standard error follows from it

    interval    f^-1( f(x) -+ h f'(x) )

At 0 and 1 a measure of ranking has no standard error. If each of m patients with the rarer outcome is above all others
with probability c, all are with c^m, and c is not refuted as long as this is at least (1 - level) / 2.

    interval of 1    [ ((1 - level) / 2)^(1 / m), 1 ],  that of 0 mirrors it

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

from autoprog.performance.influence import (
    brier_losses,
    log_losses,
    net_benefits,
    of_auc_prc,
    of_auc_roc,
    of_mean,
    standard_error,
)
from autoprog.performance.metrics import Metric
from autoprog.survival import Interval

LEVEL = 0.95

_Transform = tuple[Callable[[float], float], Callable[[float], float], Callable[[float], float]]

# f, its derivative, its inverse.
_LOG: _Transform = (lambda x: float(np.log(x)), lambda x: 1 / x, lambda u: float(np.exp(u)))
_LOG_ODDS: _Transform = (lambda x: float(logit(x)), lambda x: 1 / (x * (1 - x)), lambda u: float(expit(u)))

_RANKS = ("auc_roc", "auc_prc", "auc", "time_dependent_auc", "uno_c", "wolbers_c", "c_index")
_POSITIVE = ("brier", "log_loss", "integrated_brier", "expected_observed")
_SCALES: dict[str, _Transform] = {**dict.fromkeys(_RANKS, _LOG_ODDS), **dict.fromkeys(_POSITIVE, _LOG)}


def make_interval(
    name: str, estimate: float, error: float, rarer: int, most: float = math.inf, *, grouped: bool = False
) -> Interval:
    """Compute a measure's interval of level `LEVEL`, up to `most`; its length is 0 if a positive measure is 0."""
    level = (1 + LEVEL) / 2
    # A single group has the quantile of two, and so a wide interval.
    h = float(ndtri(level) if name in _POSITIVE and not grouped else stdtrit(max(1, rarer - 1), level)) * error
    if name not in _SCALES:
        return Interval(estimate, estimate - h, min(most, estimate + h))
    if name in _RANKS and not 0 < estimate < 1:
        reach = 1 - ((1 - LEVEL) / 2) ** (1 / max(1, rarer))
        return Interval(estimate, max(0.0, estimate - reach), min(1.0, estimate + reach))
    if error == 0 or estimate <= 0:
        return Interval(estimate, estimate, estimate)
    f, slope, inverse = _SCALES[name]
    reach = h * slope(estimate)
    return Interval(estimate, inverse(f(estimate) - reach), min(most, inverse(f(estimate) + reach)))


def n_rarer(labels: NDArray[np.integer], groups: NDArray[np.integer] | None) -> int:
    """Count the patients, or groups with patients, of the rarer of two outcomes."""
    counted = np.arange(len(labels)) if groups is None else groups
    return min(len(np.unique(counted[labels == label])) for label in (0, 1))


INTERVAL = "the interval is by the standard error, on the measure's own scale"
NOT_CHOSEN = "right for a model that was not chosen by the same patients"

_Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ScoreEstimate:
    """A score with its interval."""

    estimate: float  # score of all patients, in the metric's own direction
    lower: float
    upper: float
    level: float  # level of the interval, in (0, 1)
    method: str  # what the interval covers and what it does not
    resamples: int | None = None  # resamples of the patients behind it

    def to_json(self) -> dict[str, Any]:
        """JSON document for the API."""
        return asdict(self)


def estimate_score(
    metric: Metric,
    y: NDArray[np.integer],
    p: NDArray[np.floating],
    groups: NDArray[np.integer] | None = None,
    *,
    out_of_fold: bool = True,
) -> ScoreEstimate:
    """Score risks, with an interval.

    Parameters
    ----------
    metric : Metric
        One of `METRICS`, or `make_metric`'s result.
    y, p : ndarray, shape = (n_patients,)
        Outcomes 0 and 1, at least 2 of each; risks in [0, 1].
    groups : ndarray of int, shape = (n_patients,), or None
        Groups of correlated patients; at least 2 with each outcome.
    out_of_fold : bool
        Whether the risks are out of fold, rather than by one model fitted on other patients.

    Returns
    -------
    ScoreEstimate
        Level `LEVEL`; too good if the model was chosen by its score on these patients, see `corrected_score`.
    """
    found = estimate_score_interval(metric, y, p, groups)
    how = INTERVAL if groups is None else f"{INTERVAL}, by groups of patients"
    whose = f"of out-of-fold risks; {how}; {NOT_CHOSEN}" if out_of_fold else f"of other patients; {how}"
    return ScoreEstimate(found.estimate, found.lower, found.upper, LEVEL, f"{metric_title(metric)} {whose}")


def estimate_score_interval(
    metric: Metric, y: NDArray[np.integer], p: NDArray[np.floating], groups: NDArray[np.integer] | None = None
) -> Interval:
    """Estimate the score and the ends of its interval; see `estimate_score`."""
    risks: _Floats = np.asarray(p, dtype=np.float64)
    # The number with the outcome varies between samples too, and with it, for instance, the Brier score.
    error = standard_error(influence_on(metric, y, risks), groups)
    return make_interval(
        metric.name, metric.score(y, risks), error, n_rarer(y, groups), metric.upper, grouped=groups is not None
    )


def influence_on(metric: Metric, y: NDArray[np.integer], p: _Floats) -> _Floats:
    """Influences of the patients on a score: psi of `autoprog.performance.influence`."""
    if metric.thresholds is not None:
        return of_mean(net_benefits(y, p, metric.thresholds))
    return _INFLUENCES[metric.name](y, p)


_INFLUENCES: dict[str, Callable[[NDArray[np.integer], _Floats], _Floats]] = {
    "auc_roc": of_auc_roc,
    "auc_prc": of_auc_prc,
    "brier": lambda y, p: of_mean(brier_losses(y, p)),
    "log_loss": lambda y, p: of_mean(log_losses(y, p)),
}


def metric_title(metric: Metric) -> str:
    """Name of the metric, with its range of thresholds if it has one."""
    over = "" if metric.thresholds is None else " for thresholds from {:g} to {:g}".format(*metric.thresholds)
    return metric.name + over
