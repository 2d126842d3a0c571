"""What every method is told of the search that it has to make: the space, and nothing of the scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from autoprog.space import STAGES, Algorithm, Configuration, PipelineKind, Space, Step, TableShape
from training.prior.space import pooled_space

_IMPUTATION = STAGES.index("imputation")
# Of the units of a mutated hyperparameter, and how likely each one is to be mutated.
_MUTATION_SD, _MUTATION_SHARE = 0.15, 0.3


@dataclass(frozen=True, eq=False)
class Problem:
    """The space of one cohort's search, and draws from it.

    Attributes
    ----------
    shape : TableShape
        Of the training folds.
    """

    shape: TableShape

    def __reduce__(self) -> tuple[type[Problem], tuple[TableShape]]:
        # Algorithms hold functions, which do not travel between processes: the space is made anew from the shape.
        return Problem, (self.shape,)

    @cached_property
    def kinds(self) -> tuple[PipelineKind, ...]:
        """The valid kinds of pipeline."""
        return pooled_space().valid_kinds(self.shape)

    @cached_property
    def space(self) -> Space:
        """The algorithms that some valid kind uses."""
        return pooled_space().restricted_to(self.kinds)

    @cached_property
    def _by_names(self) -> Mapping[tuple[str, ...], PipelineKind]:
        return {names_of(kind): kind for kind in self.kinds}

    @cached_property
    def _by_rest(self) -> Mapping[tuple[str, ...], list[PipelineKind]]:
        """Kinds by the names of all stages after the imputation."""
        table: dict[tuple[str, ...], list[PipelineKind]] = {}
        for kind in self.kinds:
            table.setdefault(names_of(kind)[1:], []).append(kind)
        return table

    def draw(self, rng: np.random.Generator) -> Configuration:
        """A kind and its hyperparameters, uniformly."""
        return self.space.draw(self.kinds[int(rng.integers(len(self.kinds)))], rng)

    def first_design(self, size: int, rng: np.random.Generator) -> tuple[Configuration, ...]:
        """Draws with distinct prediction algorithms, as far as there are so many."""
        by_predictor: dict[str, list[PipelineKind]] = {}
        for kind in self.kinds:
            by_predictor.setdefault(kind[2].name, []).append(kind)
        predictors = sorted(by_predictor)
        order = [predictors[i] for _ in range(-(-size // len(predictors))) for i in rng.permutation(len(predictors))]
        drawn = []
        for predictor in order[:size]:
            kinds = by_predictor[predictor]
            drawn.append(self.space.draw(kinds[int(rng.integers(len(kinds)))], rng))
        return tuple(drawn)

    def mutate(self, configuration: Configuration, rng: np.random.Generator) -> Configuration:
        """A neighbour: another algorithm in one stage, or other values of some hyperparameters."""
        if rng.random() < 0.5 and (kind := self._swapped(configuration, rng)) is not None:
            steps = [configuration.step(stage) for stage in STAGES]
            return Configuration(
                *(s if s.algorithm == a.name else _start(a, rng) for s, a in zip(steps, kind, strict=True))
            )
        kind = self.space.find_kind(configuration)
        return Configuration(*(_moved(a, configuration.step(s), rng) for a, s in zip(kind, STAGES, strict=True)))

    def _swapped(self, configuration: Configuration, rng: np.random.Generator) -> PipelineKind | None:
        """A valid kind with another algorithm in a stage; its imputation follows where it has to."""
        names = [configuration.step(stage).algorithm for stage in STAGES]
        stage = int(rng.integers(len(STAGES)))
        others = [a.name for a in self.space.stages[stage] if a.name != names[stage]]
        for i in rng.permutation(len(others)):
            swapped = tuple(others[i] if s == stage else name for s, name in enumerate(names))
            if swapped in self._by_names:
                return self._by_names[swapped]
            fallback = self._by_rest.get(swapped[1:], [])
            if stage != _IMPUTATION and fallback:
                return fallback[int(rng.integers(len(fallback)))]
        return None


def names_of(kind: PipelineKind) -> tuple[str, ...]:
    """The names of a kind's algorithms, stage by stage."""
    return tuple(algorithm.name for algorithm in kind)


def units_of(algorithm: Algorithm, step: Step) -> list[float]:
    """Where a step lies on the axes of its algorithm."""
    parameters = dict(step.parameters)
    return [h.to_unit(parameters[h.name]) for h in algorithm.hyperparameters]


def _start(algorithm: Algorithm, rng: np.random.Generator) -> Step:
    """An algorithm that takes another's place: at its defaults, or anywhere."""
    if rng.random() < 0.5:
        return algorithm.default_step()
    return _step(algorithm, rng.random(len(algorithm.hyperparameters)))


def _moved(algorithm: Algorithm, step: Step, rng: np.random.Generator) -> Step:
    d = len(algorithm.hyperparameters)
    if not d:
        return step
    moves = (rng.random(d) < _MUTATION_SHARE) * rng.normal(0.0, _MUTATION_SD, d)
    return _step(algorithm, np.clip(np.array(units_of(algorithm, step)) + moves, 0.0, 1.0))


def _step(algorithm: Algorithm, units: Sequence[float] | np.ndarray) -> Step:
    return algorithm.step_from_unit({h.name: float(u) for h, u in zip(algorithm.hyperparameters, units, strict=True)})
