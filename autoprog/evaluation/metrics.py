"""Measures of risks that a search can optimise.

The Brier skill score is left out: in stratified folds it ranks pipelines as the Brier score does.
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
    """Measure of risks against outcomes."""

    name: str  # in the settings
    score: Score  # of y, 0 and 1, and risks in [0, 1], both (n_patients,)
    greater_is_better: bool
    lower: float
    upper: float
    reference: str
    ranks_only: bool = False  # whether the score depends on the risks' order alone, so that it ignores calibration
    thresholds: tuple[float, float] | None = None  # range that the score is a mean over

    @property
    def identity(self) -> str:
        """Name with the range of thresholds, if any: scores of one identity are comparable."""
        if self.thresholds is None:
            return self.name
        low, high = self.thresholds
        return f"{self.name} {low:g} to {high:g}"

    def gain(self, score: float) -> float:
        """Score with the sign that makes more better."""
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
    """Make the metric of a search.

    Parameters
    ----------
    name : str
        Key of `METRICS`.
    thresholds : tuple of float, optional
        Range, 0 < low <= high < 1, for a metric that has one; `THRESHOLDS` by default.

    Returns
    -------
    Metric
        Entry of `METRICS`, over the requested range.

    Raises
    ------
    KeyError
        If the name is unknown.
    ValueError
        If the range is invalid.
    """
    metric = METRICS[name]
    if metric.thresholds is None or thresholds is None:
        return metric
    low, high = thresholds
    if not 0 < low <= high < 1:
        msg = f"thresholds must satisfy 0 < low <= high < 1, not {low} and {high}"
        raise ValueError(msg)
    return _net_benefit((low, high))
