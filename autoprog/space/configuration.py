"""A configuration: one algorithm and its parameters for each stage of the pipeline."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from autoprog.space.hyperparameters import Parameter

StageName = Literal["imputation", "features", "prediction", "calibration"]
STAGES: tuple[StageName, ...] = get_args(StageName)

WINDOW = "window"
"""Name of the hyperparameter that says how many visits are looked back on; it stands with the imputation, the first
stage."""


@dataclass(frozen=True, slots=True)
class Step:
    """An algorithm with all its parameters, sorted by name so that equal steps are equal objects."""

    algorithm: str
    parameters: tuple[tuple[str, Parameter], ...] = ()

    @classmethod
    def of(cls, algorithm: str, parameters: Mapping[str, Parameter] | None = None) -> Step:
        """Make a step from a mapping of parameters.

        Parameters
        ----------
        algorithm : str
            Name within its stage.
        parameters : mapping or None
            Value by hyperparameter name.

        Returns
        -------
        Step
            With the parameters in canonical order.
        """
        return cls(algorithm, tuple(sorted((parameters or {}).items())))


@dataclass(frozen=True, slots=True)
class Configuration:
    """One pipeline, completely specified; hashable, and the same text in JSON every time."""

    imputation: Step
    features: Step
    prediction: Step
    calibration: Step

    @property
    def steps(self) -> tuple[Step, Step, Step, Step]:
        """In the order of `STAGES`."""
        return self.imputation, self.features, self.prediction, self.calibration

    def step(self, stage: StageName) -> Step:
        """The step of a stage."""
        step: Step = getattr(self, stage)
        return step

    def to_json(self) -> dict[str, dict[str, Any]]:
        """As the API shows it: stage -> {"algorithm", "parameters"}."""
        return {
            stage: {"algorithm": self.step(stage).algorithm, "parameters": dict(self.step(stage).parameters)}
            for stage in STAGES
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Mapping[str, Any]]) -> Configuration:
        """The inverse of `to_json`."""
        return cls(**{stage: Step.of(document[stage]["algorithm"], document[stage]["parameters"]) for stage in STAGES})

    @property
    def window(self) -> int | None:
        """Visits that are looked back on, where that is searched; see `Space.with_windows`."""
        window = dict(self.imputation.parameters).get(WINDOW)
        return None if window is None else int(window)

    def at(self, stage: StageName, name: str, value: Parameter) -> Configuration:
        """The same pipeline with another value of one hyperparameter."""
        step = self.step(stage)
        return replace(self, **{stage: Step.of(step.algorithm, {**dict(step.parameters), name: value})})

    @property
    def key(self) -> str:
        """Short digest of the canonical JSON text: equal for equal configurations, in every process."""
        text = json.dumps(self.to_json(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def __str__(self) -> str:
        return " > ".join(self.step(stage).algorithm for stage in STAGES)
