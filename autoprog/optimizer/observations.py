"""What the surrogate learns from: the evaluations as standardised gains.

======  ==================================================================================  ==============  =========
symbol  meaning                                                                             shape           unit
======  ==================================================================================  ==============  =========
y       gains (scores, more is better), clipped below, standardised                         (n,)            1
floor   median - 1.5 (max - median) of the observed gains: the clip, and a failure's gain   scalar          score
J       fold scores of an evaluation                                                        scalar          1
K       folds a repeat                                                                      scalar          1
======  ==================================================================================  ==============  =========

A pipeline that is broken on a cohort scores far below all others, and without the clip this tail takes up the kernel's
whole variance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autoprog.evaluation import Evaluation, History, Status

# Gibbs sampling costs O(n^2) to O(n^3) a sweep; beyond this many the poorest and oldest evaluations are left out.
MOST_OBSERVATIONS = 256

_CLIP = 1.5
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
    """

    evaluations: tuple[Evaluation, ...]
    y: NDArray[np.float64]
    noise: float

    @property
    def succeeded(self) -> NDArray[np.bool_]:
        """Which of them have a score, shape = (n,)."""
        return np.array([e.status is Status.SUCCEEDED for e in self.evaluations])


def observe(history: History) -> Observations | None:
    """Turn a history into what the surrogate is fitted to.

    Cancelled evaluations tell nothing about their configuration and are left out; every other failure counts as a gain
    at the clip, so that its neighbourhood is avoided. Of more than `MOST_OBSERVATIONS` the better half of that number
    is kept, and the latest of the others.

    Parameters
    ----------
    history : History
        All evaluations so far.

    Returns
    -------
    Observations or None
        None as long as no evaluation has succeeded.
    """
    gains = history.gains()
    if not len(gains):
        return None
    floor = _floor(gains)
    evaluations = tuple(e for e in history if e.status is not Status.CANCELLED)
    clipped = np.array([floor if e.score is None else max(history.metric.gain(e.score), floor) for e in evaluations])
    kept = _kept(clipped)
    evaluations, clipped = tuple(evaluations[i] for i in kept), clipped[kept]
    scale = float(clipped.std())
    if scale <= _ROUNDING * max(1.0, float(np.abs(clipped).max())):
        scale = 1.0
    noise = _pooled_noise(evaluations, scale, history.repeats)
    return Observations(evaluations, (clipped - clipped.mean()) / scale, noise)


def _floor(gains: NDArray[np.float64]) -> float:
    """The clip; where half of all gains are the maximum, the minimum, and below it where all are equal."""
    median = float(np.median(gains))
    if gains.max() > median:
        return median - _CLIP * (float(gains.max()) - median)
    return float(gains.min()) if gains.min() < median else median - 1.0


def _kept(gains: NDArray[np.float64]) -> NDArray[np.intp]:
    if len(gains) <= MOST_OBSERVATIONS:
        return np.arange(len(gains))
    best_first = np.argsort(-gains, kind="stable")
    half = MOST_OBSERVATIONS // 2
    latest = np.sort(best_first[half:])[-half:]
    return np.sort(np.concatenate([best_first[:half], latest]))


def _pooled_noise(evaluations: tuple[Evaluation, ...], scale: float, repeats: int) -> float:
    """Residual variance after means of configurations and folds are removed, times (1/J + 1/(K-1)), shrunk.

    J is the number of scores a configuration, K that of folds a repeat. Folds are the same for all configurations, so
    their difficulty cancels in comparisons; 1/(K-1), test over training patients, stands for the overlap of training
    folds (Nadeau & Bengio 2003, Machine Learning 52:239).
    """
    scored = [e.fold_scores for e in evaluations if e.fold_scores]
    if len(scored) < 2 or len(scored[0]) < 2:
        return _TYPICAL_NOISE
    scores = np.array(scored) / scale
    n, J = scores.shape
    residuals = scores - scores.mean(axis=1, keepdims=True) - scores.mean(axis=0) + scores.mean()
    df = (n - 1) * (J - 1)
    K = J // repeats
    variance = float((residuals**2).sum()) / df * (1 / J + 1 / (K - 1))
    return float((df * variance + _TYPICAL_NOISE_DF * _TYPICAL_NOISE) / (df + _TYPICAL_NOISE_DF))
