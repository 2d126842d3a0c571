"""Record of one evaluated configuration, and history of a search."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from autoprog.evaluation.cross_validation import EvaluatedPath
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
    """Result of evaluating one configuration."""

    number: int  # place in the order of proposal, from 0
    batch: int  # batch that proposed it, from 0
    configuration: Configuration  # with a path, at the setting that all folds share
    status: Status
    score: float | None = None  # mean over folds in the metric's own direction; None unless succeeded
    fold_scores: tuple[float, ...] = ()  # repeat by repeat; those before the end if raced out
    risks: NDArray[np.float32] | None = None  # out of fold, first repeat, (n,) or (n, n_times); None unless succeeded
    duration_s: float = 0.0  # wall-clock time
    reason: str | None = None  # why it did not succeed or, if it did, notes on the fits
    n_patients: int | None = None  # evaluated on; fewer than all in the exploration of a large cohort
    path: EvaluatedPath | None = None  # scores of other settings from the same fits
    out_of_bag: bool = False  # whether there was one fit to all patients, instead of one per fold
    # Out-of-fold risks of the competing causes until the horizons, (n, n_causes - 1, n_horizons); None without such
    # causes, and from earlier versions.
    competing: NDArray[np.float32] | None = None

    @property
    def proposed(self) -> Configuration:
        """Requested configuration; with a path, at its bound."""
        if self.path is None:
            return self.configuration
        return self.configuration.at("prediction", self.path.hyperparameter, self.path.bound)


@dataclass(frozen=True)
class History:
    """Evaluations of a search in order of proposal."""

    metric: Metric
    evaluations: tuple[Evaluation, ...] = ()  # sorted by number
    repeats: int = 1  # of the cross-validation behind every score

    def __len__(self) -> int:
        return len(self.evaluations)

    def __iter__(self) -> Iterator[Evaluation]:
        return iter(self.evaluations)

    @property
    def succeeded(self) -> tuple[Evaluation, ...]:
        """Evaluations that have a score."""
        return tuple(e for e in self.evaluations if e.status is Status.SUCCEEDED)

    def best(self) -> Evaluation | None:
        """Succeeded evaluation with the best score, the earliest among equals."""
        return max(self.succeeded, key=lambda e: self.metric.gain(e.score or 0.0), default=None)

    def gains(self) -> NDArray[np.float64]:
        """Scores of the succeeded evaluations, shape = (n_succeeded,), with the sign that makes more better."""
        return np.array([self.metric.gain(e.score) for e in self.succeeded if e.score is not None])
