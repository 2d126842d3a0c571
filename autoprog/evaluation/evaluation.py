"""The record of one evaluated configuration, and the history of a search."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from autoprog.evaluation.along import EvaluatedPath
from autoprog.evaluation.metrics import Metric
from autoprog.space import Configuration


class Status(StrEnum):
    """How an evaluation ended."""

    SUCCEEDED = "succeeded"
    TIMEOUT = "timeout"  # ran into limits.evaluation_s and was killed
    MEMORY = "memory"  # ran into limits.memory_mb
    CRASHED = "crashed"  # its process died
    INVALID = "invalid"  # the pipeline raised an error
    RACED_OUT = "raced_out"  # stopped after some folds: no chance against the incumbent
    CANCELLED = "cancelled"  # the search ended first


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What is known of one configuration.

    Attributes
    ----------
    number : int
        Place in the search, from 0; the order of proposal, not of arrival.
    batch : int
        The batch that proposed it, from 0.
    configuration : Configuration
        What the score is of; of a path the setting that all folds share.
    status : Status
        How it ended.
    score : float or None
        Mean over folds in the metric's own direction; None unless succeeded.
    fold_scores : tuple of float
        One a fold (repeats one after another); of a configuration that was raced out, those before it was.
    risks : ndarray, shape = (n_patients,), or None
        Out-of-fold risk of every patient, in the first repeat; None unless succeeded.
    competing : ndarray, shape = (n_patients, n_causes - 1, n_horizons), or None
        Out-of-fold risks of the causes that compete with the event of interest, until the cohort's horizons; None
        without such causes, and of evaluations of earlier versions.
    duration_s : float
        Wall-clock seconds.
    reason : str or None
        Why it did not succeed, in words; or what to know of one that did: warnings of its learner, columns that were
        left out of a fold, patients that a fit did not use.
    n_patients : int or None
        Patients that it was evaluated on: fewer than all where a large cohort is explored.
    path : EvaluatedPath or None
        What the same fits said of other settings.
    out_of_bag : bool
        Whether it was one fit to all patients; else there was one a fold.
    """

    number: int
    batch: int
    configuration: Configuration
    status: Status
    score: float | None = None
    fold_scores: tuple[float, ...] = ()
    risks: NDArray[np.float32] | None = None
    duration_s: float = 0.0
    reason: str | None = None
    n_patients: int | None = None
    path: EvaluatedPath | None = None
    out_of_bag: bool = False
    competing: NDArray[np.float32] | None = None

    @property
    def proposed(self) -> Configuration:
        """What was asked for: of a path its bound."""
        if self.path is None:
            return self.configuration
        return self.configuration.at("prediction", self.path.hyperparameter, self.path.bound)


@dataclass(frozen=True)
class History:
    """What a search has seen, in order of proposal.

    Attributes
    ----------
    metric : Metric
        Tells which scores are better.
    evaluations : tuple of Evaluation
        Sorted by number.
    repeats : int
        Repeats of the cross-validation behind every score.
    """

    metric: Metric
    evaluations: tuple[Evaluation, ...] = ()
    repeats: int = 1

    def __len__(self) -> int:
        return len(self.evaluations)

    def __iter__(self) -> Iterator[Evaluation]:
        return iter(self.evaluations)

    @property
    def succeeded(self) -> tuple[Evaluation, ...]:
        """The evaluations that have a score."""
        return tuple(e for e in self.evaluations if e.status is Status.SUCCEEDED)

    def best(self) -> Evaluation | None:
        """The succeeded evaluation with the best score; the earliest among equals."""
        return max(self.succeeded, key=lambda e: self.metric.gain(e.score or 0.0), default=None)

    def gains(self) -> NDArray[np.float64]:
        """Scores of the succeeded evaluations turned so that more is better, shape = (n_succeeded,)."""
        return np.array([self.metric.gain(e.score) for e in self.succeeded if e.score is not None])
