"""The pipeline space: which algorithms are in play and which combinations of them are valid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np

from autoprog.errors import Fault, InvalidInputError
from autoprog.space._base import Algorithm, TableShape
from autoprog.space.configuration import STAGES, Configuration, StageName
from autoprog.space.registry import algorithms_of

PipelineKind = tuple[Algorithm, Algorithm, Algorithm, Algorithm]


@dataclass(frozen=True)
class Space:
    """The algorithms in play, stage by stage.

    Attributes
    ----------
    stages : tuple of tuple of Algorithm
        One tuple a stage, in the order of `STAGES`.
    """

    stages: tuple[tuple[Algorithm, ...], ...]

    @classmethod
    def full(cls) -> Space:
        """Every registered algorithm."""
        return cls(tuple(algorithms_of(stage) for stage in STAGES))

    @classmethod
    def subset(cls, names: Mapping[StageName, Sequence[str] | None]) -> Space:
        """The space restricted by name.

        Parameters
        ----------
        names : mapping
            Stage -> names of the algorithms to keep; a stage that is absent or None keeps all.

        Returns
        -------
        Space
            In the registry's order, whatever the order of the names.

        Raises
        ------
        InvalidInputError
            Where a name is unknown or a stage is left empty; names the known ones.
        """
        faults: list[Fault] = []
        stages: list[tuple[Algorithm, ...]] = []
        for stage in STAGES:
            known = algorithms_of(stage)
            wanted = names.get(stage)
            if wanted is None:
                stages.append(known)
                continue
            unknown = [name for name in wanted if name not in {a.name for a in known}]
            choices = ", ".join(a.name for a in known)
            faults += [Fault(f"/space/{stage}", f"unknown algorithm {n!r}; known are {choices}") for n in unknown]
            if not wanted:
                faults.append(Fault(f"/space/{stage}", f"no algorithm is left in this stage; choose from {choices}"))
            stages.append(tuple(a for a in known if a.name in wanted))
        if faults:
            raise InvalidInputError(faults)
        return cls(tuple(stages))

    @property
    def algorithms(self) -> tuple[Algorithm, ...]:
        """All algorithms in play, imputation first."""
        return tuple(a for stage in self.stages for a in stage)

    @property
    def n_pipelines(self) -> int:
        """Number of combinations, valid or not."""
        return prod(len(stage) for stage in self.stages)

    @property
    def n_dimensions(self) -> int:
        """Hyperparameters of all algorithms plus one choice a stage."""
        return sum(len(a.hyperparameters) for a in self.algorithms) + len(self.stages)

    def algorithm(self, stage: StageName, name: str) -> Algorithm:
        """The algorithm of a stage by name.

        Parameters
        ----------
        stage : str
            The stage.
        name : str
            The algorithm's name in it.

        Returns
        -------
        Algorithm
            The entry.

        Raises
        ------
        KeyError
            If it is not in play.
        """
        for algorithm in self.stages[STAGES.index(stage)]:
            if algorithm.name == name:
                return algorithm
        raise KeyError(f"{stage}/{name}")

    def kind_of(self, configuration: Configuration) -> PipelineKind:
        """The four algorithms that a configuration uses."""
        imputation, features, prediction, calibration = (
            self.algorithm(stage, configuration.step(stage).algorithm) for stage in STAGES
        )
        return imputation, features, prediction, calibration

    def valid_kinds(self, shape: TableShape) -> tuple[PipelineKind, ...]:
        """Every combination that can be fitted to tables of this shape.

        Parameters
        ----------
        shape : TableShape
            The training folds.

        Returns
        -------
        tuple of (Algorithm, Algorithm, Algorithm, Algorithm)
            In lexicographic order of the stages.

        Raises
        ------
        InvalidInputError
            If no combination is valid.
        """
        kinds = tuple((i, f, p, c) for i, f, p, c in product(*self.stages) if _is_valid((i, f, p, c), shape))
        if not kinds:
            detail = "no combination of the chosen algorithms fits this cohort"
            if shape.has_missing:
                detail += ": it has missing cells, so add an imputation or a predictor that takes them"
            raise InvalidInputError([Fault("/space", detail)])
        return kinds

    def draw(self, kind: PipelineKind, rng: np.random.Generator) -> Configuration:
        """A configuration of this kind with hyperparameters uniform on their axes.

        Parameters
        ----------
        kind : PipelineKind
            The four algorithms.
        rng : numpy.random.Generator
            Source of randomness.

        Returns
        -------
        Configuration
            The draw.
        """
        return Configuration(
            *(a.step_from_unit({h.name: float(rng.random()) for h in a.hyperparameters}) for a in kind)
        )

    def default(self, kind: PipelineKind) -> Configuration:
        """The configuration of this kind with every hyperparameter at its default."""
        return Configuration(*(a.default_step() for a in kind))


def _is_valid(kind: PipelineKind, shape: TableShape) -> bool:
    imputation, features, prediction, _ = kind
    if any(shape.mode not in a.modes for a in kind):
        return False
    if any(a.max_columns is not None and shape.n_columns > a.max_columns for a in kind):
        return False
    if shape.has_missing and imputation.name == "none":
        return features.takes_missing and prediction.takes_missing
    return True
