"""What the surrogate learns from: the evaluations as standardised gains.

======  ==================================================================================  ==============  =========
symbol  meaning                                                                             shape           unit
======  ==================================================================================  ==============  =========
y       gains (scores, more is better), clipped below, less their mean, over s              (n,)            1
v       variance of the clipped gains                                                       scalar          score^2
s_0, t  scale that earlier cohorts let one expect, and the trust in them                    scalar          score, 1
s       sqrt((n v + 8 t s_0^2) / (n + 8 t))                                                 scalar          score
floor   median - 1.5 (max - median) of the observed gains: the clip, and a failure's gain   scalar          score
J       fold scores of an evaluation                                                        scalar          1
K       folds a repeat                                                                      scalar          1
======  ==================================================================================  ==============  =========

Without earlier cohorts t = 0. With them a young search looks only at what may be good; the spread of these few gains
says little of that of all pipelines, which is the unit of all that was learnt before.

A pipeline that is broken on a cohort scores far below all others, and without the clip this tail takes up the kernel's
whole variance. Two other outputs are there to compare: gains as they are, a failure's the worst; and the normal scores
of the clipped gains' ranks, Phi^-1((rank - 1/2) / n).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import rankdata

from autoprog.evaluation import Evaluation, History, Status, residual_variance
from autoprog.optimizer.options import Outputs
from autoprog.optimizer.start import Start

# Gibbs sampling costs O(n^2) to O(n^3) a sweep; beyond this many the poorest and oldest evaluations are left out.
MAX_OBSERVATIONS = 256

# Paths whose ends are learnt from: each adds two observations.
_MAX_PATHS = 40

_CLIP = 1.5
# Observations that the expected scale counts for, fully trusted.
_EXPECTED_WEIGHT = 8.0
# Standardised noise variance that the pooled estimate is shrunk to, and how many residuals it counts for.
_TYPICAL_NOISE, _TYPICAL_NOISE_DF = 0.1, 8.0
# Equal gains may differ by rounding; their standard deviation is then no scale.
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Observations:
    """The evaluations that the surrogate is fitted to.

    Attributes
    ----------
    evaluations : tuple of Evaluation, length n
        In order of proposal.
    y : ndarray, shape = (n,)
        Standardised gain of each; a failure has the clip's.
    noise : float
        Prior guess of the variance of `y` about the true gain.
    gains : ndarray, shape = (n,)
        What `y` is made of, before the clip; NaN for a failure.
    """

    evaluations: tuple[Evaluation, ...]
    y: NDArray[np.float64]
    noise: float
    gains: NDArray[np.float64]

    @property
    def succeeded(self) -> NDArray[np.bool_]:
        """Which of them have a score, shape = (n,)."""
        return np.array([e.status is Status.SUCCEEDED for e in self.evaluations])

    def take(self, rows: NDArray[np.intp]) -> Observations:
        """Some of them, standardised as they were among all."""
        evaluations = tuple(self.evaluations[i] for i in rows)
        return Observations(evaluations, self.y[rows], self.noise, self.gains[rows])

    def revised(self, gains: NDArray[np.float64]) -> NDArray[np.float64]:
        """What `y` would be, had the succeeded evaluations had other gains.

        Parameters
        ----------
        gains : ndarray, shape = (b, t)
            Of the t succeeded evaluations, b times.

        Returns
        -------
        ndarray, shape = (b, n)
            Clipped and standardised anew. One that was raced out stays where it was about their mean. The clip is that
            of these t, which in a history of more than `MAX_OBSERVATIONS` are not all.
        """
        raced_out = ~self.succeeded & ~np.isnan(self.gains)
        about_mean = self.gains[raced_out] - self.gains[self.succeeded].mean()
        revised = np.full((len(gains), len(self.gains)), np.nan)
        revised[:, self.succeeded] = gains
        revised[:, raced_out] = gains.mean(axis=1, keepdims=True) + about_mean
        clipped = np.fmax(revised, _floor(gains)[:, None])
        y: NDArray[np.float64] = (clipped - clipped.mean(axis=1, keepdims=True)) / _scale(clipped)[:, None]
        return y


def observe(
    history: History, outputs: Outputs = "clipped", most: int = MAX_OBSERVATIONS, start: Start | None = None
) -> Observations | None:
    """Turn a history into what the surrogate is fitted to.

    Cancelled evaluations tell nothing about their configuration and are left out. One that was raced out counts with
    the gain that its folds let one expect, against the mean of the complete evaluations on the same folds. Every other
    failure counts as a gain at the clip, so that its neighbourhood is avoided. Of more than `most` the better half of
    that number is kept, and the latest of the others.

    Parameters
    ----------
    history : History
        All evaluations so far.
    outputs : {"clipped", "unclipped", "ranks"}
        What becomes of the gains; see the head of this module.
    most : int
        Evaluations that are kept.
    start : Start or None
        Its scale counts as far as it is trusted; None for none.

    Returns
    -------
    Observations or None
        None as long as no evaluation has succeeded.
    """
    gains = history.gains()
    if not len(gains):
        return None
    evaluations = tuple(e for e in history if e.status is not Status.CANCELLED)
    expected = _expected_gains(history)
    unclipped = np.array([expected.get(e.number, np.nan) for e in evaluations])
    clipped = np.fmax(unclipped, gains.min() if outputs == "unclipped" else _floor(gains))
    kept = _kept(clipped, most)
    evaluations, clipped = tuple(evaluations[i] for i in kept), clipped[kept]
    scale = _expected_scale(clipped, start or Start())
    noise = _pooled_noise(evaluations, scale, history.repeats)
    y = _normal_scores(clipped) if outputs == "ranks" else (clipped - clipped.mean()) / scale
    return Observations(evaluations, y, noise, unclipped[kept])


def with_paths(history: History) -> History:
    """A history in which the ends of a path stand beside its evaluation: what else the same fits said.

    Parameters
    ----------
    history : History
        All evaluations so far.

    Returns
    -------
    History
        The evaluations, and behind them the lowest and the highest setting of the latest paths, without risks and under
        numbers of their own.
    """
    latest = [e for e in history.succeeded if e.path is not None][-_MAX_PATHS:]
    number = max((e.number for e in history), default=-1)
    ends: list[Evaluation] = []
    for e in latest:
        assert e.path is not None  # noqa: S101  chosen above
        settings = e.path.settings
        for setting in dict.fromkeys((settings[0], settings[-1])):
            configuration = e.configuration.at("prediction", e.path.hyperparameter, setting.value)
            if configuration == e.configuration:
                continue
            number += 1
            ends.append(
                replace(
                    e,
                    number=number,
                    configuration=configuration,
                    score=setting.score,
                    fold_scores=setting.fold_scores,
                    risks=None,
                    path=None,
                )
            )
    return replace(history, evaluations=(*history.evaluations, *ends))


def _expected_gains(history: History) -> dict[int, float]:
    """Gain of each evaluation that has scores, by its number."""
    gain = history.metric.gain
    gains = {e.number: gain(e.score) for e in history.succeeded if e.score is not None}
    fold_means = np.mean([[gain(score) for score in e.fold_scores] for e in history.succeeded], axis=0)
    for e in history:
        if e.status is Status.RACED_OUT:
            g = np.array([gain(score) for score in e.fold_scores])
            gains[e.number] = float(np.mean(g - fold_means[: len(g)]) + fold_means.mean())
    return gains


def _normal_scores(gains: NDArray[np.float64]) -> NDArray[np.float64]:
    scores: NDArray[np.float64] = ndtri((rankdata(gains) - 0.5) / len(gains))
    return scores


def _floor(gains: NDArray[np.float64]) -> NDArray[np.float64]:
    """The clip; where half of all gains are the maximum, the minimum, and below it where all are equal."""
    median, best, worst = np.median(gains, axis=-1), gains.max(axis=-1), gains.min(axis=-1)
    of_half: NDArray[np.float64] = np.where(worst < median, worst, median - 1.0)
    return np.where(best > median, median - _CLIP * (best - median), of_half)


def _scale(clipped: NDArray[np.float64]) -> NDArray[np.float64]:
    """Their standard deviation; 1 where they are equal up to rounding."""
    scale, largest = clipped.std(axis=-1), np.abs(clipped).max(axis=-1)
    return np.where(scale <= _ROUNDING * np.maximum(1.0, largest), 1.0, scale)


def _expected_scale(clipped: NDArray[np.float64], start: Start) -> float:
    """s."""
    n, weight = len(clipped), _EXPECTED_WEIGHT * start.trust
    if start.scale is None or weight == 0:
        return float(_scale(clipped))
    return float(np.sqrt((n * clipped.var() + weight * start.scale**2) / (n + weight)))


def _kept(gains: NDArray[np.float64], most: int) -> NDArray[np.intp]:
    if len(gains) <= most:
        return np.arange(len(gains))
    best_first = np.argsort(-gains, kind="stable")
    half = most // 2
    latest = np.sort(best_first[half:])[-half:]
    return np.sort(np.concatenate([best_first[:half], latest]))


def _pooled_noise(evaluations: tuple[Evaluation, ...], scale: float, repeats: int) -> float:
    """Residual variance after means of configurations and folds are removed, times (1/J + 1/(K-1)), shrunk.

    J is the number of scores a configuration, K that of folds a repeat. Folds are the same for all configurations, so
    their difficulty cancels in comparisons; 1/(K-1), test over training patients, stands for the overlap of training
    folds (Nadeau & Bengio 2003, Machine Learning 52:239).
    """
    scored = [e.fold_scores for e in evaluations if e.status is Status.SUCCEEDED]
    if len(scored) < 2 or len(scored[0]) < 2:
        return _TYPICAL_NOISE
    residual, df = residual_variance(scored)
    J = len(scored[0])
    K = J // repeats
    variance = residual / scale**2 * (1 / J + 1 / (K - 1))
    return float((df * variance + _TYPICAL_NOISE_DF * _TYPICAL_NOISE) / (df + _TYPICAL_NOISE_DF))
