"""A batch by expected improvement of the whole score, under the surrogate averaged over decompositions.

Expected improvement on a logarithmic scale, without underflow.

======  ==================================================================  =======  =======
symbol  meaning                                                             shape    unit
======  ==================================================================  =======  =======
mu, sd  posterior mean and standard deviation of the true gain              (p,)     1
best    gain to improve on; with noise a posterior mean, not a score        scalar   1
z       (mu - best) / sd                                                    (p,)     1
h(z)    phi(z) + z Phi(z)                                                   (p,)     1
======  ==================================================================  =======  =======

    log EI = log sd + log h(z)

References
----------
Ginsbourger, Le Riche & Carraro 2010 (the kriging believer); Eggensperger et al. 2013 and Hutter, Hoos & Leyton-Brown
2011 (random and local search over candidates).
Ament, Daulton, Eriksson, Balandat & Bakshy 2023, NeurIPS, "Unexpected improvements to expected improvement", eq. 9.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, ndtr

from autoprog.optimizer.initial import uniform_design
from autoprog.optimizer.mixture import Mixture
from autoprog.optimizer.neighbourhood import Neighbourhood
from autoprog.space import Configuration, PipelineKind, TableShape, predicted_seconds

_HALF_LOG_2PI = 0.5 * np.log(2.0 * np.pi)
_HALF_LOG_HALF_PI = 0.5 * np.log(0.5 * np.pi)
# Below this, erfcx times |z| rounds to one, so the series gives its difference from one.
_ASYMPTOTIC = -1e4


def log_expected_improvement(mean: NDArray[np.float64], sd: NDArray[np.float64], best: float) -> NDArray[np.float64]:
    """log EI of each candidate, shape = (p,); minus infinity where a certain candidate does not improve."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        z = (mean - best) / sd
        log_ei: NDArray[np.float64] = np.log(sd) + log_h(z)
        certain = np.where(mean > best, np.log(np.maximum(mean - best, 0.0)), -np.inf)
    return np.where(sd > 0, log_ei, certain)


def log_h(z: NDArray[np.float64]) -> NDArray[np.float64]:
    """log(phi(z) + z Phi(z)), finite for every finite z; same shape."""
    result = np.empty_like(z)
    near, far = z > -1.0, z <= _ASYMPTOTIC
    middle = ~near & ~far
    x = z[near]
    result[near] = np.log(np.exp(-0.5 * x * x - _HALF_LOG_2PI) + x * ndtr(x))
    x = z[middle]
    inner = np.log(erfcx(-x / np.sqrt(2.0)) * -x) + _HALF_LOG_HALF_PI
    result[middle] = -0.5 * x * x - _HALF_LOG_2PI + np.log(-np.expm1(inner))
    x = z[far]
    result[far] = -0.5 * x * x - _HALF_LOG_2PI - 2.0 * np.log(-x)
    return result


# Rounds of improvement, best candidates in each round, and changes of each.
_ROUNDS, _CLIMBERS, _STEPS = 2, 8, 8
# A pipeline must promise ten times as much for each pipeline of the batch with its prediction algorithm. Twins of the
# best promise nearly as much as it does, but teach little and make a poor ensemble. An algorithm that promises next to
# nothing would be no better, so the factor is finite.
_AGAIN = float(np.log(10.0))
# Evaluations over which the preference for quick pipelines fades, and the overhead of an evaluation in seconds.
_YOUNG, _OVERHEAD_S = 40, 0.2


def improving_batch(
    mixture: Mixture,
    neighbourhood: Neighbourhood,
    size: int,
    seen: Collection[Configuration],
    rng: np.random.Generator,
    *,
    pending: Sequence[Configuration] = (),
    prices: Mapping[PipelineKind, float] | None = None,
    is_local: bool = False,
) -> tuple[Configuration, ...]:
    """Choose up to `size` configurations one by one, each with the greatest expected improvement."""
    encoding = mixture.belief.encoding
    anchors, best = mixture.incumbents()
    mixture.believe(encoding.encode(pending))
    batch: list[Configuration] = []
    uses: Counter[str] = Counter()

    def score(candidates: Sequence[Configuration]) -> NDArray[np.float64]:
        mean, sd = mixture.marginal(encoding.encode(candidates))
        values = log_expected_improvement(mean, sd, best) - [_AGAIN * uses[c.prediction.algorithm] for c in candidates]
        return values - [prices[encoding.space.find_kind(c)] for c in candidates] if prices else values

    # After each choice the surrogate believes its own mean there, so that the next choice lies elsewhere.
    while len(batch) < size:
        taken = {*seen, *batch}
        pool = _Ranked(taken, score)
        pool.add(neighbourhood.candidates(anchors, rng, is_local=is_local))
        for _ in range(_ROUNDS):
            pool.add(neighbourhood.around(pool.best(_CLIMBERS), _STEPS, rng))
        chosen = pool.best(1)
        if not chosen:  # the space is nearly exhausted
            return (*batch, *uniform_design(encoding, neighbourhood.kinds, size - len(batch), taken, rng))
        batch += chosen
        uses.update(c.prediction.algorithm for c in chosen)
        if len(batch) < size:
            mixture.believe(encoding.encode(chosen))
    return tuple(batch)


def early_cost_penalty(
    kinds: Sequence[PipelineKind], shape: TableShape, n_evaluations: int
) -> dict[PipelineKind, float] | None:
    """Penalise a young search's log expected improvement by log predicted seconds; None for an old one."""
    weight = 1.0 - n_evaluations / _YOUNG
    if weight <= 0:
        return None
    return {kind: weight * float(np.log(_OVERHEAD_S + predicted_seconds(kind, shape))) for kind in kinds}


class _Ranked:
    """Untaken candidates with their scores, each once."""

    def __init__(
        self,
        taken: Collection[Configuration],
        score: Callable[[Sequence[Configuration]], NDArray[np.float64]],
    ) -> None:
        self._known = set(taken)
        self._score = score
        self._candidates: list[Configuration] = []
        self._values = np.empty(0)

    def add(self, candidates: Sequence[Configuration]) -> None:
        before = len(self._candidates)
        for candidate in candidates:
            known = len(self._known)
            self._known.add(candidate)
            if len(self._known) > known:  # asking first would hash all its parameters once more
                self._candidates.append(candidate)
        if len(self._candidates) > before:
            self._values = np.append(self._values, self._score(self._candidates[before:]))

    def best(self, n: int) -> list[Configuration]:
        return [self._candidates[i] for i in np.argsort(-self._values, kind="stable")[:n]]
