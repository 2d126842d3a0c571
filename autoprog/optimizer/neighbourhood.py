"""Candidate pipelines: drawn over the space, or made from others by changing a step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autoprog.optimizer.encoding import Encoding
from autoprog.space import STAGES, Algorithm, Choice, Configuration, PipelineKind, Space, Step

_IMPUTATION, _PREDICTION = STAGES.index("imputation"), STAGES.index("prediction")

# Number of candidates over the whole space, of those made from the best pipelines, and of these pipelines.
_RANDOM, _CHANGED, _ANCHORS = 400, 400, 8
# Standard deviation of a hyperparameter's change, on an axis of length 1.
_CHANGE_SD = 0.15
# Probability that a change is to another algorithm, and that a new algorithm starts from its defaults.
_OTHER_ALGORITHM, _DEFAULTS = 0.5, 0.3


class Neighbourhood:
    """Source of candidates among the valid kinds of pipeline."""

    def __init__(self, space: Space, kinds: Sequence[PipelineKind]) -> None:
        self.kinds = kinds
        self._space = space
        self._by_predictor: dict[str, list[PipelineKind]] = {}
        # The kinds that agree in all but one stage and the imputation.
        self._filled: dict[tuple[int, tuple[str, ...]], list[PipelineKind]] = {}
        for kind in kinds:
            self._by_predictor.setdefault(kind[_PREDICTION].name, []).append(kind)
            for place in range(len(STAGES)):
                self._filled.setdefault((place, _without(kind, place)), []).append(kind)
        self._swaps_of: dict[tuple[str, ...], list[list[list[PipelineKind]]]] = {}
        self._defaults = {(a.stage, a.name): a.default_step() for a in space.algorithms}

    def candidates(
        self, best: Sequence[Configuration], rng: np.random.Generator, *, is_local: bool = False
    ) -> list[Configuration]:
        """Draw about 800 candidates, with repeats: half over the whole space, half (or all, if local) near the best."""
        anchors = best[:_ANCHORS]
        n_random, n_changed = (0, _RANDOM + _CHANGED) if is_local else (_RANDOM, _CHANGED)
        return self.draw(n_random, rng) + self.around(anchors, n_changed // len(anchors), rng)

    def draw(self, n: int, rng: np.random.Generator) -> list[Configuration]:
        """Draw n pipelines over the whole space: every prediction algorithm equally often, the rest uniformly."""
        predictors = list(self._by_predictor.values())
        drawn = []
        for i in rng.integers(len(predictors), size=n).tolist():
            kind = predictors[i][int(rng.integers(len(predictors[i])))]
            drawn.append(Configuration(*(self._new_step(algorithm, rng) for algorithm in kind)))
        return drawn

    def around(self, anchors: Sequence[Configuration], each: int, rng: np.random.Generator) -> list[Configuration]:
        """Change each anchor `each` times: one step, or with falling probability two or more."""
        changed = []
        for anchor in anchors:
            for _ in range(each):
                configuration = self._change(anchor, rng)
                while rng.random() < 0.3:
                    configuration = self._change(configuration, rng)
                changed.append(configuration)
        return changed

    def _change(self, configuration: Configuration, rng: np.random.Generator) -> Configuration:
        kind = self._space.find_kind(configuration)
        tunable = [place for place, algorithm in enumerate(kind) if algorithm.hyperparameters]
        swaps = self._swaps(kind)
        if swaps and (not tunable or rng.random() < _OTHER_ALGORITHM):
            options = swaps[int(rng.integers(len(swaps)))]
            kinds = options[int(rng.integers(len(options)))]
            other = kinds[int(rng.integers(len(kinds)))]
            # Unchanged steps stay equal to the last digit, so that what was fitted for them can be shared.
            places = zip(configuration.steps, kind, other, strict=True)
            return Configuration(*(step if a.name == b.name else self._new_step(b, rng) for step, a, b in places))
        if not tunable:
            return configuration
        place = tunable[int(rng.integers(len(tunable)))]
        steps = list(configuration.steps)
        steps[place] = _moved(kind[place], steps[place], rng)
        return Configuration(*steps)

    def _new_step(self, algorithm: Algorithm, rng: np.random.Generator) -> Step:
        if not algorithm.hyperparameters or rng.random() < _DEFAULTS:
            return self._defaults[algorithm.stage, algorithm.name]
        return _step_at(algorithm, rng.random(len(algorithm.hyperparameters)))

    def _swaps(self, kind: PipelineKind) -> list[list[list[PipelineKind]]]:
        """List, by stage and other algorithm, the kinds with it; those with the same imputation if there are any."""
        names = tuple([algorithm.name for algorithm in kind])
        if names not in self._swaps_of:
            swaps = []
            for place, algorithm in enumerate(kind):
                others: dict[str, list[PipelineKind]] = {}
                for other in self._filled.get((place, _without(kind, place)), ()):
                    if other[place].name != algorithm.name:
                        others.setdefault(other[place].name, []).append(other)
                if others:
                    imputation = kind[_IMPUTATION].name
                    swaps.append([[k for k in o if k[_IMPUTATION].name == imputation] or o for o in others.values()])
            self._swaps_of[names] = swaps
        return self._swaps_of[names]


def _moved(algorithm: Algorithm, step: Step, rng: np.random.Generator) -> Step:
    """Move one hyperparameter, or with falling probability more; a choice may take any value."""
    parameters = dict(step.parameters)
    units = np.array([h.to_unit(parameters[h.name]) for h in algorithm.hyperparameters])
    moved = rng.random(len(units)) < 1.0 / len(units)
    moved[int(rng.integers(len(units)))] = True
    for j in np.flatnonzero(moved).tolist():
        if isinstance(algorithm.hyperparameters[j], Choice):
            units[j] = rng.random()
        else:
            units[j] = np.clip(units[j] + rng.normal(0.0, _CHANGE_SD), 0.0, 1.0)
    return _step_at(algorithm, units)


def _without(kind: PipelineKind, place: int) -> tuple[str, ...]:
    return tuple([a.name for p, a in enumerate(kind) if p not in {place, _IMPUTATION}])


def _step_at(algorithm: Algorithm, units: NDArray[np.float64]) -> Step:
    return algorithm.step_from_unit(dict(zip((h.name for h in algorithm.hyperparameters), units.tolist(), strict=True)))


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
