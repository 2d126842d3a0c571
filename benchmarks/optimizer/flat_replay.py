"""The flat process among the evaluations of a pool."""

from __future__ import annotations

from collections.abc import Sequence

from autoprog.space import Configuration
from benchmarks.optimizer.flat_process import FIRST, FlatProcess
from benchmarks.optimizer.problem import Problem
from benchmarks.optimizer.replay import Entries


class FlatAmong(FlatProcess):
    """A run of it; its first design is drawn from the entries, too.

    Parameters
    ----------
    entries : Entries
        What it may choose from.
    problem : Problem
        The space.
    seed : int
        Of the first design.
    """

    def __init__(self, entries: Entries, problem: Problem, seed: int) -> None:
        super().__init__(problem, seed, 0)
        self._entries = entries

    def ask(self, size: int) -> Sequence[Configuration]:
        missing = FIRST - len(self._evaluations)
        return self._entries.draw(min(size, missing), self._seen, self._rng) if missing > 0 else super().ask(size)

    @property
    def _seen(self) -> set[Configuration]:
        return {e.configuration for e in self._evaluations}

    def _candidates(self) -> list[Configuration]:
        seen = self._seen
        return [c for c in self._entries.configurations if c not in seen]
