"""Contribution of a pipeline to the others' ensemble: the score of the mean of its risks and the ensemble's.

A search for the best single pipeline spends its time on variants of the best. The delivered average gains more from a
pipeline with different errors, even if its own score is lower.

r        out-of-fold risks of the t pipelines with the best scores, in the first repeat             (t, n) or (t, n, T)
g        their scores on the K folds of this repeat, and those of other repeats                     (t, J)
pi, tau  prior weights and temperature of `pseudo_bma`                                              (t,), scalar
e        sums of log scores, see `pseudo_bma`                                                       (t,)
w        pi exp(e / tau), divided by its sum                                                        (t,)
E        sum_j w_j r_j: the ensemble of all                                                         (n,) or (n, T)
E_-i     that of all but pipeline i: sum_{j != i} w_j r_j / sum_{j != i} w_j                        (n,) or (n, T)
h_i      scores of (E_-i + r_i) / 2 on the folds of the first repeat                                (t, K)
b        slope of the means of h on those of the first repeat's g, in [0.1, 1]                      scalar
c        contributions: g_bar + (h - h_bar) / b, bars being means over pipelines                    (t, J)

Contributions are in the score's unit: if a pipeline's h is what its g predicts, then c = g on average. So they compare
with scores of pipelines without risks, such as those raced out, and with earlier cohorts'. On folds of other repeats c
is g plus the mean of c - g on the first.

References
----------
Lévesque, Gagné & Sabourin 2016, UAI, Bayesian hyperparameter optimization for ensemble learning (the ensemble's score
as the objective, one member at a time).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from autoprog.cohort import Cohort
from autoprog.ensemble.pseudo_bma import prior_weights, temperature
from autoprog.evaluation import Evaluation, FoldResult, History, Plan, Setting

# Best pipelines whose contributions are computed; those of the others hardly differ.
_MOST = 100
_MIN_SLOPE = 0.1
# Differences between mean scores below this are rounding.
_ROUNDING = 1e-12

_Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Contributions:
    """Contributions of a history's pipelines to their ensemble."""

    history: History  # at least two succeeded evaluations, with risks
    cohort: Cohort  # the patients that they were evaluated on
    plan: Plan
    chosen_before: Collection[int] = ()  # numbers of evaluations that were chosen before any score was seen

    @cached_property
    def revised(self) -> History:
        """History with contributions instead of scores, for the evaluations that have one."""
        by_number = dict(zip((e.number for e in self._best), self._c, strict=True))
        evaluations = tuple(
            _contributing(e, c) if (c := by_number.get(e.number)) is not None else e for e in self.history
        )
        return replace(self.history, evaluations=evaluations)

    def fold_scores(self, results: Sequence[FoldResult]) -> list[float]:
        """Score the first folds, in order, of a further pipeline as `revised` scores those of the others."""
        K = self.plan.folds
        first = [self._mixed(number, result) for number, result in enumerate(results[:K])]
        moved = float(np.mean([c - result.score for c, result in zip(first, results, strict=False)]))
        return [*first, *(result.score + moved for result in results[K:])]

    def _mixed(self, number: int, result: FoldResult) -> float:
        """Score of a further pipeline mixed with the ensemble, in the score's unit, on a fold of the first repeat."""
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
        y, target = self.cohort.outcomes, self.cohort.target
        e = np.log(target.probabilities(self._r, y, self.plan.times)).sum(axis=1)
        before = np.array([evaluation.number in self.chosen_before for evaluation in self._best])
        with np.errstate(divide="ignore"):  # log of a prior weight of 0
            log_w: _Floats = e / temperature(max(1, target.count_rarer(y))) + np.log(prior_weights(e, before))
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
        """Renormalised weights without pipeline i, computed anew since i may have had nearly all weight."""
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
        return self.plan.metric_for(self.cohort).score(self.cohort.outcomes[test], risks)


def _contributing(e: Evaluation, c: _Floats) -> Evaluation:
    """Replace scores by contributions; other settings of a path, without risks, keep their distance from the chosen."""
    path = e.path
    if path is not None:
        moved = c - np.array(e.fold_scores)
        settings = (Setting(s.value, tuple((np.array(s.fold_scores) + moved).tolist())) for s in path.settings)
        path = replace(path, settings=tuple(settings))
    return replace(e, score=float(c.mean()), fold_scores=tuple(c.tolist()), path=path)


def contributions(
    history: History, cohort: Cohort, plan: Plan, chosen_before: Collection[int] = ()
) -> Contributions | None:
    """Contributions of a history with at least two succeeded evaluations; else None."""
    return Contributions(history, cohort, plan, chosen_before) if len(history.succeeded) >= 2 else None
