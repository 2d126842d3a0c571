"""The rival of the package botorch: one flat Gaussian process with the dimension-scaled prior, and log EI.

Failures have the cut of poor scores. The incumbent of the improvement is the best posterior mean among what was
visited. A batch is made by believing: each choice is added at its posterior mean before the next is made.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
import torch
from botorch.acquisition import LogExpectedImprovement
from botorch.exceptions import BotorchWarning
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from gpytorch.mlls import ExactMarginalLogLikelihood

from autoprog.evaluation import Evaluation
from autoprog.space import Configuration
from benchmarks.optimizer.method import scores_with_failures
from benchmarks.optimizer.problem import Problem
from benchmarks.optimizer.rows import Encoder

FIRST, _RANDOM, _MUTATED, _ANCHORS = 10, 300, 300, 5
_YOUNG = 30


class FlatProcess:
    """A run of the flat process.

    Parameters
    ----------
    problem : Problem
        The space.
    seed : int
        Of draws and candidates.
    budget : int
        Evaluations to come.
    """

    def __init__(self, problem: Problem, seed: int, budget: int) -> None:
        self._problem, self._encoder = problem, Encoder(problem)
        self._rng = np.random.default_rng([seed, budget])
        self._evaluations: list[Evaluation] = []
        self._fitted_at = 0
        self._numbers: dict[str, torch.Tensor] = {}

    def ask(self, size: int) -> Sequence[Configuration]:
        if len(self._evaluations) < FIRST:
            return [self._problem.draw(self._rng) for _ in range(min(size, FIRST - len(self._evaluations)))]
        X, y = self._data()
        model = self._fitted(X, y)
        candidates = self._candidates()
        choices = torch.from_numpy(self._encoder(candidates).for_processes)
        batch: list[Configuration] = []
        while candidates and len(batch) < size:
            with torch.no_grad():
                best = model.posterior(X).mean.max()
                i = int(LogExpectedImprovement(model, best)(choices[:, None, :]).argmax())
                chosen = choices[i : i + 1]
                believed = model.posterior(chosen).mean
                batch.append(candidates.pop(i))
                choices = torch.cat([choices[:i], choices[i + 1 :]])
                X, y = torch.cat([X, chosen]), torch.cat([y, believed])
                if len(batch) < size:
                    model = model.condition_on_observations(chosen, believed)
        return batch

    def tell(self, evaluations: Sequence[Evaluation]) -> None:
        self._evaluations += evaluations

    def pick(self) -> int | None:
        succeeded = [e for e in self._evaluations if e.score is not None]
        if not succeeded:
            return None
        model = self._fitted(*self._data())
        visited = torch.from_numpy(self._encoder([e.configuration for e in succeeded]).for_processes)
        with torch.no_grad():
            return succeeded[int(model.posterior(visited).mean.argmax())].number

    def _data(self) -> tuple[torch.Tensor, torch.Tensor]:
        y = scores_with_failures(self._evaluations)
        y = (y - y.mean()) / (y.std(ddof=1) or 1.0)
        X = self._encoder([e.configuration for e in self._evaluations]).for_processes
        return torch.from_numpy(X), torch.from_numpy(y)[:, None]

    def _fitted(self, X: torch.Tensor, y: torch.Tensor) -> SingleTaskGP:
        """Its numbers are fitted anew after every evaluation of a young run, and after every fourth of an older one."""
        n = len(self._evaluations)
        if n - self._fitted_at < (1 if n < _YOUNG else 4):
            model = SingleTaskGP(X, y, outcome_transform=None)
            model.load_state_dict(self._numbers)
            return model.eval()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", BotorchWarning)
            warnings.simplefilter("ignore", RuntimeWarning)
            model = SingleTaskGP(X, y, outcome_transform=None)
            fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        self._fitted_at, self._numbers = n, model.state_dict()
        return model

    def _candidates(self) -> list[Configuration]:
        seen = {e.configuration for e in self._evaluations}
        ordered = sorted((e for e in self._evaluations if e.score is not None), key=lambda e: -(e.score or 0.0))
        anchors = [e.configuration for e in ordered[:_ANCHORS]]
        drawn = [self._problem.draw(self._rng) for _ in range(_RANDOM)]
        if anchors:
            drawn += [self._problem.mutate(anchors[i % len(anchors)], self._rng) for i in range(_MUTATED)]
        return [c for c in dict.fromkeys(drawn) if c not in seen]
