"""A batch by expected improvement of the whole score, under the surrogate averaged over decompositions.

Candidates are whole pipelines: some drawn at random, some made from the best ones by changing a step or two. The best
candidates are improved by further changes. After each choice the surrogate believes its own mean there, so that the
next one lies elsewhere, and another pipeline with its prediction algorithm has to promise ten times as much: near the
best pipeline there are always some that promise as much as it does, and a batch of its twins would teach little and
make a poor ensemble; an algorithm that promises next to nothing is no better company.

References
----------
Ginsbourger, Le Riche & Carraro 2010 (the kriging believer); Eggensperger et al. 2013 and Hutter, Hoos & Leyton-Brown
2011 (random and local search over candidates).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from autoprog.optimizer.expected_improvement import log_expected_improvement
from autoprog.optimizer.initial import uniform_design
from autoprog.optimizer.mixture import Mixture
from autoprog.optimizer.neighbourhood import Neighbourhood
from autoprog.space import Configuration, PipelineKind, TableShape, predicted_seconds

# Rounds of improving the best candidates, how many of them, and changes of each.
_ROUNDS, _CLIMBERS, _STEPS = 2, 8, 8
# Logarithm of how many times as much a pipeline has to promise for each of the batch with its prediction algorithm.
_AGAIN = float(np.log(10.0))
# Evaluations over which the preference for quick pipelines fades, and seconds that any evaluation costs.
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
    """The configurations with the greatest expected improvement, one after another.

    Parameters
    ----------
    mixture : Mixture
        What is believed of the evaluated pipelines; afterwards it believes in the batch too.
    neighbourhood : Neighbourhood
        Of the valid kinds.
    size : int
        B, the most configurations.
    seen : collection of Configuration
        Never to be proposed again.
    rng : numpy.random.Generator
        Source of randomness.
    pending : sequence of Configuration
        Being evaluated: the surrogate believes its own mean there.
    prices : mapping or None
        What is taken off the logarithm of a kind's expected improvement; None for nothing.
    is_local : bool
        Whether candidates are made from the best pipelines alone.

    Returns
    -------
    tuple of Configuration
        At most `size`, fewer where the space holds no more.
    """
    encoding = mixture.belief.encoding
    anchors, best = mixture.incumbents()
    mixture.believe(encoding.encode(pending))
    batch: list[Configuration] = []
    uses: Counter[str] = Counter()

    def score(candidates: Sequence[Configuration]) -> NDArray[np.float64]:
        mean, sd = mixture.marginal(encoding.encode(candidates))
        values = log_expected_improvement(mean, sd, best) - [_AGAIN * uses[c.prediction.algorithm] for c in candidates]
        return values - [prices[encoding.space.find_kind(c)] for c in candidates] if prices else values

    while len(batch) < size:
        taken = {*seen, *batch}
        pool = _Ranked(taken, score)
        pool.add(neighbourhood.candidates(anchors, rng, is_local=is_local))
        for _ in range(_ROUNDS):
            pool.add(neighbourhood.around(pool.best(_CLIMBERS), _STEPS, rng))
        chosen = pool.best(1)
        if not chosen:  # hardly a pipeline is left
            return (*batch, *uniform_design(encoding, neighbourhood.kinds, size - len(batch), taken, rng))
        batch += chosen
        uses.update(c.prediction.algorithm for c in chosen)
        if len(batch) < size:
            mixture.believe(encoding.encode(chosen))
    return tuple(batch)


def early_cost_penalty(
    kinds: Sequence[PipelineKind], shape: TableShape, n_evaluations: int
) -> dict[PipelineKind, float] | None:
    """Prices that make a young search prefer quick pipelines; None for an old one.

    Parameters
    ----------
    kinds : sequence of PipelineKind
        The valid kinds.
    shape : TableShape
        The training folds.
    n_evaluations : int
        So far.

    Returns
    -------
    dict or None
        The logarithm of the predicted seconds of an evaluation, times a weight that falls from 1 to 0.
    """
    weight = 1.0 - n_evaluations / _YOUNG
    if weight <= 0:
        return None
    return {kind: weight * float(np.log(_OVERHEAD_S + predicted_seconds(kind, shape))) for kind in kinds}


class _Ranked:
    """Candidates with their scores, each once, without those that are taken."""

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
            if len(self._known) > known:  # to ask first would take the hash of its every parameter once more
                self._candidates.append(candidate)
        if len(self._candidates) > before:
            self._values = np.append(self._values, self._score(self._candidates[before:]))

    def best(self, n: int) -> list[Configuration]:
        return [self._candidates[i] for i in np.argsort(-self._values, kind="stable")[:n]]
