"""How good a set of risks is: the measures that a search can optimise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, brier_score_loss, log_loss, roc_auc_score

Score = Callable[[NDArray[Any], NDArray[np.floating[Any]]], float]

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
    """

    name: str
    score: Score
    greater_is_better: bool
    lower: float
    upper: float
    reference: str

    def gain(self, score: float) -> float:
        """The score turned so that more is better."""
        return score if self.greater_is_better else -score


def _log_loss(y: NDArray[Any], risks: NDArray[np.floating[Any]]) -> float:
    return float(log_loss(y, np.clip(risks.astype(np.float64), _EPSILON, 1 - _EPSILON), labels=[0, 1]))


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
        ),
        Metric(
            "auc_prc",
            lambda y, p: float(average_precision_score(y, p)),
            greater_is_better=True,
            lower=0.0,
            upper=1.0,
            reference="Davis & Goadrich 2006, ICML; average precision, no interpolation",
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
    )
}
