"""A pool's cohort as a landscape: a surrogate that answers any configuration as an evaluation would have.

=======  ==================================================================================  ============  ==========
symbol   meaning                                                                             shape         unit
=======  ==================================================================================  ============  ==========
f        true score of a configuration: the surrogate's mean, cut to [floor, 1]              (n,)          AUC
floor    median - 1.5 (max - median) of the pool's scores; poorer ones are fitted as this    scalar        AUC
b_k      effect of fold k, common to all configurations; sums to 0                           (K,)          AUC
sigma    standard deviation of a fold's score about f + b_k                                  (n,)          AUC
e        standard normal, the same for a configuration in every run with the seed            (n, K)        1
f*       best f of 12,000 draws and a local search from the best of them                     scalar        AUC
=======  ==================================================================================  ============  ==========

    score of fold k = f(x) + b_k + 0.7 sigma(x) e_k

Fold residuals of pipelines that resemble each other correlate, so that comparisons are less noisy than the residuals
are wide: 0.7 stands for it. Failures have no noise: a configuration fails where a forest that was fitted to the pool's
failures gives them more than an even chance.
"""

from __future__ import annotations

import hashlib
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from autoprog.evaluation import Evaluation, Status
from autoprog.space import Configuration
from benchmarks.optimizer.forest import Forest, fit_probability, fit_regression
from benchmarks.optimizer.gaussian_process import Flat, Process, Product
from benchmarks.optimizer.problem import Problem
from benchmarks.optimizer.rows import Array, Encoder, Rows
from training.prior.cache import kept
from training.prior.pools import Pool

SURROGATES = ("trees", "gp")
MIN_CORRELATION = 0.6
# Change it with anything that changes what a surrogate answers.
VERSION = 1

_PARTS, _CLIP, _NOISE = 8, 1.5, 0.7
_DRAWS, _KEPT, _ROUNDS, _MUTATIONS = 12_000, 40, 12, 30


class _Scores:
    """The surrogate of the score: one forest, or the mean of two processes."""

    def __init__(self, surrogate: str, encoder: Encoder, rows: Rows, y: Array) -> None:
        self._surrogate = surrogate
        if surrogate == "trees":
            self._models: list[Any] = [fit_regression(rows.for_trees, y, seed=0)]
        else:
            X = rows.for_processes
            stages = (encoder.stage_of_algorithm, encoder.stage_of_axis, encoder.axes_beside)
            self._models = [Process(kernel, X, y) for kernel in (Flat(X.shape[1]), Product(*stages))]

    def predict(self, rows: Rows) -> Array:
        X = rows.for_trees if self._surrogate == "trees" else rows.for_processes
        return np.mean([model.predict(X) for model in self._models], axis=0)


@dataclass(frozen=True, eq=False)
class Landscape:
    """One cohort under one surrogate.

    Attributes
    ----------
    cohort, surrogate : str
        Which.
    fingerprint : str
        Of everything that its answers depend on.
    problem : Problem
        The space.
    correlation, upper_correlation : float
        Held-out rank correlation of the surrogate with the pool's scores, and with their upper half.
    median, best : float
        Median of f over draws that succeed, and f*.
    optimum : Configuration
        Where f* is.
    mean_seconds : float
        Of draws.
    """

    cohort: str
    surrogate: str
    fingerprint: str
    problem: Problem
    correlation: float
    upper_correlation: float
    median: float
    best: float
    optimum: Configuration
    mean_seconds: float
    n_pool: int
    n_failed: int
    _parts: _Parts

    @property
    def is_faithful(self) -> bool:
        """Whether the surrogate ranks unseen pipelines well enough to stand for evaluations."""
        return self.correlation >= MIN_CORRELATION

    def truth(self, configurations: Sequence[Configuration]) -> Array:
        """f, shape = (n,); NaN for a configuration that fails."""
        return self._parts.truth(self._parts.encoder(configurations))

    def regret(self, truth: Array, best: float | None = None) -> Array:
        """What `truth` lacks of the optimum, in units of what the median pipeline lacks.

        Parameters
        ----------
        truth : ndarray
            Values of f; NaN, no pipeline yet, counts as the median.
        best : float or None
            Another value in the place of f*, where a run found a better one.

        Returns
        -------
        ndarray
            0 at the optimum, 1 at the median.
        """
        best = self.best if best is None else max(best, self.best)
        return (best - np.where(np.isnan(truth), self.median, truth)) / (best - self.median)

    def evaluate(self, first: int, batch: int, configurations: Sequence[Configuration], seed: int) -> list[Evaluation]:
        """Answer a batch as the search's evaluations would; numbered from `first`."""
        rows = self._parts.encoder(configurations)
        truth, sigma, seconds = self._parts.truth(rows), self._parts.sigma(rows), self._parts.seconds(rows)
        folds, place = len(self._parts.fold_effects), (seed, zlib.crc32(self.cohort.encode()))
        answers = []
        for i, configuration in enumerate(configurations):
            number = first + i
            if np.isnan(truth[i]):
                status = self._parts.failure
                answers.append(Evaluation(number, batch, configuration, status, duration_s=float(seconds[i])))
                continue
            e = np.random.default_rng([*place, int(configuration.key[:12], 16)]).normal(size=folds)
            scores = np.clip(truth[i] + self._parts.fold_effects + _NOISE * sigma[i] * e, 0.0, 1.0)
            answers.append(
                Evaluation(
                    number,
                    batch,
                    configuration,
                    Status.SUCCEEDED,
                    float(scores.mean()),
                    tuple(scores.tolist()),
                    duration_s=float(seconds[i]),
                )
            )
        return answers


@dataclass(frozen=True, eq=False)
class _Parts:
    """What the landscape is made of."""

    encoder: Encoder
    score: _Scores
    fails: Forest | None
    spread: Forest
    log_seconds: Forest
    floor: float
    fold_effects: Array
    failure: Status
    limit_s: float

    def truth(self, rows: Rows) -> Array:
        truth = np.clip(self.score.predict(rows), self.floor, 1.0)
        return np.where(self.failing(rows), np.nan, truth)

    def failing(self, rows: Rows) -> NDArray[np.bool_]:
        if self.fails is None:
            return np.zeros(len(rows), dtype=bool)
        return self.fails.predict(rows.for_trees) > 0.5

    def sigma(self, rows: Rows) -> Array:
        return np.exp(self.spread.predict(rows.for_trees))

    def seconds(self, rows: Rows) -> Array:
        """Those of a success; a timeout takes all that it may, another failure half of what a success would."""
        seconds = np.minimum(np.exp(self.log_seconds.predict(rows.for_trees)), self.limit_s)
        failed = self.limit_s if self.failure is Status.TIMEOUT else seconds / 2
        return np.where(self.failing(rows), failed, seconds)


def landscape(pool: Pool, surrogate: str) -> Landscape:
    """Fit a pool's surrogate, or read it where it was fitted before.

    Parameters
    ----------
    pool : Pool
        Evaluated configurations.
    surrogate : {"trees", "gp"}
        Which family.

    Returns
    -------
    Landscape
        The same one every time.
    """
    fingerprint = _fingerprint(pool, surrogate)
    return kept(f"{pool.name}-{surrogate}-{fingerprint}", lambda: _fit(pool, surrogate, fingerprint))


def _fingerprint(pool: Pool, surrogate: str) -> str:
    axes = [(a.key, a.family, a.hyperparameters) for a in Problem(pool.shape).space.algorithms]
    text = repr((VERSION, surrogate, pool.shape, pool.limit_s, axes))
    digest = hashlib.sha256(text.encode())
    for entry in pool.entries:
        digest.update(repr((entry.configuration.key, entry.status.value, entry.fold_scores, entry.seconds)).encode())
    return digest.hexdigest()[:16]


def _fit(pool: Pool, surrogate: str, fingerprint: str) -> Landscape:
    problem = Problem(pool.shape)
    encoder = Encoder(problem)
    rows = encoder([e.configuration for e in pool.entries])
    succeeded = np.array([e.status is Status.SUCCEEDED for e in pool.entries])
    folds = np.array([e.fold_scores for e in pool.entries if e.status is Status.SUCCEEDED])
    means = folds.mean(axis=1)
    floor = float(np.median(means) - _CLIP * (means.max() - np.median(means)))
    y = np.maximum(means, floor)
    fitted_to = rows[np.flatnonzero(succeeded)]
    effects = (folds - means[:, None]).mean(axis=0)
    spread = (folds - means[:, None] - effects).std(axis=1, ddof=1)
    seconds = np.array([e.seconds for e in pool.entries])
    parts = _Parts(
        encoder=encoder,
        score=_Scores(surrogate, encoder, fitted_to, y),
        fails=fit_probability(rows.for_trees, ~succeeded, seed=1),
        spread=fit_regression(fitted_to.for_trees, np.log(np.maximum(spread, 1e-4)), seed=2),
        log_seconds=fit_regression(fitted_to.for_trees, np.log(np.maximum(seconds[succeeded], 1e-3)), seed=3),
        floor=floor,
        fold_effects=effects,
        failure=_failure(pool),
        limit_s=pool.limit_s,
    )
    return Landscape(
        pool.name,
        surrogate,
        fingerprint,
        problem,
        *_held_out(surrogate, encoder, fitted_to, y),
        *_extremes(problem, parts),
        n_pool=len(succeeded),
        n_failed=int((~succeeded).sum()),
        _parts=parts,
    )


def _failure(pool: Pool) -> Status:
    """How most of the pool's failures failed."""
    failures = Counter(e.status for e in pool.entries if e.status is not Status.SUCCEEDED)
    return failures.most_common(1)[0][0] if failures else Status.INVALID


def _held_out(surrogate: str, encoder: Encoder, rows: Rows, y: Array) -> tuple[float, float]:
    """Rank correlation of predictions for eighths that the surrogate was not fitted to; of all, of the upper half."""
    part = np.random.default_rng(0).permutation(len(y)) % _PARTS
    predicted = np.empty(len(y))
    for number in range(_PARTS):
        inside, outside = np.flatnonzero(part != number), np.flatnonzero(part == number)
        predicted[outside] = _Scores(surrogate, encoder, rows[inside], y[inside]).predict(rows[outside])
    upper = y >= np.median(y)
    return float(spearmanr(predicted, y).statistic), float(spearmanr(predicted[upper], y[upper]).statistic)


def _extremes(problem: Problem, parts: _Parts) -> tuple[float, float, Configuration, float]:
    """Median of f, its optimum, where that is, and the mean seconds of a draw."""
    rng = np.random.default_rng(0)
    draws = [problem.draw(rng) for _ in range(_DRAWS)]
    rows = parts.encoder(draws)
    truth = parts.truth(rows)
    median, mean_seconds = float(np.nanmedian(truth)), float(parts.seconds(rows).mean())
    order = np.argsort(-np.nan_to_num(truth, nan=-np.inf), kind="stable")[:_KEPT]
    best, value = [draws[i] for i in order], truth[order]
    for _ in range(_ROUNDS):
        mutated = list({problem.mutate(c, rng): None for c in best for _ in range(_MUTATIONS)})
        found = np.concatenate([value, np.nan_to_num(parts.truth(parts.encoder(mutated)), nan=-np.inf)])
        order = np.argsort(-found, kind="stable")[:_KEPT]
        best, value = [[*best, *mutated][i] for i in order], found[order]
    return median, float(value[0]), best[0], mean_seconds
