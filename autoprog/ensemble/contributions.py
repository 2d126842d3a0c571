"""What a pipeline is worth beside the others: the score of one half of it and one half of the others' ensemble.

A search that looks for the best single pipeline spends its time on ever more like the best. What is delivered is an
average, which gains more from a pipeline that errs elsewhere, even if it is the poorer one alone.

=======  =========================================================================================  ================
symbol   meaning                                                                                    shape
=======  =========================================================================================  ================
r        out-of-fold risks of the t pipelines with the best scores, in the first repeat             (t, n) or (t, n, T)
g        their scores on the K folds of this repeat, and those of other repeats                     (t, J)
pi, tau  prior weights and temperature of `pseudo_bma`                                              (t,), scalar
e        sums of log scores, see `log_scores`                                                       (t,)
w        pi exp(e / tau), divided by its sum                                                        (t,)
E        sum_j w_j r_j: the ensemble of all                                                         (n,) or (n, T)
E_-i     that of all but pipeline i: sum_{j != i} w_j r_j / sum_{j != i} w_j                        (n,) or (n, T)
h_i      scores of (E_-i + r_i) / 2 on the folds of the first repeat                                (t, K)
b        slope of the means of h on those of the first repeat's g, in [0.1, 1]                      scalar
c        contributions: g_bar + (h - h_bar) / b, bars being means over pipelines                    (t, J)
=======  =========================================================================================  ================

Contributions are in the score's own unit: a pipeline whose h is what its g lets one expect has c = g in the mean. They
stand beside scores of pipelines without risks, such as those that were raced out, and mean what earlier cohorts' do.
On folds of other repeats c is g, moved by the mean of c - g on the first.

References
----------
Lévesque, Gagné & Sabourin 2016, UAI, Bayesian hyperparameter optimization for ensemble learning (the ensemble's score
as what is optimised, one member at a time).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from autoprog.cohort import Cohort
from autoprog.ensemble.log_scores import count_rarer, probabilities_of_outcome
from autoprog.ensemble.pseudo_bma import prior_weights, temperature
from autoprog.evaluation import Evaluation, FoldResult, History, Plan, get_outcomes

# Pipelines with the best scores whose contributions are computed: the others have none worth telling apart.
_MOST = 100
_MIN_SLOPE = 0.1
# Means of scores that differ by less are equal up to rounding.
_ROUNDING = 1e-12

_Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Contributions:
    """What the pipelines of a history are worth beside each other.

    Attributes
    ----------
    history : History
        At least two succeeded evaluations, with risks.
    cohort : Cohort
        The patients that they were evaluated on.
    plan : Plan
        How.
    chosen_before : int
        Number of first evaluations that were chosen before any score was seen.
    """

    history: History
    cohort: Cohort
    plan: Plan
    chosen_before: int = 0

    @cached_property
    def revised(self) -> History:
        """The history with contributions in the place of scores, of the evaluations that have one."""
        by_number = dict(zip((e.number for e in self._best), self._c, strict=True))
        evaluations = tuple(
            replace(e, score=float(c.mean()), fold_scores=tuple(map(float, c)))
            if (c := by_number.get(e.number)) is not None
            else e
            for e in self.history
        )
        return replace(self.history, evaluations=evaluations)

    def fold_score(self, number: int, result: FoldResult) -> float:
        """Score on one fold of one half of a further pipeline and one half of the ensemble of all these.

        Parameters
        ----------
        number : int
            The fold, from 0; repeats one after another.
        result : FoldResult
            What it says of the pipeline.

        Returns
        -------
        float
            In the unit of the score; the score itself on a fold of a later repeat.
        """
        if number >= self.plan.folds:
            return result.score
        test = self.plan.fold(self.cohort, number).test
        h = self._scored(number, (self._ensemble[test] + result.risks) / 2)
        return float(self._g[:, number].mean() + (h - self._h[:, number].mean()) / self._b)

    @cached_property
    def _best(self) -> tuple[Evaluation, ...]:
        best_first = np.argsort(-self.history.gains(), kind="stable")[:_MOST]
        succeeded = self.history.succeeded
        return tuple(succeeded[i] for i in np.sort(best_first))

    @cached_property
    def _r(self) -> _Floats:
        return np.array([e.risks for e in self._best], dtype=np.float64)

    @cached_property
    def _g(self) -> _Floats:
        return np.array([e.fold_scores for e in self._best])

    @cached_property
    def _log_w(self) -> _Floats:
        y = get_outcomes(self.cohort)
        e = np.log(probabilities_of_outcome(self._r, y, self.plan.times)).sum(axis=1)
        before = np.array([evaluation.number < self.chosen_before for evaluation in self._best])
        with np.errstate(divide="ignore"):  # of what has no prior weight
            log_w: _Floats = e / temperature(count_rarer(y)) + np.log(prior_weights(e, before))
        return log_w

    @cached_property
    def _ensemble(self) -> _Floats:
        """E."""
        return np.asarray(np.tensordot(softmax(self._log_w), self._r, axes=1), dtype=np.float64)

    @cached_property
    def _h(self) -> _Floats:
        others = np.array([self._weights_without(i) for i in range(len(self._best))])
        mixed = (np.tensordot(others, self._r, axes=1) + self._r) / 2
        tests = [self.plan.fold(self.cohort, number).test for number in range(self.plan.folds)]
        return np.array([[self._scored(k, p[test]) for k, test in enumerate(tests)] for p in mixed])

    def _weights_without(self, i: int) -> _Floats:
        """Of all but one, renewed rather than divided: the one may have had nearly all weight."""
        log_w = np.delete(self._log_w, i)
        if np.isneginf(log_w).all():  # only the one was admitted
            log_w = np.zeros_like(log_w)
        weights: _Floats = np.insert(softmax(log_w), i, 0.0)
        return weights

    @cached_property
    def _b(self) -> float:
        g, h = self._g[:, : self.plan.folds].mean(axis=1), self._h.mean(axis=1)
        g, h = g - g.mean(), h - h.mean()
        if np.abs(g).max() <= _ROUNDING:
            return 1.0
        return float(np.clip((g * h).sum() / (g * g).sum(), _MIN_SLOPE, 1.0))

    @cached_property
    def _c(self) -> _Floats:
        K = self.plan.folds
        first = self._g[:, :K].mean(axis=0) + (self._h - self._h.mean(axis=0)) / self._b
        moved = (first - self._g[:, :K]).mean(axis=1, keepdims=True)
        return np.concatenate([first, self._g[:, K:] + moved], axis=1)

    def _scored(self, number: int, risks: NDArray[np.floating[Any]]) -> float:
        test = self.plan.fold(self.cohort, number).test
        return self.plan.metric_for(self.cohort).score(get_outcomes(self.cohort)[test], risks)


def contributions(history: History, cohort: Cohort, plan: Plan, chosen_before: int = 0) -> Contributions | None:
    """Of a history with at least two pipelines to compare; else None."""
    return Contributions(history, cohort, plan, chosen_before) if len(history.succeeded) >= 2 else None
