"""The score of an ensemble whose weights were chosen by the scores of its members on the same patients.

    y        outcomes, 1 for a patient with the outcome                                          (n,)
    p        out-of-fold risks of the t pipelines that were to be chosen from                    (t, n)
    w        weights of the ensemble that is delivered                                           (t,)
    w p      its average of the risks, on whatever scale it averages                             (n,)
    c        how often a resample holds each patient                                             (n, b)
    W        weights that the same rule gives by the scores on the patients drawn                (b, t)
    s, s_w   scores of W p and of w p on the patients left out, n / e of them                    (b,)
    o        optimism, mean of s_w - s

    score = score of w p on all patients - o,   sd = sd(s) / sqrt(e - 1)

The patients left out had no part in W, so that the mean of s is right where the risks are worthless, however many of
them there are to choose from; where they are not, it is a little too bad, since W rests on 1 - 1/e of the patients. The
mean of s_w is the score of w p on all patients but for the chance of resampling, which the difference removes: without
a choice there is no correction. Of other corrections that were simulated where the risks are worthless, the score on
the patients drawn less that on all takes too little away, and less that on those left out too much.

A score of n / e patients drawn without replacement from n varies about that of all n with e - 1 times the variance that
the score of n patients has in other samples, hence sd(s) / sqrt(e - 1). The interval is that of
`autoprog.validation.estimate`.

What is not corrected: pipelines that were proposed because similar ones had good luck, and those that a race has left.

References
----------
Tsamardinos, Greasidou & Borboudakis 2018, Machine Learning 107:1895 (BBC-CV).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from autoprog.evaluation import Metric
from autoprog.validation.estimate import LEVEL, Estimate, make_estimate, n_rarer
from autoprog.validation.recalibration import Recalibration, shrunk_recalibration
from autoprog.validation.resampled import resampled_scores
from autoprog.validation.score import INTERVAL, ScoreEstimate, metric_title

RESAMPLES, RESAMPLES_OF_MANY, RESAMPLES_OF_MOST = 500, 200, 100
MIN_RESAMPLES = 20
"""Below so many a correction is not cut off."""

# Patients times pipelines that count as many, and as most; scoring the average costs as much as so many pipelines.
_MANY, _MOST, _AVERAGE = 1_000_000, 10_000_000, 50
# Counts that are held at once, and resamples between two looks at the clock.
_CHUNK, _CHUNK_RESAMPLES = 1 << 18, 5

_Floats = NDArray[np.float64]
Choose = Callable[[NDArray[np.float32], _Floats], _Floats]
Average = Callable[[_Floats, NDArray[np.floating]], _Floats]
Stop = Callable[[], bool]


def never() -> bool:
    """Let a correction make all its resamples."""
    return False


class Patients(NamedTuple):
    """Whom resamples are drawn from.

    Attributes
    ----------
    y : ndarray, shape = (n,)
        0 and 1; at least 2 of each.
    groups : ndarray of int, shape = (n,), or None
        Rows that must be drawn together; both outcomes in at least 2 groups each.
    """

    y: NDArray[np.integer]
    groups: NDArray[np.integer] | None = None


class Weighing(NamedTuple):
    """How pipelines are weighed, and their risks averaged.

    Attributes
    ----------
    choose : callable (ndarray, shape = (n, b); ndarray, shape = (b, t)) -> ndarray, shape = (b, t)
        The rule: from how often each patient counts and the pipelines' gains, more is better, to weights.
    average : callable (weights, risks) -> risks
        How weights make one risk of many.
    """

    choose: Choose
    average: Average = np.matmul


def corrected_score(
    metric: Metric,
    patients: Patients,
    reported: NDArray[np.floating],
    p: NDArray[np.floating],
    w: _Floats,
    *,
    weighing: Weighing,
    rng: np.random.Generator,
    stop: Stop = never,
) -> ScoreEstimate:
    """Score an ensemble, less what choosing its weights by the same patients adds, with an interval.

    Nothing is fitted again but the recalibration, and that where the metric sees it.

    Parameters
    ----------
    metric : Metric
        The measure.
    patients : Patients
        Their outcomes.
    reported : ndarray, shape = (n,)
        The ensemble's risks as they are to be scored: w p, recalibrated by other patients unless the metric ranks only.
    p : ndarray, shape = (t, n)
        Out-of-fold risks of the pipelines, in [0, 1].
    w : ndarray, shape = (t,)
        Sums to 1.
    weighing : Weighing
        How w came about.
    rng : numpy.random.Generator
        Source of randomness.
    stop : callable () -> bool
        Asked after every few resamples; once it is true, those made so far do, at least `MIN_RESAMPLES`.

    Returns
    -------
    ScoreEstimate
        `RESAMPLES` resamples, fewer of many patients or pipelines; level `LEVEL`.
    """
    t, n = p.shape
    counts = until(stop, _counts(patients, n_resamples(n, t), rng))
    choose, average = weighing
    chosen, delivered = _left_out(metric, patients, p, average(w, p), counts, lambda c, g: average(choose(c, g), p))
    apparent = metric.score(patients.y, np.asarray(reported, dtype=np.float64))
    is_grouped, m = patients.groups is not None, n_rarer(patients.y, patients.groups)
    found = less_optimism(metric, apparent, chosen, delivered, m, grouped=is_grouped)
    whom = "the patients" if patients.groups is None else "groups of patients"
    method = (
        f"{metric_title(metric)} of out-of-fold risks, corrected for having chosen the ensemble's weights by the same "
        f"patients: in {len(chosen)} bootstrap resamples of {whom}, all {t} pipelines are scored and weighed anew by "
        f"the patients drawn, and their average is scored on the others; {INTERVAL}; uncorrected it is {apparent:.3f}"
    )
    return ScoreEstimate(found.estimate, found.lower, found.upper, LEVEL, method, len(chosen))


def less_optimism(
    metric: Metric, apparent: float, chosen: _Floats, delivered: _Floats, rarer: int, *, grouped: bool
) -> Estimate:
    """A score less what choosing by the same patients added to it, and its interval.

    Parameters
    ----------
    metric : Metric
        Bounds the score.
    apparent : float
        Score of w p on all patients.
    chosen, delivered : ndarray, shape = (b,)
        s and s_w.
    rarer : int
        m, at least 2.
    grouped : bool
        Whether m counts groups of patients.

    Returns
    -------
    Estimate
        Within the metric's range.
    """
    estimate = apparent - float(np.mean(delivered - chosen))
    corrected = float(np.clip(estimate, metric.lower, metric.upper))
    sd = float(np.std(chosen, ddof=1)) / np.sqrt(np.e - 1)
    return make_estimate(metric.name, corrected, sd, rarer, metric.upper, grouped=grouped)


def n_resamples(n_patients: int, n_pipelines: int) -> int:
    """How many resamples a correction makes, at least 1: fewer of many patients or pipelines."""
    size = n_patients * (n_pipelines + _AVERAGE)
    return RESAMPLES if size <= _MANY else RESAMPLES_OF_MANY if size <= _MOST else RESAMPLES_OF_MOST


def _counts(patients: Patients, resamples: int, rng: np.random.Generator) -> Iterator[NDArray[np.float32]]:
    """The c of all resamples, in chunks; each holds some of both outcomes and leaves some of both out."""
    n = len(patients.y)
    size = max(1, min(_CHUNK // n, _CHUNK_RESAMPLES))
    for start in range(0, resamples, size):
        c = np.empty((n, min(size, resamples - start)), dtype=np.float32)
        for b in range(c.shape[1]):
            c[:, b] = _drawn(patients, rng)
        yield c


def until(stop: Stop, chunks: Iterator[NDArray[np.float32]]) -> Iterator[NDArray[np.float32]]:
    """Chunks of resamples, until enough were made and the time is over.

    Parameters
    ----------
    stop : callable () -> bool
        Whether the time is over.
    chunks : iterator of ndarray, shape = (n, b)
        Counts of b resamples each.

    Yields
    ------
    ndarray, shape = (n, b)
        The first of them, of `MIN_RESAMPLES` resamples in all or more.
    """
    made = 0
    for c in chunks:
        yield c
        made += c.shape[1]
        if made >= MIN_RESAMPLES and stop():
            return


def _drawn(patients: Patients, rng: np.random.Generator) -> NDArray[np.int64]:
    y, groups = patients
    distinct, of_patient = np.unique(np.arange(len(y)) if groups is None else groups, return_inverse=True)
    while True:
        c = np.bincount(rng.integers(len(distinct), size=len(distinct)), minlength=len(distinct))[of_patient]
        if all(len(np.unique(y[part])) == 2 for part in (c == 0, c > 0)):
            return c


def _left_out(
    metric: Metric,
    patients: Patients,
    p: NDArray[np.floating],
    delivered: _Floats,
    chunks: Iterator[NDArray[np.float32]],
    combine: Choose,
) -> tuple[_Floats, _Floats]:
    """s and s_w; `combine` gives W p, shape = (b, n)."""
    sign = 1 if metric.greater_is_better else -1
    scores = resampled_scores(metric, patients.y, p)
    near = shrunk_recalibration(patients.y, delivered)
    s: list[tuple[float, ...]] = []
    for c in chunks:
        averaged = combine(c, sign * scores(c))
        s += [
            tuple(_on_others(metric, patients.y, q, counts, near) for q in (risks, delivered))
            for risks, counts in zip(averaged, c.T, strict=True)
        ]
    of_chosen, of_delivered = np.array(s).T
    return of_chosen, of_delivered


def _on_others(
    metric: Metric, y: NDArray[np.integer], risks: _Floats, c: NDArray[np.float32], near: Recalibration
) -> float:
    """Score on the patients left out, of risks that are recalibrated by those drawn where the metric sees it.

    `near` is where that fit starts.
    """
    out = c == 0
    others = risks[out]
    if not metric.ranks_only:
        drawn = np.repeat(np.arange(len(y)), c.astype(np.int64))
        others = shrunk_recalibration(y[drawn], risks[drawn], near).apply(others)
    once = np.ones((len(others), 1), dtype=np.float32)
    return float(resampled_scores(metric, y[out], others[None])(once)[0, 0])
