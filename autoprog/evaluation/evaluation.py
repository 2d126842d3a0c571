"""Record of one evaluated configuration, history of a search, and the race between configurations.

Racing: the evaluation of a configuration without a chance against the incumbent is stopped early.

    J        folds of all repeats
    K        folds a repeat
    k        folds seen of a configuration, 2 <= k < J
    g        gains (scores turned so that more is better) of a configuration          (k,)
    h        gains of the incumbent on the same folds                                  (J,)
    s2       pooled variance of fold gains after means of configurations and of folds are removed
    df       its degrees of freedom
    d        mean of g - h over the k folds

All configurations share the folds, so their difficulty cancels in g - h. The target is the difference for future
patients, which d estimates with variance 2 s2 (1/k + 1/(K-1)); 1/(K-1), test over training patients, accounts for the
overlap of training folds. A configuration is lost if its probability of a difference above zero, by Student's t with df
degrees of freedom, is below 5 %.

References
----------
Maron & Moore 1997, Artificial Intelligence Review 11:193 (racing); Nadeau & Bengio 2003, Machine Learning 52:239
(the variance).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student_t

from autoprog.evaluation.cross_validation import EvaluatedPath
from autoprog.performance.metrics import Metric
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

    @property
    def simple(self) -> Evaluation:
        """The simple pipeline, which comes first among whatever was evaluated; raises IndexError before it has."""
        return self.evaluations[0]

    def best(self) -> Evaluation | None:
        """Succeeded evaluation with the best score, the earliest among equals."""
        return max(self.succeeded, key=lambda e: self.metric.gain(e.score or 0.0), default=None)

    def gains(self) -> NDArray[np.float64]:
        """Scores of the succeeded evaluations, shape = (n_succeeded,), with the sign that makes more better."""
        return np.array([self.metric.gain(e.score) for e in self.succeeded if e.score is not None])


CHANCE = 0.05
MIN_FOLDS = 2
# Complete evaluations needed before the residual variance is reliable enough.
_MIN_EVALUATIONS = 5


@dataclass(frozen=True)
class Race:
    """Race against the incumbent at the time when the batch was proposed."""

    incumbent: tuple[float, ...]  # h
    variance: float  # s2
    df: int
    folds: int  # K

    @classmethod
    def of(cls, history: History) -> Race | None:
        """Race against the best of the completed evaluations; None while they are too few."""
        complete = history.succeeded
        best = history.best()
        if len(complete) < _MIN_EVALUATIONS or best is None or len(best.fold_scores) <= MIN_FOLDS:
            return None
        variance, df = residual_variance([e.fold_scores for e in complete])
        gains = tuple(history.metric.gain(score) for score in best.fold_scores)
        return cls(gains, variance, df, len(gains) // history.repeats)

    def is_lost(self, gains: Sequence[float]) -> bool:
        """Whether a configuration with gains g has no chance; never true before the second fold or after the last."""
        k = len(gains)
        if k < MIN_FOLDS or k >= len(self.incumbent):
            return False
        difference = float(np.mean(np.array(gains) - np.array(self.incumbent[:k])))
        sd = float(np.sqrt(2 * self.variance * (1 / k + 1 / (self.folds - 1))))
        if sd == 0:
            return difference < 0
        return bool(student_t.cdf(difference / sd, self.df) < CHANCE)


def residual_variance(fold_scores: Sequence[Sequence[float]]) -> tuple[float, int]:
    """Variance s2 of fold scores after removing the means of configurations and folds, and its degrees of freedom."""
    scores = np.array(fold_scores)
    n, J = scores.shape
    residuals = scores - scores.mean(axis=1, keepdims=True) - scores.mean(axis=0) + scores.mean()
    df = (n - 1) * (J - 1)
    return float((residuals**2).sum()) / df, df
