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
"""Name of the hyperparameter for the number of visits in the look-back window; it belongs to the imputation."""


@dataclass(frozen=True, slots=True)
class Step:
    """An algorithm and its parameters, sorted by name so that equal steps compare equal."""

    algorithm: str
    parameters: tuple[tuple[str, Parameter], ...] = ()

    @classmethod
    def of(cls, algorithm: str, parameters: Mapping[str, Parameter] | None = None) -> Step:
        """Make a step from parameters by name."""
        return cls(algorithm, tuple(sorted((parameters or {}).items())))


@dataclass(frozen=True, slots=True)
class Configuration:
    """One fully specified pipeline; hashable."""

    imputation: Step
    features: Step
    prediction: Step
    calibration: Step

    @property
    def steps(self) -> tuple[Step, Step, Step, Step]:
        """The steps in the order of `STAGES`."""
        return self.imputation, self.features, self.prediction, self.calibration

    def step(self, stage: StageName) -> Step:
        """The step of a stage."""
        step: Step = getattr(self, stage)
        return step

    def to_json(self) -> dict[str, dict[str, Any]]:
        """The form in the API: stage -> {"algorithm", "parameters"}."""
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
        """Visits in the look-back window, None if not searched; see `Space.with_windows`."""
        window = dict(self.imputation.parameters).get(WINDOW)
        return None if window is None else int(window)

    def at(self, stage: StageName, name: str, value: Parameter) -> Configuration:
        """The same pipeline with another value of one hyperparameter."""
        step = self.step(stage)
        return replace(self, **{stage: Step.of(step.algorithm, {**dict(step.parameters), name: value})})

    @property
    def key(self) -> str:
        """Short digest of the canonical JSON text, equal for equal configurations in every process."""
        text = json.dumps(self.to_json(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def __str__(self) -> str:
        return " > ".join(self.step(stage).algorithm for stage in STAGES)
