"""Documents of replays."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from api.collecting import FaultCollector
from api.problems import Problem
from autoprog.storage.tables import JobStatus

MAX_ROUNDS = 1_000_000
"""Largest number of rounds in one repetition."""

MAX_STEPS = 1_000_000_000
"""Largest number of rounds in all repetitions together."""

_BITS = {"type": "array", "items": {"enum": [0, 1]}}


class ReplayRequest(FaultCollector):
    """A table of predictions over which the problem's policy is run from the start."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"predictions": [[0, 1], [1, 1], [0, 0]], "truth": [1, 1, 0], "rounds": 10000, "repetitions": 100,
                 "order": "resampled"},
                {"rounds": 10000, "repetitions": 20, "order": "resampled"},
            ]
        },
    )  # fmt: skip

    predictions: Annotated[Any, WithJsonSchema({"type": "array", "items": _BITS})] = Field(
        None,
        description="One row per patient and one column per arm, for patients on whom the classifiers were not "
        "fitted. The default is the out-of-sample predictions of the problem's own classifiers, with the truth of "
        "their cohort.",
    )
    truth: Annotated[Any, WithJsonSchema(_BITS)] = Field(
        None,
        description="One value per patient, from which regret and weak dominance are computed. The policy never sees "
        "it.",
    )
    rounds: Annotated[Any, WithJsonSchema({"type": "integer", "minimum": 1, "maximum": MAX_ROUNDS})] = Field(
        None, description="Number of rounds. The default is one per row."
    )
    repetitions: Annotated[Any, WithJsonSchema({"type": "integer", "minimum": 1, "default": 1})] = 1
    order: Annotated[Any, WithJsonSchema({"enum": ["as_given", "resampled"], "default": "as_given"})] = "as_given"
    seed: Annotated[Any, WithJsonSchema({"type": "integer", "minimum": 0, "default": 0})] = 0


class RegretDocument(BaseModel):
    """Cumulative pseudo-regret, with a 95 % interval of the mean if there is more than one repetition."""

    round: list[int]
    mean: list[float]
    lower: list[float] | None
    upper: list[float] | None


class InstanceDocument(BaseModel):
    """Whether disagreements alone can identify the table's best arm."""

    holds: bool
    xi: float | Literal["inf"]
    optimal: str = Field(description="Id of the best arm.")


class ReplayResult(BaseModel):
    """The result of a replay."""

    arms: list[str] | None = Field(description="Arm of every round. Null with more than one repetition.")
    shares: dict[str, float] = Field(description="Share of the rounds in which an arm was played, by arm id.")
    regret: RegretDocument | None = Field(description="Null if the truth is unknown.")
    errors: dict[str, float] | None = Field(
        description="Share of rows in which an arm is wrong, by arm id. Null if the truth is unknown."
    )
    disagreement: list[list[float]] = Field(description="Share of rows in which two arms disagree, as a square matrix.")
    weak_dominance: InstanceDocument | None


class ReplayDocument(BaseModel):
    """A replay that was queued as a job."""

    id: str
    problem_id: str
    status: JobStatus
    job_id: str
    error: Problem | None
    rounds: int
    repetitions: int
    order: Literal["as_given", "resampled"]
    seed: int
    n_rows: int
    result: ReplayResult | None = Field(description="Null until the job has succeeded, and in lists.")
    created_at: datetime
