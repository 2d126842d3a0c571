"""Racing: the evaluation of a configuration without a chance against the incumbent is stopped early.

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

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student_t

from autoprog.evaluation.evaluation import History

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
