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
        description="a row a patient, a column an arm; of patients that the classifiers were not fitted to. Left out: "
        "the out-of-sample predictions of the problem's own classifiers, and the truth of their cohort",
    )
    truth: Annotated[Any, WithJsonSchema(_BITS)] = Field(
        None, description="a value a patient; gives regret and weak dominance. The policy never sees it"
    )
    rounds: Annotated[Any, WithJsonSchema({"type": "integer", "minimum": 1, "maximum": MAX_ROUNDS})] = Field(
        None, description="by default one a row"
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
    optimal: str = Field(description="the best arm")


class ReplayResult(BaseModel):
    """What the policy did."""

    arms: list[str] | None = Field(description="the arm of every round, of a single repetition")
    shares: dict[str, float] = Field(description="arm id -> how often it was played")
    regret: RegretDocument | None = Field(description="where the truth is known")
    errors: dict[str, float] | None = Field(description="arm id -> share of rows in which it is wrong")
    disagreement: list[list[float]] = Field(description="of every two arms, over the table")
    weak_dominance: InstanceDocument | None


class ReplayDocument(BaseModel):
    """A replay that is run as a job."""

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
    result: ReplayResult | None = Field(description="null until it has succeeded, and in lists")
    created_at: datetime
