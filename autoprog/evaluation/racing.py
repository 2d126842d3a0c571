"""Racing: a configuration that has no chance against the incumbent is not evaluated to the end.

    J        folds of all repeats
    K        folds a repeat
    k        folds seen of a configuration, 2 <= k < J
    g        gains (scores turned so that more is better) of a configuration          (k,)
    h        gains of the incumbent on the same folds                                  (J,)
    s2       pooled variance of fold gains after means of configurations and of folds are removed
    df       its degrees of freedom
    d        mean of g - h over the k folds

Folds are the same for all configurations, so that their difficulty cancels in g - h. The difference that counts is the
one over patients to come, not over the other folds: d estimates it with variance 2 s2 (1/k + 1/(K-1)), where 1/(K-1),
test over training patients, stands for the overlap of training folds. A configuration is lost when the probability
that the difference is above zero, by Student's t with df degrees of freedom, is below 5 %.

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
# Complete evaluations before the residual variance is worth a decision.
_MIN_EVALUATIONS = 5


@dataclass(frozen=True)
class Race:
    """What a batch races against: the incumbent as it stood when the batch was proposed.

    Attributes
    ----------
    incumbent : tuple of float, length J
        h.
    variance : float
        s2.
    df : int
        Degrees of freedom of `variance`.
    folds : int
        K.
    """

    incumbent: tuple[float, ...]
    variance: float
    df: int
    folds: int

    @classmethod
    def of(cls, history: History) -> Race | None:
        """The race that a history sets; None as long as too few evaluations are complete.

        Parameters
        ----------
        history : History
            All evaluations of the completed batches.

        Returns
        -------
        Race or None
            Against the best of them.
        """
        complete = history.succeeded
        best = history.best()
        if len(complete) < _MIN_EVALUATIONS or best is None or len(best.fold_scores) <= MIN_FOLDS:
            return None
        variance, df = residual_variance([e.fold_scores for e in complete])
        gains = tuple(history.metric.gain(score) for score in best.fold_scores)
        return cls(gains, variance, df, len(gains) // history.repeats)

    def is_lost(self, gains: Sequence[float]) -> bool:
        """Whether a configuration has no chance after these folds.

        Parameters
        ----------
        gains : sequence of float, length k
            g, of the first k folds.

        Returns
        -------
        bool
            Never true before the second fold or after the last.
        """
        k = len(gains)
        if k < MIN_FOLDS or k >= len(self.incumbent):
            return False
        difference = float(np.mean(np.array(gains) - np.array(self.incumbent[:k])))
        sd = float(np.sqrt(2 * self.variance * (1 / k + 1 / (self.folds - 1))))
        if sd == 0:
            return difference < 0
        return bool(student_t.cdf(difference / sd, self.df) < CHANCE)


def residual_variance(fold_scores: Sequence[Sequence[float]]) -> tuple[float, int]:
    """Variance of fold scores after means of configurations and of folds are removed.

    Parameters
    ----------
    fold_scores : sequence of sequence of float, shape = (n_configurations, J)
        Complete evaluations, at least 2 of at least 2 folds.

    Returns
    -------
    variance : float
        s2.
    df : int
        (n_configurations - 1) (J - 1).
    """
    scores = np.array(fold_scores)
    n, J = scores.shape
    residuals = scores - scores.mean(axis=1, keepdims=True) - scores.mean(axis=0) + scores.mean()
    df = (n - 1) * (J - 1)
    return float((residuals**2).sum()) / df, df
