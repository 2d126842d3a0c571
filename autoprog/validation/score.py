"""How good a set of risks is, with an interval.

The standard error is that of `autoprog.validation.influence`: of these risks among other patients alike, whatever their
outcomes, or among other groups of patients. The models are not fitted again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autoprog.evaluation import Metric
from autoprog.validation.estimate import LEVEL, Estimate, make_estimate, n_rarer
from autoprog.validation.influence import (
    brier_losses,
    log_losses,
    net_benefits,
    of_auc_prc,
    of_auc_roc,
    of_mean,
    standard_error,
)

INTERVAL = "the interval is by the standard error, on the measure's own scale"
"""In words."""

NOT_CHOSEN = "right for a model that was not chosen by the same patients"

_Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ScoreEstimate:
    """A score and how far chance may have moved it.

    Attributes
    ----------
    estimate : float
        The score of all patients, in the metric's own direction.
    lower, upper : float
        Interval of level `level`.
    level : float
        In (0, 1).
    method : str
        What the interval covers and what it does not, in words.
    resamples : int or None
        Of the patients that it rests on; None where it rests on none.
    """

    estimate: float
    lower: float
    upper: float
    level: float
    method: str
    resamples: int | None = None

    def to_json(self) -> dict[str, Any]:
        """As the API shows it."""
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

    How many have the outcome varies among other patients, too, and the Brier score, say, with it. Of a model that was
    chosen by its score on the same patients this one is too good: see `corrected_score`.

    Parameters
    ----------
    metric : Metric
        One of `METRICS`, with thresholds of its own or without.
    y : ndarray, shape = (n_patients,)
        0 and 1; at least 2 of each.
    p : ndarray, shape = (n_patients,)
        Risks, in [0, 1].
    groups : ndarray of int, shape = (n_patients,), or None
        Rows that belong together; both outcomes in at least 2 groups each.
    out_of_fold : bool
        Whether the risks are by models of the other folds' patients, or by one model of other patients.

    Returns
    -------
    ScoreEstimate
        Of level `LEVEL`.
    """
    found = estimate_score_interval(metric, y, p, groups)
    how = INTERVAL if groups is None else f"{INTERVAL}, by groups of patients"
    whose = f"of out-of-fold risks; {how}; {NOT_CHOSEN}" if out_of_fold else f"of other patients; {how}"
    return ScoreEstimate(found.estimate, found.lower, found.upper, LEVEL, f"{metric_title(metric)} {whose}")


def estimate_score_interval(
    metric: Metric, y: NDArray[np.integer], p: NDArray[np.floating], groups: NDArray[np.integer] | None = None
) -> Estimate:
    """The figures of `estimate_score` alone."""
    risks: _Floats = np.asarray(p, dtype=np.float64)
    error = standard_error(influence_on(metric, y, risks), groups)
    return make_estimate(
        metric.name, metric.score(y, risks), error, n_rarer(y, groups), metric.upper, grouped=groups is not None
    )


def influence_on(metric: Metric, y: NDArray[np.integer], p: _Floats) -> _Floats:
    """What each patient moves a score by.

    Parameters
    ----------
    metric : Metric
        One of `METRICS`.
    y : ndarray, shape = (n,)
        0 and 1.
    p : ndarray, shape = (n,)
        Risks, in [0, 1].

    Returns
    -------
    ndarray, shape = (n,)
        psi of `autoprog.validation.influence`.
    """
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
    """The metric's name, with its range of thresholds where it has one."""
    over = "" if metric.thresholds is None else " for thresholds from {:g} to {:g}".format(*metric.thresholds)
    return metric.name + over
