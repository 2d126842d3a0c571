"""The pipeline space as the API shows it."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from autoprog.cohort import Mode
from autoprog.space import StageName


class HyperparameterDocument(BaseModel):
    """One axis of an algorithm."""

    name: str
    kind: Literal["float", "integer", "choice"]
    range: tuple[float, float] | None = Field(None, description="of a number, both ends included")
    choices: list[str | bool] | None = Field(None, description="of a choice")
    scale: Literal["linear", "log"] | None = Field(None, description="of a number")
    default: float | int | str | bool


class AlgorithmDocument(BaseModel):
    """One entry of a stage."""

    name: str
    modes: list[Mode]
    hyperparameters: list[HyperparameterDocument]


class StageDocument(BaseModel):
    """One stage of the pipeline."""

    name: StageName
    algorithms: list[AlgorithmDocument]


class SpaceDocument(BaseModel):
    """Everything that a search can choose from."""

    stages: list[StageDocument]
    pipelines: int = Field(description="combinations of algorithms")
    dimensions: int = Field(description="hyperparameters of all algorithms, and a choice for each stage")
