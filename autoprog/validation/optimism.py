"""Score of an ensemble whose weights were chosen by its members' scores on the same patients, corrected for optimism.

    y        outcomes, 1 for a patient with the outcome                                          (n,)
    p        out-of-fold risks of the t candidate pipelines                                      (t, n)
    w        weights of the ensemble that is delivered                                           (t,)
    w p      its average of the risks, on whatever scale it averages                             (n,)
    c        how often a resample holds each patient                                             (n, b)
    W        weights that the same rule gives by the scores on the patients drawn                (b, t)
    s, s_w   scores of W p and of w p on the patients left out, n / e of them                    (b,)
    o        optimism, mean of s_w - s

    d        s less the score of the simple pipeline, which is not chosen, on the same patients  (b,)

    score = score of w p on all patients - o,   sd = sd(s) / sqrt(e - 1)
    gain  = its gain over the simple pipeline - o,   sd = sd(d) / sqrt(e - 1)

The patients left out had no part in W, so the mean of s is unbiased if the risks are worthless, however many candidates
there are; otherwise it is slightly pessimistic, as W rests on 1 - 1/e of the patients. The mean of s_w is the score of
w p on all patients up to resampling error, which the difference removes: without a choice there is no correction. In
simulations with worthless risks, the score on the patients drawn less that on all corrected too little, and less that
on those left out too much.

A score of n / e patients drawn without replacement from n varies about that of all n with e - 1 times the variance that
the score of n patients has between samples, hence sd(s) / sqrt(e - 1).

Two effects are not corrected: pipelines proposed because similar ones were lucky, and those that survived a race.

References
----------
Tsamardinos, Greasidou & Borboudakis 2018, Machine Learning 107:1895 (BBC-CV).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from autoprog.performance import Metric
from autoprog.performance.resampled import resampled_scores
from autoprog.performance.score import (
    INTERVAL,
    LEVEL,
    ScoreEstimate,
    make_interval,
    metric_title,
    n_rarer,
)
from autoprog.survival import Interval
from autoprog.validation.recalibration import Recalibration, shrunk_recalibration

RESAMPLES = 500
MIN_RESAMPLES = 20
"""Resamples that a correction makes even if its time is over."""

# Fewer resamples from these patients times pipelines on; scoring the average costs as much as so many pipelines. With
# 500,000 patients the interval is narrow, so that its width may be as uncertain as 40 resamples leave it.
_FEWER_FROM, _AVERAGE = {25_000_000: 40, 10_000_000: 100, 1_000_000: 200}, 50
# Resamples that correct the figures beside the score, each of which takes three recalibrations.
_BESIDE = 200
# Counts held at once, and resamples between two checks of the time.
_CHUNK, _CHUNK_RESAMPLES = 1 << 18, 5

_Floats = NDArray[np.float64]
Choose = Callable[[NDArray[np.float32], _Floats], _Floats]
Average = Callable[[_Floats, NDArray[np.floating]], _Floats]
Stop = Callable[[], bool]


def never() -> bool:
    """Let a correction make all its resamples."""
    return False


class Patients(NamedTuple):
    """Patients to resample: outcomes 0 and 1, at least 2 of each, and codes of rows that are drawn together."""

    y: NDArray[np.integer]
    groups: NDArray[np.integer] | None = None  # at least 2 groups with each outcome


@dataclass(frozen=True)
class Figure:
    """A measure that is corrected beside the score."""

    name: str
    score: Callable[[NDArray[Any], _Floats], float]  # of outcomes and risks; NaN where it has no value
    ranks_only: bool = False  # whether risks are scored as they are, not recalibrated
    lower: float = -math.inf
    upper: float = math.inf
    scale: str | None = None  # name of the measure that has the interval's scale; None: the figure's own

    @classmethod
    def of(cls, metric: Metric) -> Self:
        """The figure of a metric of binary outcomes."""

        def score(y: NDArray[Any], p: _Floats) -> float:
            once = np.ones((len(p), 1), dtype=np.float32)
            return float(resampled_scores(metric, y, p[None])(once)[0, 0])

        return cls(metric.name, score, metric.ranks_only, metric.lower, metric.upper)


class Left(NamedTuple):
    """Scores of the patients left out of every resample, each shape = (b,); of a figure beside the score the first."""

    chosen: _Floats  # s
    delivered: _Floats  # s_w
    simple: _Floats | None = None


@dataclass(frozen=True, eq=False)
class Correction:
    """What resamples show of figures that are measured on the patients by whom the ensemble was chosen."""

    left: Mapping[str, Left]  # by name of the figure
    figures: Mapping[str, Figure]
    rarer: int
    grouped: bool

    def correct(self, name: str, apparent: float) -> Interval | None:
        """A figure less its optimism, with an interval; None where too few resamples have a value."""
        found, figure = self.left[name], self.figures[name]
        whole = np.isfinite(found.chosen) & np.isfinite(found.delivered)
        if whole.sum() < MIN_RESAMPLES:
            return None
        return _less_optimism(figure, apparent, found.chosen[whole], found.delivered[whole], self.rarer, self.grouped)

    def correct_gain(self, name: str, apparent: float) -> Interval | None:
        """A gain over the simple pipeline less its optimism; None where too few resamples have a value."""
        found = self.left[name]
        if found.simple is None:
            return None
        d, o = found.chosen - found.simple, found.delivered - found.chosen
        whole = np.isfinite(d) & np.isfinite(o)
        if whole.sum() < MIN_RESAMPLES:
            return None
        return make_interval("difference", apparent - float(o[whole].mean()), _sd(d[whole]), self.rarer)


class Beside(NamedTuple):
    """What is corrected beside the score, in the same resamples."""

    figures: Sequence[Figure] = ()
    simple: NDArray[np.floating] | None = None  # raw out-of-fold risks by the simple pipeline, for gains over it


class Corrected(NamedTuple):
    """The corrected score of an ensemble, and the correction of its other figures."""

    score: ScoreEstimate
    figures: Correction


class Weighing(NamedTuple):
    """Rule that weighs pipelines and averages their risks."""

    choose: Choose  # (how often each patient counts (n, b), gains (b, t), more is better) -> weights (b, t)
    average: Average = np.matmul  # (weights, risks) -> risks


def corrected_score(  # noqa: PLR0913  risks, the rule that weighs them, and how resamples are drawn
    metric: Metric,
    patients: Patients,
    reported: NDArray[np.floating],
    p: NDArray[np.floating],
    w: _Floats,
    *,
    weighing: Weighing,
    rng: np.random.Generator,
    stop: Stop = never,
    beside: Beside | None = None,
) -> Corrected:
    """Score an ensemble, corrected for choosing its weights by the same patients, with an interval.

    Parameters
    ----------
    metric, patients
        The measure and the outcomes.
    reported : ndarray, shape = (n,)
        w p, recalibrated by other patients unless the metric only ranks.
    p, w : ndarray, shape = (t, n) and (t,)
        Out-of-fold risks of the pipelines, in [0, 1], and weights that sum to 1.
    weighing : Weighing
        Rule by which w was chosen.
    rng : numpy.random.Generator
        Source of randomness.
    stop : callable () -> bool
        Checked after every few resamples; true ends the correction once `MIN_RESAMPLES` are made.
    beside : Beside, optional
        Other measures to correct.

    Returns
    -------
    Corrected
        The score of at most `RESAMPLES` resamples, fewer for many patients or pipelines; level `LEVEL`.
    """
    t, n = p.shape
    y, (choose, average), (figures, simple) = patients.y, weighing, beside or Beside()
    counts = until(stop, _counts(patients, n_resamples(n, t), rng))
    draws = weighed_draws(metric, counts, resampled_scores(metric, y, p), lambda c, g: average(choose(c, g), p))
    delivered = average(w, p)
    # Nothing is fitted again but the recalibration, and that only if the metric depends on it.
    near = shrunk_recalibration(y, delivered)
    return correct_optimism(
        (Figure.of(metric), *figures),
        metric.score(y, np.asarray(reported, dtype=np.float64)),
        (delivered, None if simple is None else np.asarray(simple, dtype=np.float64)),
        draws,
        lambda here, risks, c: _on_others(here, y, risks, c, near),
        Setting(metric_title(metric), t, n_rarer(y, patients.groups), patients.groups is not None, _BESIDE),
    )


class Setting(NamedTuple):
    """What the text and the intervals of a correction rest on besides the scores."""

    title: str
    n_pipelines: int
    rarer: int  # patients, or groups, with the rarer outcome
    grouped: bool
    beside: int  # resamples that correct the figures beside the score


def correct_optimism(
    figures: Sequence[Figure],
    apparent: float,
    fixed: tuple[_Floats, _Floats | None],
    draws: Iterator[tuple[NDArray[np.float32], _Floats]],
    score: Callable[[Sequence[Figure], _Floats, NDArray[np.float32]], tuple[float, ...]],
    setting: Setting,
) -> Corrected:
    """Correct the score, which is the first of the figures; `fixed` are w p and the simple pipeline's risks."""
    found: list[list[tuple[float, ...]]] = [[] for _ in range(3)]
    for b, (c, risks) in enumerate(draws):
        here = figures if b < setting.beside else figures[:1]
        for place, q in enumerate((risks, *fixed)):
            if q is not None:
                found[place].append(score(here, q, c))
    left = _collect_left([figure.name for figure in figures], *found)
    chosen, delivered, _ = left[figures[0].name]
    corrected = _less_optimism(figures[0], apparent, chosen, delivered, setting.rarer, setting.grouped)
    whom = "groups of patients" if setting.grouped else "the patients"
    method = (
        f"{setting.title} of out-of-fold risks, corrected for having chosen the ensemble's weights by the same "
        f"patients: in {len(chosen)} bootstrap resamples of {whom}, {describe_resample(setting.n_pipelines)}; "
        f"{INTERVAL}; uncorrected it is {apparent:.3f}"
    )
    estimate = ScoreEstimate(corrected.estimate, corrected.lower, corrected.upper, LEVEL, method, len(chosen))
    by_name = {figure.name: figure for figure in figures}
    return Corrected(estimate, Correction(left, by_name, setting.rarer, setting.grouped))


def describe_resample(n_pipelines: int) -> str:
    """What is done in each resample of the patients, as a clause."""
    if n_pipelines == 1:
        return "the only pipeline is scored on the patients who were not drawn"
    return (
        f"all {n_pipelines} pipelines are scored and weighed anew by the patients drawn, and their average is scored "
        "on the others"
    )


def _less_optimism(
    figure: Figure,
    apparent: float,
    chosen: _Floats,
    delivered: _Floats,
    rarer: int,
    grouped: bool,  # noqa: FBT001  as `Correction` has it
) -> Interval:
    """Subtract the optimism, mean of s_w (`delivered`) - s (`chosen`), from a figure, within its range."""
    estimate = apparent - float(np.mean(delivered - chosen))
    corrected = float(np.clip(estimate, figure.lower, figure.upper))
    return make_interval(figure.scale or figure.name, corrected, _sd(chosen), rarer, figure.upper, grouped=grouped)


def _sd(s: _Floats) -> float:
    return float(np.std(s, ddof=1) / np.sqrt(np.e - 1))


def n_resamples(n_patients: int, n_pipelines: int) -> int:
    """Number of resamples of a correction: 500, or fewer, down to 40, for many patients or pipelines."""
    size = n_patients * (n_pipelines + _AVERAGE)
    return next((fewer for least, fewer in _FEWER_FROM.items() if size > least), RESAMPLES)


def _counts(patients: Patients, resamples: int, rng: np.random.Generator) -> Iterator[NDArray[np.float32]]:
    """Draw c in chunks; each resample holds some patients of both outcomes and leaves some of both out."""
    y, groups = patients
    return draw_counts(len(y), groups, resamples, rng, lambda part: 0 < int(y[part].sum()) < int(part.sum()))


def draw_counts(
    n: int,
    groups: NDArray[np.integer] | None,
    resamples: int,
    rng: np.random.Generator,
    usable: Callable[[NDArray[np.bool_]], bool],
    *,
    left_out: bool = True,
) -> Iterator[NDArray[np.float32]]:
    """Draw c of patients or groups in chunks; `usable` are the patients drawn and, if asked, those left out."""
    distinct, of_row = np.unique(np.arange(n) if groups is None else groups, return_inverse=True)
    m, size = len(distinct), max(1, min(_CHUNK // n, _CHUNK_RESAMPLES))
    for start in range(0, resamples, size):
        c = np.empty((n, min(size, resamples - start)), dtype=np.float32)
        for b in range(c.shape[1]):
            while True:
                c[:, b] = np.bincount(rng.integers(m, size=m), minlength=m)[of_row]
                if usable(c[:, b] > 0) and not (left_out and not usable(c[:, b] == 0)):
                    break
        yield c


def until(stop: Stop, chunks: Iterator[NDArray[np.float32]]) -> Iterator[NDArray[np.float32]]:
    """Yield chunks of resamples until `MIN_RESAMPLES` are made and `stop` is true."""
    made = 0
    for c in chunks:
        yield c
        made += c.shape[1]
        if made >= MIN_RESAMPLES and stop():
            return


def weighed_draws(
    metric: Metric,
    chunks: Iterator[NDArray[np.float32]],
    scores: Callable[[NDArray[np.float32]], _Floats],
    combine: Callable[[NDArray[np.float32], _Floats], Iterable[_Floats]],
) -> Iterator[tuple[NDArray[np.float32], _Floats]]:
    """Yield c of each resample and its risks W p; `combine` gives those of a chunk from c and the gains."""
    sign = 1 if metric.greater_is_better else -1
    for c in chunks:
        yield from zip(c.T, combine(c, sign * scores(c)), strict=True)


def _collect_left(
    names: Sequence[str],
    chosen: Sequence[tuple[float, ...]],
    delivered: Sequence[tuple[float, ...]],
    simple: Sequence[tuple[float, ...]],
) -> dict[str, Left]:
    """Name the scores of the patients left out; of a resample they may be those of the first figures only."""

    def of(rows: Sequence[tuple[float, ...]], k: int) -> _Floats:
        return np.array([row[k] for row in rows if len(row) > k])

    return {
        name: Left(of(chosen, k), of(delivered, k), of(simple, k) if simple else None) for k, name in enumerate(names)
    }


def _on_others(
    figures: Sequence[Figure], y: NDArray[np.integer], risks: _Floats, c: NDArray[np.float32], near: Recalibration
) -> tuple[float, ...]:
    """Score the patients left out; unless a figure only ranks, the patients drawn recalibrate the risks."""
    out = c == 0
    others = recalibrated = risks[out]
    if not all(figure.ranks_only for figure in figures):
        weights = c[~out].astype(np.float64)
        fitted = shrunk_recalibration(y[~out], risks[~out], near, weights)  # the fit starts at `near`
        recalibrated = fitted.apply(others)
    return tuple(figure.score(y[out], others if figure.ranks_only else recalibrated) for figure in figures)
