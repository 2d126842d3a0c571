"""Hyperparameters to try: a pool of steps for every algorithm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autoprog.optimizer.encoding import Encoding
from autoprog.space import Algorithm, Step

# Standard deviation, on an axis of length 1, of a mutation of a good step.
_MUTATION_SD = 0.15


@dataclass(frozen=True, eq=False)
class Pool:
    """Steps of one algorithm.

    Attributes
    ----------
    steps : tuple of Step, length c
        One only for an algorithm without hyperparameters.
    units : ndarray, shape = (c, n_hyper of the algorithm)
        Where they lie on the algorithm's axes.
    """

    steps: tuple[Step, ...]
    units: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.steps)


def draw_pools(
    encoding: Encoding, size: int, anchors: Sequence[Sequence[Step]], rng: np.random.Generator
) -> tuple[Pool, ...]:
    """Draw a pool for every algorithm: its defaults, then mutations of anchors and uniform draws in turn.

    Parameters
    ----------
    encoding : Encoding
        Of the space.
    size : int
        c, at least 1.
    anchors : sequence of sequence of Step, length n_alg
        Steps of each algorithm that did well, if any; without one all draws are uniform.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    tuple of Pool, length n_alg
        In the order of the encoding.
    """
    pools: list[Pool] = []
    for a, algorithm in enumerate(encoding.algorithms):
        steps = [algorithm.default_step()]
        if algorithm.hyperparameters:
            good = [encoding.units_of(a, step) for step in anchors[a]]
            steps += [_draw(algorithm, good if c % 2 else [], rng) for c in range(1, size)]
        pools.append(Pool(tuple(steps), np.array([encoding.units_of(a, step) for step in steps])))
    return tuple(pools)


def _draw(algorithm: Algorithm, good: Sequence[NDArray[np.float64]], rng: np.random.Generator) -> Step:
    d = len(algorithm.hyperparameters)
    if good:
        centre = good[int(rng.integers(len(good)))]
        units = np.clip(centre + rng.normal(0.0, _MUTATION_SD, d), 0.0, 1.0)
    else:
        units = rng.random(d)
    return algorithm.step_from_unit({h.name: float(u) for h, u in zip(algorithm.hyperparameters, units, strict=True)})
