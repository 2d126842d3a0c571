"""Candidate hyperparameters: a pool of steps for every algorithm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autoprog.optimizer.encoding import Encoding
from autoprog.space import Algorithm, Step

# Standard deviation of a good step's mutation, on an axis of length 1.
_MUTATION_SD = 0.15


@dataclass(frozen=True, eq=False)
class Pool:
    """Candidate steps of one algorithm; one step if it has no hyperparameters."""

    steps: tuple[Step, ...]
    units: NDArray[np.float64]  # shape = (c, n_hyper of the algorithm)

    def __len__(self) -> int:
        return len(self.steps)


def draw_pools(
    encoding: Encoding, size: int, anchors: Sequence[Sequence[Step]], rng: np.random.Generator
) -> tuple[Pool, ...]:
    """Draw a pool for every algorithm: its defaults, then mutations of anchors and uniform draws in turn."""
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
