"""Score of a set of risks, with an interval for other patients, or groups of patients; the models are not refitted."""

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
) -> Estimate:
    """Estimate the score and the ends of its interval; see `estimate_score`."""
    risks: _Floats = np.asarray(p, dtype=np.float64)
    # The number with the outcome varies between samples too, and with it, for instance, the Brier score.
    error = standard_error(influence_on(metric, y, risks), groups)
    return make_estimate(
        metric.name, metric.score(y, risks), error, n_rarer(y, groups), metric.upper, grouped=groups is not None
    )


def influence_on(metric: Metric, y: NDArray[np.integer], p: _Floats) -> _Floats:
    """Influences of the patients on a score: psi of `autoprog.validation.influence`."""
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
