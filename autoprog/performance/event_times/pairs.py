"""Scores of many sets of curves in many resamples of the patients, by sums over pairs of patients.

    y        event codes and times                                                      (n,)
    F        risks until the times of the search, t sets of them                        (t, n, T)
    c        how often a resample holds each patient, b resamples                       (n, b)
    i, j     a patient with the event of interest, and one who is compared with him
    V        weight of each pair, 0 where censoring leaves it without an order          (cases, n)
    K        1 where i has the larger risk, 1/2 where both have the same                (cases, n)
    l        loss of each patient                                                       (t, n)

    concordances and areas   sum_ij c_i c_j V_ij K_ij / sum_ij c_i c_j V_ij
    integrated Brier score   sum_i c_i l_i / sum_i c_i

The censoring weights are those of all patients in every resample. In a large cohort the pairs are those of a random
subset of patients, or of whole groups where these are many; losses use all. The variance of a score between resamples
is then that of so many patients fewer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autoprog.performance.event_metrics import ScoringContext
from autoprog.survival import ipcw_weights

MAX_PAIRS = 4_000_000

_Floats = NDArray[np.float64]
_Counts = NDArray[np.float32]
# Groups from which a subset is drawn as a whole.
_MANY_GROUPS = 200


@dataclass(frozen=True, eq=False)
class ResampledScores:
    """Scores of sets of curves in resamples of the patients.

    Attributes
    ----------
    scores : callable (ndarray, shape = (n, b)) -> ndarray, shape = (b, t)
        From c, as float32, to scores in the metric's own direction.
    share : float
        Share of the patients, or groups, whose pairs are compared, in (0, 1]: the variance between resamples of all of
        them is so many times as large.
    """

    scores: Callable[[_Counts], _Floats]
    share: float = 1.0

    def __call__(self, c: _Counts) -> _Floats:
        """Score resamples."""
        return self.scores(c)


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Compared patients, and the column of F by which they are compared."""

    cases: NDArray[np.intp]
    others: NDArray[np.intp]
    V: NDArray[np.float32]
    column: int

    def score(self, F: NDArray[np.floating], c: _Counts, total: _Floats) -> _Floats:
        marker = F[:, self.column]
        mine, theirs = marker[self.cases][:, None], marker[self.others][None, :]
        K = (mine > theirs).astype(np.float32)
        K += np.float32(0.5) * (mine == theirs)
        K *= self.V
        summed: _Floats = (c[self.cases] * (K @ c[self.others])).sum(axis=0, dtype=np.float64)
        return summed / total

    def total(self, c: _Counts) -> _Floats:
        summed: _Floats = (c[self.cases] * (self.V @ c[self.others])).sum(axis=0, dtype=np.float64)
        return summed


def resampled_event_scores(
    name: str,
    y: NDArray[np.void],
    F: NDArray[np.floating],
    follow_up: ScoringContext,
    rng: np.random.Generator,
    groups: NDArray[np.integer] | None = None,
) -> ResampledScores:
    """Prepare the scoring of sets of curves in resamples.

    Parameters
    ----------
    name, y, F
        One of `EVENT_METRICS`; outcomes, dtype `EVENT_TIMES`, (n,); risks until the times of the search, (t, n, T).
    follow_up : ScoringContext
        Context of the search's cohort.
    rng : numpy.random.Generator
        Draws the patients to compare in a large cohort.
    groups : ndarray of int, shape = (n,), or None
        Groups of correlated patients.

    Returns
    -------
    ResampledScores
        Of the t sets of curves.
    """
    if name == "integrated_brier":
        loss = np.array([_integrated_loss(y, np.asarray(risks, dtype=np.float64), follow_up) for risks in F])
        return ResampledScores(lambda c: np.asarray((c.T @ loss.T) / c.sum(axis=0, dtype=np.float64)[:, None]))
    pairs, share = _PAIRS[name](y, follow_up, lambda is_case: _some(len(y), int(is_case.sum()), rng, groups))

    def scores(c: _Counts) -> _Floats:
        means = np.zeros((c.shape[1], len(F)))
        for part in pairs:
            total = part.total(c)
            for k, risks in enumerate(F):
                means[:, k] += part.score(risks, c, total) / len(pairs)
        return means

    return ResampledScores(scores, share)


def can_be_scored(name: str, y: NDArray[np.void], follow_up: ScoringContext) -> Callable[[NDArray[np.bool_]], bool]:
    """Prepare the check whether a subset (boolean mask) of the patients has a score: whether any two are compared."""
    time, is_case = y["time"], y["event"] == 1
    by_tau = is_case & (time <= follow_up.times[-1])
    if name == "integrated_brier":  # a loss needs an event too: risks are recalibrated first
        return lambda among: bool(by_tau[among].any())
    if name == "time_dependent_auc":
        known = ipcw_weights(time, y["event"], np.array(follow_up.horizons), follow_up.censoring) > 0
        by_then = is_case[:, None] & (time[:, None] <= np.array(follow_up.horizons))
        return lambda among: bool(((by_then & known)[among].any(axis=0) & (known & ~by_then)[among].any(axis=0)).all())
    case = by_tau if name == "uno_c" else is_case

    def some_are_compared(among: NDArray[np.bool_]) -> bool:
        # Anyone followed beyond the first case is compared with it, however the follow-up ends.
        cases = time[among & case]
        return len(cases) > 0 and bool(time[among].max() > cases.min())

    return some_are_compared


def _integrated_loss(y: NDArray[np.void], F: _Floats, follow_up: ScoringContext) -> _Floats:
    """Each patient's contribution to the integrated Brier score, by the trapezoid rule."""
    t = np.array(follow_up.times)
    w = ipcw_weights(y["time"], y["event"], t, follow_up.censoring)
    e = (y["event"] == 1)[:, None] & (y["time"][:, None] <= t)
    squared = w * (e - F) ** 2
    if len(t) == 1:
        return np.asarray(squared[:, 0])
    length: _Floats = np.trapezoid(squared, t, axis=1) / (t[-1] - t[0])
    return length


def _some(
    n: int, n_cases: int, rng: np.random.Generator, groups: NDArray[np.integer] | None
) -> tuple[NDArray[np.bool_], float]:
    """Patients to compare, and their share of all; in a large cohort a random subset."""
    if n_cases * n <= MAX_PAIRS:
        return np.ones(n, dtype=np.bool_), 1.0
    share = float(np.sqrt(MAX_PAIRS / (n_cases * n)))
    if groups is None:
        kept = rng.random(n) < share
        return kept, float(kept.mean())
    distinct, unit = np.unique(groups, return_inverse=True)
    if len(distinct) * share < _MANY_GROUPS:
        # Few groups differ as much with more patients in each, so the variance is not scaled: the share counts as 1.
        return rng.random(n) < share, 1.0
    drawn = rng.random(len(distinct)) < share
    return drawn[unit], float(drawn.mean())


# From the cases to the patients to compare, and their share of all.
_Choose = Callable[[NDArray[np.bool_]], tuple[NDArray[np.bool_], float]]


def _uno(y: NDArray[np.void], follow_up: ScoringContext, choose: _Choose) -> tuple[list[_Pairs], float]:
    time, event, G = y["time"], y["event"], follow_up.censoring
    is_case = (event == 1) & (time <= follow_up.times[-1])
    kept, share = choose(is_case)
    cases, others = np.flatnonzero(is_case & kept), np.flatnonzero(kept)
    before, at = G.left(time[cases]), G(time[cases])
    later = time[others] > time[cases][:, None]
    tied = (time[others] == time[cases][:, None]) & (event[others] == 0)
    if follow_up.n_causes == 1:
        V = np.where(later | tied, (1 / before**2)[:, None], 0.0)
        return [_Pairs(cases, others, V.astype(np.float32), -1)], share
    claimed = (event[others] > 1) & ~later
    by_other = (1 / before)[:, None] / np.where(event[others] > 1, G.left(time[others]), 1.0)
    V = np.where(later | tied, _inverse(before * at)[:, None], np.where(claimed, by_other, 0.0))
    return [_Pairs(cases, others, V.astype(np.float32), -1)], share


def _harrell(y: NDArray[np.void], _follow_up: ScoringContext, choose: _Choose) -> tuple[list[_Pairs], float]:
    time, event = y["time"], y["event"]
    kept, share = choose(event == 1)
    cases, others = np.flatnonzero((event == 1) & kept), np.flatnonzero(kept)
    later = time[others] > time[cases][:, None]
    tied = (time[others] == time[cases][:, None]) & (event[others] != 1)
    return [_Pairs(cases, others, (later | tied).astype(np.float32), -1)], share


def _areas(y: NDArray[np.void], follow_up: ScoringContext, choose: _Choose) -> tuple[list[_Pairs], float]:
    weights = ipcw_weights(y["time"], y["event"], np.array(follow_up.horizons), follow_up.censoring)
    # Each horizon has a subset of its own: that of the last would leave out the few cases of the first. The horizon of
    # the largest share has the fewest cases, and so most of the variance.
    pairs, largest = [], 0.0
    for k, (horizon, column) in enumerate(zip(follow_up.horizons, follow_up.at_horizons, strict=True)):
        is_case = (y["event"] == 1) & (y["time"] <= horizon)
        kept, share = choose(is_case)
        largest = max(largest, share)
        cases, others = np.flatnonzero(is_case & kept), np.flatnonzero(kept)
        of_control = np.where(is_case[others], 0.0, weights[others, k])
        V = weights[cases, k][:, None] * of_control
        pairs.append(_Pairs(cases, others, V.astype(np.float32), column))
    return pairs, largest


def _inverse(x: _Floats) -> _Floats:
    return np.divide(1.0, x, out=np.zeros_like(x), where=x > 0)


_PAIRS = {"uno_c": _uno, "c_index": _harrell, "time_dependent_auc": _areas}
