"""The optimizer under test, by its public face."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from autoprog.evaluation import Evaluation, History
from autoprog.optimizer import Optimizer, OptimizerOptions, Start, make_optimizer
from autoprog.performance import METRICS
from autoprog.space import Configuration, Space, TableShape
from benchmarks.optimizer.problem import Problem

Make = Callable[[Space, TableShape, OptimizerOptions, Start], Optimizer]


class Ours:
    """A run of the search's own optimizer.

    Parameters
    ----------
    problem : Problem
        The space.
    seed : int
        Of the search.
    budget : int
        Evaluations to come.
    start : Start
        What other cohorts have taught.
    make : callable
        Of the optimizer; the package's own.
    **options
        `preset`, and fields of `OptimizerOptions` that differ from it.
    """

    def __init__(
        self, problem: Problem, seed: int, budget: int, start: Start, make: Make = make_optimizer, **options: Any
    ) -> None:
        del budget
        preset = options.pop("preset", "default")
        chosen = OptimizerOptions.of(preset, {**start.constants, **options})
        self._optimizer = make(problem.space, problem.shape, chosen, start)
        self._seed = seed
        self._evaluations: list[Evaluation] = []
        self._batches = 0
        self._state: Mapping[str, Any] = {}

    @property
    def _history(self) -> History:
        return History(METRICS["auc_roc"], tuple(self._evaluations))

    def ask(self, size: int) -> Sequence[Configuration]:
        rng = np.random.default_rng([self._seed, self._batches])
        proposal = self._optimizer.propose(self._history, self._batches, size, rng, self._state)
        self._state = proposal.state
        return proposal.configurations

    def tell(self, evaluations: Sequence[Evaluation]) -> None:
        self._evaluations += evaluations
        self._batches += 1

    def pick(self) -> int | None:
        if not self._history.succeeded:
            return None
        posterior = self._optimizer.posterior(self._history, np.random.default_rng([self._seed, 1 << 20]), self._state)
        return posterior.numbers[int(np.argmax(posterior.means.mean(axis=0)))]
