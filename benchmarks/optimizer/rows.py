"""Configurations as rows of numbers, for the surrogates that stand for real evaluations.

======  ========================================================  =============  ========
symbol  meaning                                                   shape          range
======  ========================================================  =============  ========
used    whether the configuration uses the algorithm              (n, n_alg)     0 or 1
family  whether it uses an algorithm of the stage's family        (n, n_fam)     0 or 1
units   hyperparameters on their axes; NaN where not used         (n, n_hyper)   [0, 1]
stage   the stage of an algorithm, and of a hyperparameter        (n_alg,) ...   0..3
======  ========================================================  =============  ========
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autoprog.space import STAGES, Configuration
from benchmarks.optimizer.problem import Problem, units_of

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Rows:
    """Encoded configurations."""

    used: Array
    family: Array
    units: Array

    @property
    def for_trees(self) -> Array:
        """Everything, with -1 for the hyperparameters of an algorithm that is not used."""
        return np.hstack([self.used, self.family, np.where(np.isnan(self.units), -1.0, self.units)])

    @property
    def for_processes(self) -> Array:
        """Algorithms and hyperparameters, with 0.5 for those of an algorithm that is not used."""
        return np.hstack([self.used, np.where(np.isnan(self.units), 0.5, self.units)])

    def __getitem__(self, rows: NDArray[np.intp]) -> Rows:
        return Rows(self.used[rows], self.family[rows], self.units[rows])

    def __len__(self) -> int:
        return len(self.used)


class Encoder:
    """The way from configurations of a problem's space to rows."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        algorithms = problem.space.algorithms
        self._algorithms = {a.key: (i, a) for i, a in enumerate(algorithms)}
        families = sorted({(a.stage, a.family) for a in algorithms})
        self._family = [families.index((a.stage, a.family)) for a in algorithms]
        self._n_families = len(families)
        sizes = [len(a.hyperparameters) for a in algorithms]
        ends = np.cumsum(sizes)
        self._columns = [slice(int(e - s), int(e)) for e, s in zip(ends, sizes, strict=True)]
        self.stage_of_algorithm = np.array([STAGES.index(a.stage) for a in algorithms])
        self.stage_of_axis = np.repeat(self.stage_of_algorithm, sizes)
        # How many hyperparameters share an algorithm with each.
        self.axes_beside = np.repeat(sizes, sizes)

    def __reduce__(self) -> tuple[type[Encoder], tuple[Problem]]:
        return Encoder, (self._problem,)

    def __call__(self, configurations: Sequence[Configuration]) -> Rows:
        """Encode."""
        n = len(configurations)
        used = np.zeros((n, len(self._algorithms)))
        family = np.zeros((n, self._n_families))
        units = np.full((n, len(self.stage_of_axis)), np.nan)
        for row, configuration in enumerate(configurations):
            for stage in STAGES:
                step = configuration.step(stage)
                i, algorithm = self._algorithms[f"{stage}/{step.algorithm}"]
                used[row, i] = 1.0
                family[row, self._family[i]] = 1.0
                if algorithm.hyperparameters:
                    units[row, self._columns[i]] = units_of(algorithm, step)
        return Rows(used, family, units)
