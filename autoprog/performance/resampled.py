"""Scores of many sets of risks in many resamples of the patients, exact and without sorting a resample.

y        outcomes, 1 for a patient with the outcome                                              (n,)
p        risks, t sets of them                                                                   (t, n)
c        how often a resample holds each patient, b resamples                                    (n, b)
c1, c0   the same of the patients with and without the outcome, largest risk of a set first      (n1, b), (n0, b)
T, F     their running sums, from 0: those above each place                                      (n1 + 1, b), ...
ge1, ge0 of each patient with the outcome, how many of either kind have at least his risk        (n1,)
gt0      how many without the outcome have a larger one                                          (n1,)

auc_roc        1 - sum_i c1_i (F[ge0_i] + F[gt0_i]) / 2 / (sum c1 sum c0)
auc_prc        sum_i c1_i T[ge1_i] / (T[ge1_i] + F[ge0_i]) / sum c1
brier, log_loss, net_benefit   sum_i c_i l(y_i, p_i) / sum c: a product of matrices
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autoprog.performance.influence import brier_losses, log_losses, net_benefits
from autoprog.performance.metrics import Metric

_Floats = NDArray[np.float64]
_Counts = NDArray[np.float32]
ResampledScores = Callable[[_Counts], _Floats]


def resampled_scores(metric: Metric, y: NDArray[np.integer], p: NDArray[np.floating]) -> ResampledScores:
    """Prepare a function from c, with both outcomes in each resample, to scores in the metric's direction, (b, t)."""
    if metric.thresholds is not None:
        thresholds = metric.thresholds
        return _compute_mean(np.array([net_benefits(y, risks, thresholds) for risks in _double(p)]))
    if metric.name in _LOSSES:
        return _compute_mean(np.array([_LOSSES[metric.name](y, risks) for risks in _double(p)]))
    if metric.name in _OF_RANKS:
        of_ranks = _OF_RANKS[metric.name]
        return _each([_Ranks.of(y, risks) for risks in p], of_ranks)
    return _by_definition(metric, y, p)


def _double(p: NDArray[np.floating]) -> list[_Floats]:
    return [np.asarray(risks, dtype=np.float64) for risks in p]


_LOSSES = {"brier": brier_losses, "log_loss": log_losses}


def _compute_mean(l: _Floats) -> ResampledScores:  # noqa: E741  the table's symbol
    def scores(c: _Counts) -> _Floats:
        means: _Floats = (c.T @ l.T) / c.sum(axis=0, dtype=np.float64)[:, None]
        return means

    return scores


@dataclass(frozen=True, eq=False)
class _Ranks:
    """Order of the patients by one set of risks."""

    with_outcome: NDArray[np.intp]
    without: NDArray[np.intp]
    ge1: NDArray[np.intp]
    ge0: NDArray[np.intp]
    gt0: NDArray[np.intp]

    @classmethod
    def of(cls, y: NDArray[np.integer], p: NDArray[np.floating]) -> _Ranks:
        order = np.argsort(-p)
        one, zero = order[y[order] == 1], order[y[order] == 0]
        p1, p0 = -p[one], -p[zero]
        return cls(
            one,
            zero,
            np.searchsorted(p1, p1, side="right"),
            np.searchsorted(p0, p1, side="right"),
            np.searchsorted(p0, p1, side="left"),
        )


def _above(c: _Counts) -> _Counts:
    """Running sums along the patients, from 0."""
    sums = np.zeros((len(c) + 1, c.shape[1]), dtype=np.float32)
    np.cumsum(c, axis=0, out=sums[1:])
    return sums


def _auc_roc(ranks: _Ranks, c: _Counts) -> _Floats:
    c1, F = c[ranks.with_outcome], _above(c[ranks.without])
    pairs = (c1 * (F[ranks.ge0] + F[ranks.gt0])).sum(axis=0, dtype=np.float64)
    area: _Floats = 1 - pairs / 2 / (c1.sum(axis=0, dtype=np.float64) * F[-1])
    return area


def _auc_prc(ranks: _Ranks, c: _Counts) -> _Floats:
    c1, F = c[ranks.with_outcome], _above(c[ranks.without])
    T = _above(c1)
    of_one, of_both = T[ranks.ge1], T[ranks.ge1] + F[ranks.ge0]
    # If nobody of the resample is at a place or above it, c1 is 0 there.
    precision = c1 * of_one / np.maximum(of_both, 1)
    area: _Floats = precision.sum(axis=0, dtype=np.float64) / T[-1]
    return area


_OF_RANKS = {"auc_roc": _auc_roc, "auc_prc": _auc_prc}


def _each(ranks: list[_Ranks], score: Callable[[_Ranks, _Counts], _Floats]) -> ResampledScores:
    return lambda c: np.array([score(one, c) for one in ranks]).T


def _by_definition(metric: Metric, y: NDArray[np.integer], p: NDArray[np.floating]) -> ResampledScores:
    """Score any metric, patient by patient."""

    def scores(c: _Counts) -> _Floats:
        rows = [np.repeat(np.arange(len(y)), counts.astype(np.int64)) for counts in c.T]
        return np.array([[metric.score(y[drawn], risks[drawn]) for risks in p] for drawn in rows])

    return scores


_MIN_OF_EACH = 2


def bootstrap_rows(
    y: NDArray[np.integer], groups: NDArray[np.integer] | None, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Draw n rows, or as many groups, with replacement; y must hold 1 at least twice, and other values twice."""
    distinct, of_row = np.unique(np.arange(len(y)) if groups is None else groups, return_inverse=True)
    by_unit = np.argsort(of_row, kind="stable")
    ends = np.cumsum(np.bincount(of_row))
    members = np.split(by_unit, ends[:-1])
    while True:
        drawn = rng.integers(len(distinct), size=len(distinct))
        rows = drawn if groups is None else np.concatenate([members[unit] for unit in drawn])
        events = int(np.count_nonzero(y[rows] == 1))
        if min(events, len(rows) - events) >= _MIN_OF_EACH:  # else it is drawn again
            return rows
