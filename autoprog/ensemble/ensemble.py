"""Weighted pipelines."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from autoprog.evaluation import History, compute_logit
from autoprog.space import Configuration

Scale = Literal["risk", "log_odds"]
"""What is averaged: the members' risks, or their log odds."""


def average(weights: NDArray[np.float64], p: NDArray[np.floating], scale: Scale) -> NDArray[np.float64]:
    """Average risks.

    Parameters
    ----------
    weights : ndarray, shape = (..., t)
        Sum to 1 along the last axis.
    p : ndarray, shape = (t, n) or (t, n, n_times)
        Risks in [0, 1].
    scale : {"risk", "log_odds"}
        On which to average.

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
    """One pipeline of an ensemble.

    Attributes
    ----------
    weight : float
        In (0, 1].
    number : int
        Its evaluation's.
    configuration : Configuration
        The pipeline.
    score : float
        Its cross-validated score, in the metric's own direction.
    """

    weight: float
    number: int
    configuration: Configuration
    score: float


@dataclass(frozen=True, slots=True)
class Ensemble:
    """Pipelines whose risks are averaged.

    Attributes
    ----------
    members : tuple of WeighedPipeline, at least 1
        Largest weight first; weights sum to 1.
    scale : {"risk", "log_odds"}
        On which they are averaged.
    """

    members: tuple[WeighedPipeline, ...]
    scale: Scale = "risk"

    def out_of_fold_risks(self, history: History) -> NDArray[np.float64]:
        """The members' out-of-fold risks, averaged.

        Parameters
        ----------
        history : History
            Holds every member's evaluation, with its risks.

        Returns
        -------
        ndarray, shape = (n_rows,) or (n_rows, n_times)
            In [0, 1].

        Raises
        ------
        ValueError
            If the history lacks a member's risks.
        """
        risks = {e.number: e.risks for e in history.succeeded if e.risks is not None}
        missing = [m.number for m in self.members if m.number not in risks]
        if missing:
            msg = f"the history holds no out-of-fold risks of evaluations {missing}"
            raise ValueError(msg)
        weights = np.array([m.weight for m in self.members])
        return average(weights, np.array([risks[m.number] for m in self.members], dtype=np.float64), self.scale)

    def out_of_fold_causes(self, history: History, at_horizons: Sequence[int]) -> NDArray[np.float64] | None:
        """The members' out-of-fold risks of every cause until the horizons, averaged as risks.

        Parameters
        ----------
        history : History
            Holds every member's evaluation.
        at_horizons : sequence of int, length n_horizons
            Places of the horizons among the times of the risks.

        Returns
        -------
        ndarray, shape = (n_rows, n_causes, n_horizons), or None
            The event of interest first; None where nothing competes with it, or a member's evaluation does not say.
        """
        by_number = {e.number: e for e in history.succeeded}
        told: list[NDArray[np.float32]] = []
        for member in self.members:
            evaluation = by_number[member.number]
            if evaluation.risks is None or evaluation.competing is None:
                return None
            of_interest = evaluation.risks[:, None, list(at_horizons)]
            told.append(np.concatenate([of_interest, evaluation.competing], axis=1))
        return average(np.array([m.weight for m in self.members]), np.array(told, dtype=np.float64), "risk")

    def without(self, numbers: Collection[int]) -> Ensemble:
        """The ensemble of the other members, their weights normalised.

        Parameters
        ----------
        numbers : collection of int
            Evaluations to leave out; not all of the members.

        Returns
        -------
        Ensemble
            In the same order.

        Raises
        ------
        ValueError
            If no member is left.
        """
        kept = [m for m in self.members if m.number not in numbers]
        total = sum(m.weight for m in kept)
        if not kept:
            msg = "no member is left"
            raise ValueError(msg)
        return replace(self, members=tuple(replace(m, weight=m.weight / total) for m in kept))
