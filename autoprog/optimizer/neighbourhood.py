"""Whole pipelines to try: drawn over the space, or made from others by changing a step."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from autoprog.space import STAGES, Algorithm, Configuration, PipelineKind, Space, StageName, Step

# Standard deviation, on an axis of length 1, of a change of hyperparameters.
_CHANGE_SD = 0.15
# How often a change is to another algorithm, and how often a new algorithm starts from its defaults.
_OTHER_ALGORITHM, _DEFAULTS = 0.5, 0.3


class Neighbourhood:
    """Draws candidates among the valid kinds of pipeline.

    Steps that a change does not concern stay the same to the last digit, so that what was fitted for them can be
    shared.

    Parameters
    ----------
    space : Space
        The algorithms in play.
    kinds : sequence of PipelineKind, at least 1
        The valid kinds.
    rng : numpy.random.Generator
        Source of randomness.
    """

    def __init__(self, space: Space, kinds: Sequence[PipelineKind], rng: np.random.Generator) -> None:
        self._space = space
        self._rng = rng
        self._by_predictor: dict[str, list[PipelineKind]] = {}
        # For a kind with one stage left open, the algorithms that may fill it.
        self._fillers: dict[tuple[int, tuple[str, ...]], list[Algorithm]] = {}
        for kind in kinds:
            self._by_predictor.setdefault(kind[STAGES.index("prediction")].name, []).append(kind)
            for place, algorithm in enumerate(kind):
                self._fillers.setdefault((place, _without(kind, place)), []).append(algorithm)

    def draw(self, n: int) -> list[Configuration]:
        """Pipelines over the whole space: every prediction algorithm equally often, the rest uniform.

        Parameters
        ----------
        n : int
            How many.

        Returns
        -------
        list of Configuration, length n
            Perhaps with repetitions.
        """
        predictors = list(self._by_predictor.values())
        drawn = []
        for i in self._rng.integers(len(predictors), size=n).tolist():
            kind = predictors[i][int(self._rng.integers(len(predictors[i])))]
            drawn.append(Configuration(*(self._new_step(algorithm) for algorithm in kind)))
        return drawn

    def around(self, anchors: Sequence[Configuration], each: int) -> list[Configuration]:
        """Changes of some pipelines: one step, or with falling probability two and more.

        Parameters
        ----------
        anchors : sequence of Configuration
            Of valid kinds.
        each : int
            Changes of each.

        Returns
        -------
        list of Configuration
            Of valid kinds; perhaps with repetitions.
        """
        changed = []
        for anchor in anchors:
            for _ in range(each):
                configuration = self._change(anchor)
                while self._rng.random() < 0.3:
                    configuration = self._change(configuration)
                changed.append(configuration)
        return changed

    def _change(self, configuration: Configuration) -> Configuration:
        kind = self._space.kind_of(configuration)
        tunable = [place for place, algorithm in enumerate(kind) if algorithm.hyperparameters]
        open_ = [p for p in range(len(kind)) if len(self._fillers.get((p, _without(kind, p)), ())) > 1]
        if open_ and (not tunable or self._rng.random() < _OTHER_ALGORITHM):
            place = open_[int(self._rng.integers(len(open_)))]
            others = [a for a in self._fillers[place, _without(kind, place)] if a.key != kind[place].key]
            step = self._new_step(others[int(self._rng.integers(len(others)))])
        elif tunable:
            place = tunable[int(self._rng.integers(len(tunable)))]
            step = self._moved(kind[place], configuration.step(STAGES[place]))
        else:
            return configuration
        steps: dict[StageName, Step] = {stage: configuration.step(stage) for stage in STAGES}
        return Configuration(**{**steps, STAGES[place]: step})

    def _new_step(self, algorithm: Algorithm) -> Step:
        if not algorithm.hyperparameters or self._rng.random() < _DEFAULTS:
            return algorithm.default_step()
        return _step_at(algorithm, self._rng.random(len(algorithm.hyperparameters)))

    def _moved(self, algorithm: Algorithm, step: Step) -> Step:
        """One hyperparameter moved, or with falling probability more; a choice may become any other."""
        parameters = dict(step.parameters)
        units = np.array([h.to_unit(parameters[h.name]) for h in algorithm.hyperparameters])
        moved = self._rng.random(len(units)) < 1.0 / len(units)
        moved[int(self._rng.integers(len(units)))] = True
        for j in np.flatnonzero(moved).tolist():
            if hasattr(algorithm.hyperparameters[j], "choices"):
                units[j] = self._rng.random()
            else:
                units[j] = np.clip(units[j] + self._rng.normal(0.0, _CHANGE_SD), 0.0, 1.0)
        return _step_at(algorithm, units)


def _without(kind: PipelineKind, place: int) -> tuple[str, ...]:
    return tuple(a.key for p, a in enumerate(kind) if p != place)


def _step_at(algorithm: Algorithm, units: NDArray[np.float64]) -> Step:
    return algorithm.step_from_unit({h.name: float(u) for h, u in zip(algorithm.hyperparameters, units, strict=True)})
