"""What the benchmark asks of a method: a batch, and to be told what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from autoprog.evaluation import Evaluation, Status
from autoprog.space import Configuration
from benchmarks.optimizer.problem import Problem

_CLIP = 1.5


class Method(Protocol):
    """One run of a method; its class is called with (problem, seed, budget, **options)."""

    def ask(self, size: int) -> Sequence[Configuration]:
        """The next batch, of at most `size`; empty where the method wants to end."""

    def tell(self, evaluations: Sequence[Evaluation]) -> None:
        """The batch evaluated, in its order; or, before the first `ask`, a first design that was given."""

    def pick(self) -> int | None:
        """Number of the evaluation with the best posterior mean; None for a method without a posterior."""


class RandomSearch:
    """Uniform draws.

    Parameters
    ----------
    problem : Problem
        The space.
    seed : int
        Of the draws.
    budget : int
        Evaluations to come.
    """

    def __init__(self, problem: Problem, seed: int, budget: int) -> None:
        self._problem = problem
        self._rng = np.random.default_rng([seed, budget])

    def ask(self, size: int) -> Sequence[Configuration]:
        return [self._problem.draw(self._rng) for _ in range(size)]

    def tell(self, evaluations: Sequence[Evaluation]) -> None:
        pass

    def pick(self) -> int | None:
        return None


def bad_score(scores: Sequence[float]) -> float:
    """What a failure is worth to a method that must be given a number: the worst score so far, 0 before any."""
    return min(scores, default=0.0)


def scores_with_failures(evaluations: Sequence[Evaluation]) -> NDArray[np.float64]:
    """Scores cut below at median - 1.5 (max - median); a failure has the cut. All zero where nothing succeeded."""
    scores = np.array([e.score for e in evaluations if e.status is Status.SUCCEEDED], dtype=float)
    if not len(scores):
        return np.zeros(len(evaluations))
    floor = np.median(scores) - _CLIP * (scores.max() - np.median(scores))
    return np.array([floor if e.score is None else max(e.score, floor) for e in evaluations])
