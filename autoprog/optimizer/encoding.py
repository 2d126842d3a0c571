"""Configurations as arrays.

======  ==========================================================================  ==============  ======
symbol  meaning                                                                     shape           range
======  ==========================================================================  ==============  ======
used    whether configuration i uses algorithm a                                    (n, n_alg)      bool
units   hyperparameters on their axes; 0.5 where their algorithm is not used        (n, n_hyper)    [0, 1]
owner   the algorithm that a hyperparameter belongs to                              (n_hyper,)      index
labels  z, the subspace of every algorithm                                          (n_alg,)        0..M-1
======  ==========================================================================  ==============  ======
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from autoprog.space import STAGES, Configuration, PipelineKind, Space, Step

UNSELECTED = 0.5
_RECENT_STEPS = 8_192


@dataclass(frozen=True, eq=False)
class Points:
    """Configurations as the kernel's input."""

    used: NDArray[np.bool_]
    units: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.used)

    def __getitem__(self, rows: NDArray[np.bool_]) -> Points:
        return Points(self.used[rows], self.units[rows])

    def followed_by(self, others: Points) -> Points:
        """Append other points."""
        return Points(np.vstack([self.used, others.used]), np.vstack([self.units, others.units]))


class Encoding:
    """Conversion of a space's configurations to arrays, with columns in the order of its algorithms."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self.algorithms = space.algorithms
        self.keys = tuple(a.key for a in self.algorithms)
        sizes = [len(a.hyperparameters) for a in self.algorithms]
        self.owner: NDArray[np.int64] = np.repeat(np.arange(len(sizes)), sizes)
        ends = np.cumsum(sizes)
        self.columns = tuple(slice(int(end - size), int(end)) for end, size in zip(ends, sizes, strict=True))
        column = {key: a for a, key in enumerate(self.keys)}
        self._index = tuple({a.name: column[a.key] for a in stage} for stage in space.stages)
        # Most candidates share most of their steps with a recently encoded pipeline.
        self.units_of = lru_cache(_RECENT_STEPS)(self._encode_units)

    @property
    def n_algorithms(self) -> int:
        """Number of algorithms in play."""
        return len(self.keys)

    def indices(self, kind: PipelineKind) -> tuple[int, ...]:
        """Columns of a kind's four algorithms."""
        return tuple([index[a.name] for index, a in zip(self._index, kind, strict=True)])

    def list_algorithms(self, configuration: Configuration) -> tuple[int, ...]:
        """Columns of a configuration's four algorithms; KeyError if one is not in play."""
        named = [(index, step.algorithm) for index, step in zip(self._index, configuration.steps, strict=True)]
        try:
            return tuple([index[name] for index, name in named])
        except KeyError:
            places = zip(STAGES, named, strict=True)
            raise KeyError(*[f"{stage}/{name}" for stage, (index, name) in places if name not in index]) from None

    def _encode_units(self, algorithm: int, step: Step) -> NDArray[np.float64]:
        """Position of a step on its algorithm's axes, read-only."""
        parameters = dict(step.parameters)
        axes = self.algorithms[algorithm].hyperparameters
        units = np.array([h.to_unit(parameters[h.name]) for h in axes], dtype=np.float64)
        units.flags.writeable = False
        return units

    def encode(self, configurations: Sequence[Configuration]) -> Points:
        """Convert configurations to arrays, one row each; KeyError if an algorithm is not in play."""
        used = np.zeros((len(configurations), self.n_algorithms), dtype=bool)
        units = np.full((len(configurations), len(self.owner)), UNSELECTED)
        algorithms = [self.list_algorithms(configuration) for configuration in configurations]
        for i, (configuration, of_stages) in enumerate(zip(configurations, algorithms, strict=True)):
            for a, step in zip(of_stages, configuration.steps, strict=True):
                if self.algorithms[a].hyperparameters:
                    units[i, self.columns[a]] = self.units_of(a, step)
        used[np.arange(len(used))[:, None], np.array(algorithms, dtype=np.intp).reshape(-1, len(STAGES))] = True
        return Points(used, units)
