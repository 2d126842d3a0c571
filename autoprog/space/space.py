"""The pipeline space: the algorithms in play and their valid combinations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from math import prod

import numpy as np

from autoprog.errors import Fault, InvalidInputError
from autoprog.space._base import Algorithm, TableShape
from autoprog.space.configuration import STAGES, WINDOW, Configuration, StageName
from autoprog.space.hyperparameters import Choice, Hyperparameter
from autoprog.space.registry import list_algorithms

PipelineKind = tuple[Algorithm, Algorithm, Algorithm, Algorithm]


@dataclass(frozen=True)
class Space:
    """The algorithms in play, by stage.

    Attributes
    ----------
    stages : tuple of tuple of Algorithm
        One tuple per stage, in the order of `STAGES`.
    """

    stages: tuple[tuple[Algorithm, ...], ...]

    @classmethod
    def full(cls, n_causes: int = 1) -> Space:
        """Every registered algorithm that serves this number of causes."""
        return cls(tuple(list_algorithms(stage, n_causes) for stage in STAGES))

    @classmethod
    def table_1(cls) -> Space:
        """The source's space: 41 algorithms, 4,800 pipelines, 106 dimensions."""
        return cls(tuple(tuple(a for a in list_algorithms(stage) if a.table_1) for stage in STAGES))

    @classmethod
    def subset(cls, names: Mapping[StageName, Sequence[str] | None], n_causes: int = 1) -> Space:
        """The space restricted by name.

        Parameters
        ----------
        names : mapping
            Stage -> names of the algorithms to keep; a stage that is absent or None keeps all.
        n_causes : int
            Number of causes: the event of interest and its competing causes.

        Returns
        -------
        Space
            In the registry's order.

        Raises
        ------
        InvalidInputError
            If a name is unknown or a stage is empty; the error lists the known names.
        """
        faults: list[Fault] = []
        stages: list[tuple[Algorithm, ...]] = []
        for stage in STAGES:
            known = list_algorithms(stage, n_causes)
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

    def with_windows(self, windows: Sequence[int]) -> Space:
        """Add the number of visits in the look-back window to the search.

        Parameters
        ----------
        windows : sequence of int
            Numbers of visits to choose from, ascending.

        Returns
        -------
        Space
            One more hyperparameter in every imputation; the same space if there are fewer than two windows.
        """
        if len(windows) < 2:
            return self
        axis = Choice(WINDOW, tuple(windows), default=windows[-1])
        first = tuple(replace(a, hyperparameters=(*a.hyperparameters, axis)) for a in self.stages[0])
        return Space((first, *self.stages[1:]))

    def without(self, stage: StageName, name: str) -> Space:
        """The space without one algorithm; the same space if the algorithm is not in it."""
        kept = (tuple(a for a in algorithms if (a.stage, a.name) != (stage, name)) for algorithms in self.stages)
        return Space(tuple(kept))

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
        """Hyperparameters of all algorithms plus one choice per stage."""
        return sum(len(a.hyperparameters) for a in self.algorithms) + len(self.stages)

    def algorithm(self, stage: StageName, name: str) -> Algorithm:
        """The algorithm of a stage by name; raises KeyError if it is not in play."""
        try:
            return self._by_name[stage][name]
        except KeyError:
            raise KeyError(f"{stage}/{name}") from None

    def find_kind(self, configuration: Configuration) -> PipelineKind:
        """The four algorithms of a configuration."""
        named = zip(STAGES, configuration.steps, strict=True)
        imputation, features, prediction, calibration = [self.algorithm(stage, step.algorithm) for stage, step in named]
        return imputation, features, prediction, calibration

    def find_path(self, configuration: Configuration) -> Hyperparameter | None:
        """The hyperparameter whose smaller values come with one fit; None if there is none, or a calibration."""
        predictor = self.algorithm("prediction", configuration.prediction.algorithm)
        # A calibration is fitted to the risks of one value.
        if predictor.path is None or configuration.calibration.algorithm != "none":
            return None
        return next(h for h in predictor.hyperparameters if h.name == predictor.path)

    def whole_path(self, configuration: Configuration) -> Configuration:
        """The configuration with its path hyperparameter at the upper end, so that one fit covers all values."""
        axis = self.find_path(configuration)
        if axis is None or isinstance(axis, Choice):
            return configuration
        return configuration.at("prediction", axis.name, axis.high)

    @cached_property
    def _by_name(self) -> dict[StageName, dict[str, Algorithm]]:
        return {
            stage: {algorithm.name: algorithm for algorithm in algorithms}
            for stage, algorithms in zip(STAGES, self.stages, strict=True)
        }

    def valid_kinds(self, shape: TableShape) -> tuple[PipelineKind, ...]:
        """Every combination that can be fitted to tables of this shape.

        Without missing cells, all imputations give the same pipeline: one is kept for each combination of the other
        stages, "none" if these take missing cells.

        Parameters
        ----------
        shape : TableShape
            Shape of the training folds.

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
        if not shape.has_missing:
            kinds = _one_imputation_each(kinds)
        if not kinds:
            raise InvalidInputError(self._why_none(shape))
        return kinds

    def unfit(self, shape: TableShape) -> dict[Algorithm, str]:
        """The algorithms that cannot serve tables of this shape in any combination, each with its reason."""
        reasons = {algorithm: _why_unfit(algorithm, shape) for algorithm in self.algorithms}
        return {algorithm: reason for algorithm, reason in reasons.items() if reason}

    def _why_none(self, shape: TableShape) -> list[Fault]:
        unfit = self.unfit(shape)
        faults = []
        for name, stage in zip(STAGES, self.stages, strict=True):
            if all(algorithm in unfit for algorithm in stage):
                others = [a.name for a in list_algorithms(name, shape.n_causes) if not _why_unfit(a, shape)]
                reasons = "; ".join(f"{a.name} {unfit[a]}" for a in stage)
                advice = f"; add one of {', '.join(others)}" if others else ""
                faults.append(Fault(f"/space/{name}", reasons + advice))
        if faults:
            return faults
        predictors = list_algorithms("prediction", shape.n_causes)
        takers = [a.name for a in predictors if "missing" in a.takes and not _why_unfit(a, shape)]
        detail = (
            "no combination of the chosen algorithms fits this cohort: it has missing cells, so add an imputation, or "
            f"to 'none' in imputation and features one of the predictors that take them, {', '.join(takers)}"
        )
        return [Fault("/space", detail)]

    def restricted_to(self, kinds: Sequence[PipelineKind]) -> Space:
        """The space of the algorithms that occur in these kinds."""
        used = {algorithm.key for kind in kinds for algorithm in kind}
        return Space(tuple(tuple(a for a in stage if a.key in used) for stage in self.stages))

    def draw(self, kind: PipelineKind, rng: np.random.Generator) -> Configuration:
        """Draw a configuration of this kind, its hyperparameters uniform on their axes."""
        return Configuration(
            *(a.step_from_unit({h.name: float(rng.random()) for h in a.hyperparameters}) for a in kind)
        )

    def default(self, kind: PipelineKind) -> Configuration:
        """The configuration of this kind at its defaults."""
        return Configuration(*(a.default_step() for a in kind))


# Every inner fold must contain both outcomes.
_MIN_MINORITY = 2
# Without missing training cells, the imputation only serves new patients.
_PREFERRED = ("median", "most_frequent", "mean")


def _one_imputation_each(kinds: Sequence[PipelineKind]) -> tuple[PipelineKind, ...]:
    chosen: dict[tuple[str, ...], PipelineKind] = {}
    for kind in sorted(kinds, key=_rank):
        chosen.setdefault(tuple(a.key for a in kind[1:]), kind)
    return tuple(kind for kind in kinds if chosen[tuple(a.key for a in kind[1:])] is kind)


def _rank(kind: PipelineKind) -> int:
    imputation, features, prediction, _ = kind
    if imputation.name == "none":
        return 0 if "missing" in features.takes and "missing" in prediction.takes else len(_PREFERRED)
    return 1 + _PREFERRED.index(imputation.name) if imputation.name in _PREFERRED else len(_PREFERRED) + 1


def predicted_seconds(kind: PipelineKind, shape: TableShape) -> float:
    """Predicted seconds of one fit of a kind of pipeline at its defaults.

    The prediction depends only on the algorithms and the table; it is no promise for any machine.

    Parameters
    ----------
    kind : PipelineKind
        The four algorithms.
    shape : TableShape
        Shape of the training folds.

    Returns
    -------
    float
        Seconds on one core.
    """
    *stages, calibration = kind
    return calibration.refits * sum(algorithm.seconds(shape) for algorithm in stages)


def _is_valid(kind: PipelineKind, shape: TableShape) -> bool:
    imputation, features, prediction, _ = kind
    if any(_why_unfit(algorithm, shape) for algorithm in kind):
        return False
    if shape.has_missing and imputation.name == "none":
        return "missing" in features.takes and "missing" in prediction.takes
    return True


def _why_unfit(algorithm: Algorithm, shape: TableShape) -> str | None:
    if shape.mode not in algorithm.modes:
        return f"serves {' and '.join(algorithm.modes)} cohorts only"
    if algorithm.stage == "prediction" and (reason := _why_not_these_times(algorithm, shape)):
        return reason
    if algorithm.max_columns is not None and shape.n_columns > algorithm.max_columns:
        return f"takes at most {algorithm.max_columns} columns, and there are {shape.n_columns}"
    if algorithm.refits > 1 and shape.n_minority < _MIN_MINORITY:
        return "takes two patients, or groups, of each outcome in every training fold"
    table = shape if algorithm.takes_times or algorithm.stage != "prediction" else shape.of_classifier()
    n_cells = table.n_patients * table.n_columns
    if algorithm.max_cells is not None and n_cells > algorithm.max_cells:
        return f"takes at most {algorithm.max_cells:,} cells, and the patients to learn from have {n_cells:,}"
    return None


def _why_not_these_times(predictor: Algorithm, shape: TableShape) -> str | None:
    reason = shape.learning.why_unfit(predictor)
    if reason is None and predictor.least_causes > shape.n_causes:
        return f"is for {predictor.least_causes} or more competing causes"
    return reason
