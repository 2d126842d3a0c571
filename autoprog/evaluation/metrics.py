"""How good a set of risks is: the measures that a search can optimise.

The Brier skill score is not one of them: the folds are stratified, so that it ranks pipelines as the Brier score does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, brier_score_loss, log_loss, roc_auc_score

from autoprog.evaluation.decision_curve import harm, mean_net_benefit

Score = Callable[[NDArray[Any], NDArray[np.floating[Any]]], float]

THRESHOLDS = (0.05, 0.2)  # risks at which a preventive treatment is commonly weighed

_EPSILON = 1e-15


@dataclass(frozen=True, slots=True)
class Metric:
    """A measure of risks against outcomes.

    Attributes
    ----------
    name : str
        As settings name it.
    score : callable (y, risks) -> float
        `y` of 0 and 1, `risks` in [0, 1], both shape = (n_patients,).
    greater_is_better : bool
        Direction.
    lower, upper : float
        Range of the score.
    reference : str
        Where it is defined.
    ranks_only : bool
        Whether the score sees the order of the risks alone, so that a search by it is blind to calibration.
    thresholds : tuple of float or None
        The range that the score is a mean over; None where the score knows no thresholds.
    """

    name: str
    score: Score
    greater_is_better: bool
    lower: float
    upper: float
    reference: str
    ranks_only: bool = False
    thresholds: tuple[float, float] | None = None

    @property
    def identity(self) -> str:
        """The name and, of a mean over thresholds, these: scores of one identity mean the same."""
        if self.thresholds is None:
            return self.name
        low, high = self.thresholds
        return f"{self.name} {low:g} to {high:g}"

    def gain(self, score: float) -> float:
        """The score turned so that more is better."""
        return score if self.greater_is_better else -score


def _log_loss(y: NDArray[Any], risks: NDArray[np.floating[Any]]) -> float:
    return float(log_loss(y, np.clip(risks.astype(np.float64), _EPSILON, 1 - _EPSILON), labels=[0, 1]))


def _net_benefit(thresholds: tuple[float, float]) -> Metric:
    a, b = thresholds
    return Metric(
        "net_benefit",
        lambda y, p: mean_net_benefit(y, p, a, b),
        greater_is_better=True,
        lower=-float(harm(np.ones(1), a, b)[0]),
        upper=1.0,
        reference="Vickers & Elkin 2006, Medical Decision Making 26:565; mean over a range of thresholds",
        thresholds=thresholds,
    )


METRICS: dict[str, Metric] = {
    m.name: m
    for m in (
        Metric(
            "auc_roc",
            lambda y, p: float(roc_auc_score(y, p)),
            greater_is_better=True,
            lower=0.0,
            upper=1.0,
            reference="Hanley & McNeil 1982, Radiology 143:29",
            ranks_only=True,
        ),
        Metric(
            "auc_prc",
            lambda y, p: float(average_precision_score(y, p)),
            greater_is_better=True,
            lower=0.0,
            upper=1.0,
            reference="Davis & Goadrich 2006, ICML; average precision, no interpolation",
            ranks_only=True,
        ),
        Metric(
            "brier",
            lambda y, p: float(brier_score_loss(y, p)),
            greater_is_better=False,
            lower=0.0,
            upper=1.0,
            reference="Brier 1950, Monthly Weather Review 78:1",
        ),
        Metric(
            "log_loss",
            _log_loss,
            greater_is_better=False,
            lower=0.0,
            upper=float("inf"),
            reference="Good 1952, JRSS B 14:107; risks clipped to [1e-15, 1 - 1e-15]",
        ),
        _net_benefit(THRESHOLDS),
    )
}


def make_metric(name: str, thresholds: tuple[float, float] | None = None) -> Metric:
    """The metric that a search was asked for.

    Parameters
    ----------
    name : str
        Key of `METRICS`.
    thresholds : tuple of float, optional
        Range of thresholds, 0 < low <= high < 1, of a metric that has one; `THRESHOLDS` by default. The others ignore
        it.

    Returns
    -------
    Metric
        The entry of `METRICS`, over the range that was asked for.

    Raises
    ------
    KeyError
        If there is none of that name.
    ValueError
        If the range is none.
    """
    metric = METRICS[name]
    if metric.thresholds is None or thresholds is None:
        return metric
    low, high = thresholds
    if not 0 < low <= high < 1:
        msg = f"thresholds must satisfy 0 < low <= high < 1, not {low} and {high}"
        raise ValueError(msg)
    return _net_benefit((low, high))
