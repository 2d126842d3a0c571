"""Weighted pipelines."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from autoprog.evaluation import History
from autoprog.performance import compute_logit
from autoprog.space import Configuration

Scale = Literal["risk", "log_odds"]
"""What is averaged: the members' risks, or their log odds."""


def average(weights: NDArray[np.float64], p: NDArray[np.floating], scale: Scale) -> NDArray[np.float64]:
    """Average risks in [0, 1].

    Parameters
    ----------
    weights, p
        Weights, (..., t), that sum to 1 along the last axis; risks, (t, n) or (t, n, n_times).
    scale : {"risk", "log_odds"}
        Scale of the average.

    Returns
    -------
    ndarray, shape = (..., n) or (..., n, n_times)
        Risks in [0, 1].
    """
    if scale == "risk":
        return np.asarray(np.tensordot(weights, p, axes=1))
    return np.asarray(expit(np.tensordot(weights, compute_logit(p), axes=1)))


@dataclass(frozen=True, slots=True)
class WeighedPipeline:
    """One pipeline of an ensemble."""

    weight: float  # in (0, 1]
    number: int  # of its evaluation
    configuration: Configuration
    score: float  # cross-validated, in the metric's own direction


@dataclass(frozen=True, slots=True)
class Ensemble:
    """Pipelines whose risks are averaged."""

    members: tuple[WeighedPipeline, ...]  # at least 1, largest weight first; weights sum to 1
    scale: Scale = "risk"

    def out_of_fold_risks(self, history: History) -> NDArray[np.float64]:
        """Average the members' out-of-fold risks; raises ValueError if the history lacks those of a member."""
        risks = {e.number: e.risks for e in history.succeeded if e.risks is not None}
        missing = [m.number for m in self.members if m.number not in risks]
        if missing:
            msg = f"the history holds no out-of-fold risks of evaluations {missing}"
            raise ValueError(msg)
        weights = np.array([m.weight for m in self.members])
        return average(weights, np.array([risks[m.number] for m in self.members], dtype=np.float64), self.scale)

    def out_of_fold_causes(self, history: History, at_horizons: Sequence[int]) -> NDArray[np.float64] | None:
        """Average the members' risks of all causes, (n_rows, n_causes, n_horizons); None if an evaluation has none."""
        by_number = {e.number: e for e in history.succeeded}
        told: list[NDArray[np.float32]] = []
        for member in self.members:
            evaluation = by_number[member.number]
            if evaluation.risks is None or evaluation.competing is None:
                return None  # nothing competes, or an evaluation of an earlier version does not say
            of_interest = evaluation.risks[:, None, list(at_horizons)]
            told.append(np.concatenate([of_interest, evaluation.competing], axis=1))
        return average(np.array([m.weight for m in self.members]), np.array(told, dtype=np.float64), "risk")

    def without(self, numbers: Collection[int]) -> Ensemble:
        """Leave out evaluations and renormalise the weights; raises ValueError if no member is left."""
        kept = [m for m in self.members if m.number not in numbers]
        total = sum(m.weight for m in kept)
        if not kept:
            msg = "no member is left"
            raise ValueError(msg)
        return replace(self, members=tuple(replace(m, weight=m.weight / total) for m in kept))
