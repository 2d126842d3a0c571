"""Outcomes of synthetic patients: a risk score of the latent or measured columns, labels, times of several causes.

eta           the risk score, mean 0 and standard deviation 1
s             its strength: log odds, or log hazard, per standard deviation
T_c           time of cause c: lambda_c (-log V exp(-s_c eta_c))^(1 / k_c), V even: Weibull, or log-logistic
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtr

from training.network.tables import bend, standardise

_Floats = NDArray[np.float64]

_FEWEST = 3


def draw_score(rng: np.random.Generator, columns: _Floats) -> _Floats:
    """Draw eta as a function of standard columns: additive and sparse, with products, of trees, or a small network."""
    how = rng.choice(4, p=[0.5, 0.22, 0.15, 0.13])
    if how == 2:
        score = _trees(rng, columns)
    elif how == 3:
        score = _network(rng, columns)
    else:
        score = _additive(rng, columns, products=how == 1)
    if rng.random() < 0.5:  # what nobody measured
        score = standardise(score) + rng.uniform(0, 0.8) * rng.standard_normal(len(score))
    return standardise(score)


def _chosen(rng: np.random.Generator, p: int) -> NDArray[np.intp]:
    k = p if rng.random() < 0.25 else min(p, 1 + int(rng.geometric(1.0 / rng.uniform(2, 12))))
    return rng.permutation(p)[:k]


def _additive(rng: np.random.Generator, columns: _Floats, *, products: bool) -> _Floats:
    some = _chosen(rng, columns.shape[1])
    weights = rng.laplace(size=len(some)) if rng.random() < 0.5 else rng.normal(1.0, rng.uniform(0.1, 1.5), len(some))
    curved = 0.0 if rng.random() < 0.25 else rng.uniform(0.1, 1.0)
    score = np.zeros(len(columns))
    for w, j in zip(weights, some, strict=True):
        score += w * bend(rng, columns[:, j], curved)
    if products and len(some) > 1:
        score = standardise(score)
        for _ in range(int(rng.integers(1, 5))):
            a, b = rng.choice(some, 2, replace=False)
            score += rng.normal(0, 0.6) * bend(rng, columns[:, a], 0.5) * bend(rng, columns[:, b], 0.5)
    return score


def _trees(rng: np.random.Generator, columns: _Floats) -> _Floats:
    n, some = len(columns), _chosen(rng, columns.shape[1])
    score = np.zeros(n)
    for _ in range(int(rng.integers(1, 15))):
        leaf = np.zeros(n, dtype=np.intp)
        depth = int(rng.integers(1, 5))
        for _ in range(depth):
            j = rng.choice(some)
            leaf = 2 * leaf + (columns[:, j] > columns[rng.integers(n), j])
        score += rng.standard_normal(2**depth)[leaf]
    return score


def _network(rng: np.random.Generator, columns: _Floats) -> _Floats:
    some, width = _chosen(rng, columns.shape[1]), int(rng.integers(3, 20))
    h = columns[:, some] @ rng.standard_normal((len(some), width)) / np.sqrt(len(some))
    h = np.tanh(np.exp(rng.normal(0, 0.5)) * h + rng.standard_normal(width))
    return np.asarray(h @ rng.laplace(size=width))


def draw_strength(rng: np.random.Generator) -> float:
    """s, of which .4, 1, 2.5 mean areas under the curve of about .61, .74, .89."""
    if rng.random() < 0.07:  # all but separable
        return float(np.clip(np.exp(rng.normal(2.3, 0.7)), 0.05, 60.0))
    return float(np.clip(np.exp(rng.normal(0.75, 0.65)), 0.05, 10.0))


def draw_rate(rng: np.random.Generator, n: int) -> float:
    """Share of events, mostly below one half, with at least a few of each kind among n patients."""
    rate = 0.02 + 0.48 * rng.beta(1.4, 1.3)
    rate = 1 - rate if rng.random() < 0.25 else rate
    return float(np.clip(rate, _FEWEST / n, 1 - _FEWEST / n))


def label(rng: np.random.Generator, eta: _Floats, strength: float, rate: float) -> NDArray[np.int64]:
    """Draw labels with about this rate; of some tables a share is wrong."""
    link = ndtr if rng.random() < 0.2 else expit
    z = strength * eta
    low, high = -60.0, 60.0
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if link(z + middle).mean() < rate else (low, middle)
    y = rng.random(len(z)) < link(z + low)
    if rng.random() < 0.25:
        wrong = rng.random(len(z)) < rng.uniform(0, 0.1)
        y = np.where(wrong, rng.random(len(z)) < rate, y)
    return y.astype(np.int64)


def draw_times(rng: np.random.Generator, scores: list[_Floats]) -> tuple[_Floats, NDArray[np.int64], _Floats]:
    """Times of the first event without censoring, its cause from 1, and times of censoring."""
    n, causes = len(scores[0]), len(scores)
    shares = rng.dirichlet(np.full(causes, 1.5))
    times = np.empty((n, causes))
    for c, eta in enumerate(scores):
        shape = np.exp(rng.normal(0.1, 0.35))
        if rng.random() < 0.2:  # hazards that are not proportional
            shape = shape * np.exp(rng.normal(0, 0.3) * np.tanh(eta))
        draws = -np.log(rng.random(n))
        if rng.random() < 0.25:
            draws = np.expm1(np.minimum(draws, 30.0))
        times[:, c] = (draws * np.exp(-draw_strength(rng) * eta) / shares[c]) ** (1 / shape)
        if rng.random() < 0.25:
            times[rng.random(n) < rng.uniform(0, 0.6), c] = np.inf
    time, cause = times.min(axis=1), times.argmin(axis=1) + 1
    finite = np.isfinite(time)
    time[~finite] = 10 * time[finite].max() if finite.any() else 1.0
    return time, cause, _censoring(rng, time, scores[0])


def _censoring(rng: np.random.Generator, time: _Floats, eta: _Floats) -> _Floats:
    """Entry at an even pace until the study ends, and patients lost at a rate that may depend on the score."""
    n, target = len(time), rng.uniform(0.02, 0.9)
    lost = -np.log(rng.random(n)) * np.exp(-(rng.normal(0, 0.5) if rng.random() < 0.4 else 0.0) * eta)
    shape = np.minimum(lost * rng.choice([1.0, 3.0, 30.0]), rng.uniform(rng.uniform(0, 1), 1.0, n))
    ratio = np.quantile(time / np.maximum(shape, 1e-9), 1 - target)
    return np.asarray(shape * ratio)
