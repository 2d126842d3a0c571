"""Documents of frontiers of performance against cost."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, WithJsonSchema

from api.problems import Problem
from api.test_selection.problems.schemas import DiagnosticTestDocument, DiagnosticTestRequest, Number
from autoprog.storage.tables import JobStatus

_TESTS: list[JsonValue] = [
    {"name": "history", "cost": 1, "features": ["age", "sex", "cp"]},
    {"name": "exercise ECG", "cost": 87.3, "features": ["thalach", "exang"]},
]


class FrontierRequest(BaseModel):
    """Groups of features of the search's cohort, each with a price."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"tests": _TESTS}]})

    tests: list[DiagnosticTestRequest]


class FrontierPointDocument(BaseModel):
    """A group of tests, with its cost and performance."""

    tests: list[str]
    cost: float
    score: float | None = Field(
        description="mean over the folds of the search; null where the pipeline could not be fitted"
    )
    fold_scores: list[float | None]
    difference: float | None = Field(description="mean gain over all tests together, fold by fold")
    standard_error: float | None
    on_frontier: bool = Field(description="no cheaper group scores as well")
    reason: str | None


class FrontierResult(BaseModel):
    """Performance against cost."""

    metric: str
    points: list[FrontierPointDocument] = Field(description="in order of cost")
    without_tests: float | None = Field(description="score of the event rate, given to everybody")
    searched: Literal["all", "greedy"]
    note: str


class FrontierDocument(BaseModel):
    """A frontier, with its result once it is finished."""

    id: str
    search_id: str
    status: JobStatus
    job_id: str
    error: Problem | None
    tests: list[DiagnosticTestDocument]
    configuration: dict[str, Any] = Field(description="the search's best pipeline, which is fitted to every group anew")
    result: FrontierResult | None = Field(description="null until it has succeeded, and in lists")
    created_at: datetime


class MissingTestsRequest(BaseModel):
    """A patient of whom some features are known."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"patient": {"age": 63, "sex": 1, "cp": "1", "thalach": None}}]}
    )

    patient: Annotated[
        Any,
        WithJsonSchema(
            {
                "type": "object",
                "additionalProperties": {"anyOf": [{"type": t} for t in ("number", "string", "boolean", "null")]},
            }
        ),
    ] = Field(description="features that are known; what is left out, or null, is not")


class MissingTestDocument(BaseModel):
    """How much a missing test might change the risk."""

    test: str
    cost: float
    expected_change: float = Field(description="expected absolute change of the risk")
    change_per_cost: Number
    lower: float = Field(description="eight in ten of the results lie between the two")
    upper: float
    donors: int = Field(description="patients like this one that the expectation rests on")


class MissingTestsDocument(BaseModel):
    """Tests that were not, or not completely, done; the one with the largest change per cost first."""

    model_id: str
    risk: float = Field(description="of the search's model, without them")
    items: list[MissingTestDocument]
