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
subset of patients; losses use all.
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
ResampledScores = Callable[[_Counts], _Floats]


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
    name: str, y: NDArray[np.void], F: NDArray[np.floating], follow_up: ScoringContext, rng: np.random.Generator
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

    Returns
    -------
    callable (ndarray, shape = (n, b)) -> ndarray, shape = (b, t)
        From c, as float32, to scores in the metric's own direction.
    """
    if name == "integrated_brier":
        loss = np.array([_integrated_loss(y, np.asarray(risks, dtype=np.float64), follow_up) for risks in F])
        return lambda c: np.asarray((c.T @ loss.T) / c.sum(axis=0, dtype=np.float64)[:, None])
    pairs = _PAIRS[name](y, follow_up, rng)

    def scores(c: _Counts) -> _Floats:
        means = np.zeros((c.shape[1], len(F)))
        for part in pairs:
            total = part.total(c)
            for k, risks in enumerate(F):
                means[:, k] += part.score(risks, c, total) / len(pairs)
        return means

    return scores


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


def _some(n: int, cases: NDArray[np.intp], rng: np.random.Generator) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Cases and the patients to compare them with; in a large cohort from one random subset."""
    others = np.arange(n)
    if len(cases) * n <= MAX_PAIRS:
        return cases, others
    share = float(np.sqrt(MAX_PAIRS / (len(cases) * n)))
    kept = rng.random(n) < share
    return cases[kept[cases]], others[kept]


def _uno(y: NDArray[np.void], follow_up: ScoringContext, rng: np.random.Generator) -> list[_Pairs]:
    time, event, G, tau = y["time"], y["event"], follow_up.censoring, follow_up.times[-1]
    cases, others = _some(len(y), np.flatnonzero((event == 1) & (time <= tau)), rng)
    before, at = G.left(time[cases]), G(time[cases])
    later = time[others] > time[cases][:, None]
    tied = (time[others] == time[cases][:, None]) & (event[others] == 0)
    if follow_up.n_causes == 1:
        V = np.where(later | tied, (1 / before**2)[:, None], 0.0)
        return [_Pairs(cases, others, V.astype(np.float32), -1)]
    claimed = (event[others] > 1) & ~later
    by_other = (1 / before)[:, None] / np.where(event[others] > 1, G.left(time[others]), 1.0)
    V = np.where(later | tied, _inverse(before * at)[:, None], np.where(claimed, by_other, 0.0))
    return [_Pairs(cases, others, V.astype(np.float32), -1)]


def _harrell(y: NDArray[np.void], _follow_up: ScoringContext, rng: np.random.Generator) -> list[_Pairs]:
    time, event = y["time"], y["event"]
    cases, others = _some(len(y), np.flatnonzero(event == 1), rng)
    later = time[others] > time[cases][:, None]
    tied = (time[others] == time[cases][:, None]) & (event[others] != 1)
    return [_Pairs(cases, others, (later | tied).astype(np.float32), -1)]


def _areas(y: NDArray[np.void], follow_up: ScoringContext, rng: np.random.Generator) -> list[_Pairs]:
    weights = ipcw_weights(y["time"], y["event"], np.array(follow_up.horizons), follow_up.censoring)
    pairs = []
    for k, (horizon, column) in enumerate(zip(follow_up.horizons, follow_up.at_horizons, strict=True)):
        is_case = (y["event"] == 1) & (y["time"] <= horizon)
        cases, others = _some(len(y), np.flatnonzero(is_case), rng)
        of_control = np.where(is_case[others], 0.0, weights[others, k])
        V = weights[cases, k][:, None] * of_control
        pairs.append(_Pairs(cases, others, V.astype(np.float32), column))
    return pairs


def _inverse(x: _Floats) -> _Floats:
    return np.divide(1.0, x, out=np.zeros_like(x), where=x > 0)


_PAIRS = {"uno_c": _uno, "c_index": _harrell, "time_dependent_auc": _areas}
