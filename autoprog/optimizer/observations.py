"""The surrogate's data: evaluations as standardised gains.

======  ==================================================================================  ==============  =========
symbol  meaning                                                                             shape           unit
======  ==================================================================================  ==============  =========
y       gains (scores, more is better), clipped below, less their mean, over s              (n,)            1
v       variance of the clipped gains                                                       scalar          score^2
s_0, t  scale expected from earlier cohorts, and the trust in them                          scalar          score, 1
s       sqrt((n v + 8 t s_0^2) / (n + 8 t))                                                 scalar          score
floor   median - 1.5 (max - median) of the observed gains: the clip, and a failure's gain   scalar          score
J       fold scores of an evaluation                                                        scalar          1
K       folds a repeat                                                                      scalar          1
======  ==================================================================================  ==============  =========

Without earlier cohorts t = 0. With them a young search evaluates only promising pipelines. The spread of these few
gains says little about the spread over all pipelines, which is the unit of what earlier cohorts taught.

A pipeline that is broken on a cohort scores far below all others. Without the clip this tail takes up the kernel's
whole variance. Two other outputs exist for comparison: unclipped gains, where a failure has the worst; and the normal
scores of the clipped gains' ranks, Phi^-1((rank - 1/2) / n).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import rankdata

from autoprog.evaluation import Evaluation, History, Status, residual_variance
from autoprog.optimizer.initial import Start
from autoprog.optimizer.options import Outputs

# Gibbs sampling costs O(n^2) to O(n^3) a sweep; beyond this number the older of the poorer evaluations are left out.
MAX_OBSERVATIONS = 256

# Paths whose ends are used; each adds at most two observations.
_MAX_PATHS = 40

_CLIP = 1.5
# Weight of the expected scale under full trust, in observations.
_EXPECTED_WEIGHT = 8.0
# Standardised noise variance that the pooled estimate is shrunk to, and its weight in residuals.
_TYPICAL_NOISE, _TYPICAL_NOISE_DF = 0.1, 8.0
# Equal gains may differ by rounding; then their standard deviation is no scale.
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Observations:
    """The evaluations that the surrogate is fitted to."""

    evaluations: tuple[Evaluation, ...]  # in order of proposal
    y: NDArray[np.float64]  # standardised gains, shape = (n,); a failure has the clip's
    noise: float  # prior guess of the variance of `y` about the true gain
    gains: NDArray[np.float64]  # gains before the clip, shape = (n,); NaN for a failure
    scale: float  # s, 1 of `y` in units of the score, but for ranks

    @property
    def succeeded(self) -> NDArray[np.bool_]:
        """Mask of the succeeded evaluations, shape = (n,)."""
        return np.array([e.status is Status.SUCCEEDED for e in self.evaluations])

    def take(self, rows: NDArray[np.intp]) -> Observations:
        """Some of the evaluations, standardised as among all."""
        evaluations = tuple(self.evaluations[i] for i in rows)
        return Observations(evaluations, self.y[rows], self.noise, self.gains[rows], self.scale)

    def revised(self, gains: NDArray[np.float64]) -> NDArray[np.float64]:
        """Recompute `y`, shape = (b, n), for b sets of gains of the t succeeded evaluations, shape = (b, t)."""
        # An evaluation that was raced out keeps its distance from the mean. In a history of more than
        # `MAX_OBSERVATIONS` the clip is that of the t kept successes alone.
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
    """Turn a history into the surrogate's data, of at most `most` evaluations; None before the first success."""
    gains = history.gains()
    if not len(gains):
        return None
    # A cancelled evaluation says nothing about its configuration.
    evaluations = tuple(e for e in history if e.status is not Status.CANCELLED)
    expected = _expected_gains(history)
    unclipped = np.array([expected.get(e.number, np.nan) for e in evaluations])
    # A failure counts as a gain at the clip, so that its neighbourhood is avoided.
    clipped = np.fmax(unclipped, gains.min() if outputs == "unclipped" else _floor(gains))
    kept = _kept(clipped, most)
    evaluations, clipped = tuple(evaluations[i] for i in kept), clipped[kept]
    scale = _expected_scale(clipped, start or Start())
    noise = _pooled_noise(evaluations, scale, history.repeats)
    y = _normal_scores(clipped) if outputs == "ranks" else (clipped - clipped.mean()) / scale
    return Observations(evaluations, y, noise, unclipped[kept], scale)


def with_paths(history: History) -> History:
    """Add the lowest and highest setting of the latest paths to a history, as evaluations without risks."""
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
    """Gain of each evaluation that has fold scores, by its number."""
    gain = history.metric.gain
    gains = {e.number: gain(e.score) for e in history.succeeded if e.score is not None}
    fold_means = np.mean([[gain(score) for score in e.fold_scores] for e in history.succeeded], axis=0)
    for e in history:
        if e.status is Status.RACED_OUT:
            # Compare with the mean of the complete evaluations on the same folds.
            g = np.array([gain(score) for score in e.fold_scores])
            gains[e.number] = float(np.mean(g - fold_means[: len(g)]) + fold_means.mean())
    return gains


def _normal_scores(gains: NDArray[np.float64]) -> NDArray[np.float64]:
    scores: NDArray[np.float64] = ndtri((rankdata(gains) - 0.5) / len(gains))
    return scores


def _floor(gains: NDArray[np.float64]) -> NDArray[np.float64]:
    """The clip: the minimum where half of all gains are the maximum, and below it where all are equal."""
    median, best, worst = np.median(gains, axis=-1), gains.max(axis=-1), gains.min(axis=-1)
    of_half: NDArray[np.float64] = np.where(worst < median, worst, median - 1.0)
    return np.where(best > median, median - _CLIP * (best - median), of_half)


def _scale(clipped: NDArray[np.float64]) -> NDArray[np.float64]:
    """Standard deviation of the gains; 1 where they are equal up to rounding."""
    scale, largest = clipped.std(axis=-1), np.abs(clipped).max(axis=-1)
    return np.where(scale <= _ROUNDING * np.maximum(1.0, largest), 1.0, scale)


def _expected_scale(clipped: NDArray[np.float64], start: Start) -> float:
    n, weight = len(clipped), _EXPECTED_WEIGHT * start.trust
    if start.scale is None or weight == 0:
        return float(_scale(clipped))
    return float(np.sqrt((n * clipped.var() + weight * start.scale**2) / (n + weight)))


def _kept(gains: NDArray[np.float64], most: int) -> NDArray[np.intp]:
    if len(gains) <= most:
        return np.arange(len(gains))
    # Keep the better half, and the latest of the others.
    best_first = np.argsort(-gains, kind="stable")
    half = most // 2
    latest = np.sort(best_first[half:])[-half:]
    return np.sort(np.concatenate([best_first[:half], latest]))


def _pooled_noise(evaluations: tuple[Evaluation, ...], scale: float, repeats: int) -> float:
    """Noise variance of standardised gains: the pooled residual variance times (1/J + 1/(K-1)), shrunk."""
    scored = [e.fold_scores for e in evaluations if e.status is Status.SUCCEEDED]
    if len(scored) < 2 or len(scored[0]) < 2:
        return _TYPICAL_NOISE
    residual, df = residual_variance(scored)
    J = len(scored[0])
    K = J // repeats
    # All configurations have the same folds, whose difficulty cancels in comparisons. 1/(K-1), test over training
    # patients, stands for the overlap of training folds (Nadeau & Bengio 2003, Machine Learning 52:239).
    variance = residual / scale**2 * (1 / J + 1 / (K - 1))
    return float((df * variance + _TYPICAL_NOISE_DF * _TYPICAL_NOISE) / (df + _TYPICAL_NOISE_DF))
