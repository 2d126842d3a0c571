"""Documents of frontiers of performance against cost."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, WithJsonSchema

from api.catalogues.schemas import PricesDocument, TestsOfCatalogue
from api.problems import Problem
from api.test_selection.problems.schemas import DiagnosticTestDocument, DiagnosticTestRequest, Number
from autoprog.storage.tables import JobStatus

_TESTS: list[JsonValue] = [
    {"name": "history", "cost": 1, "features": ["age", "sex", "cp"]},
    {"name": "exercise ECG", "cost": 87.3, "features": ["thalach", "exang"]},
]


class FrontierRequest(TestsOfCatalogue):
    """Groups of features of the search's cohort, each with a cost."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"tests": _TESTS}]})

    tests: list[DiagnosticTestRequest] | None = Field(None, description="The tests, unless they come from a catalogue.")


class FrontierPointDocument(BaseModel):
    """A group of tests, with its cost and performance."""

    tests: list[str]
    cost: float
    score: float | None = Field(
        description="Mean over the folds of the search. Null if the pipeline could not be fitted."
    )
    fold_scores: list[float | None]
    difference: float | None = Field(description="Mean gain over all tests together, fold by fold.")
    standard_error: float | None
    on_frontier: bool = Field(
        description="Whether no group of at most this cost scores better, and no cheaper one as well."
    )
    reason: str | None


class FrontierResult(BaseModel):
    """Performance by cost."""

    metric: str
    points: list[FrontierPointDocument] = Field(description="Groups of tests, ascending by cost.")
    without_tests: float | None = Field(description="Score of predicting the event rate for everyone.")
    searched: Literal["all", "greedy"]
    note: str


class FrontierDocument(BaseModel):
    """A frontier. It has a result once the job is finished."""

    id: str
    search_id: str
    status: JobStatus
    job_id: str
    error: Problem | None
    tests: list[DiagnosticTestDocument]
    catalogue_id: str | None = Field(description="Catalogue that the tests were taken from.")
    prices: PricesDocument | None = Field(description="Prices of the catalogue's tests, which are their costs here.")
    configuration: dict[str, Any] = Field(
        description="The search's best pipeline, which is fitted to every group anew."
    )
    result: FrontierResult | None = Field(description="Null until the job has succeeded, and in lists.")
    created_at: datetime


class MissingTestsRequest(BaseModel):
    """A patient with some known features."""

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
    ] = Field(description="Known features. Omitted or null features are unknown.")


class MissingTestDocument(BaseModel):
    """Expected effect of a missing test on the risk."""

    test: str
    cost: float
    expected_change: float = Field(description="Expected absolute change of the risk, in [0, 1].")
    change_per_cost: Number
    lower: float = Field(description="10th percentile of the risk after the test. `upper` is the 90th.")
    upper: float
    donors: int = Field(description="Number of similar patients behind the expectation.")


class MissingTestsDocument(BaseModel):
    """Tests that were not done, or only in part, the largest change per cost first."""

    model_id: str
    risk: float = Field(description="Risk by the search's model, without these tests.")
    items: list[MissingTestDocument]
    warnings: list[str] = Field(description="Unusual values. A level unseen in training is treated as missing.")
