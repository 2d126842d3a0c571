"""Documents of test-selection rounds."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

_PREDICTIONS = {"type": "object", "additionalProperties": {"enum": [0, 1]}}
_MEASUREMENTS = {
    "type": "object",
    "additionalProperties": {"anyOf": [{"type": t} for t in ("number", "string", "boolean", "null")]},
}


class FeedbackRequest(BaseModel):
    """A round's feedback: predictions, or measurements if the problem has its own classifiers."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"predictions": {"1": 0, "2": 1}}, {"measurements": {"thalach": 150, "exang": None}}]
        },
    )

    predictions: Annotated[Any, WithJsonSchema(_PREDICTIONS)] = Field(
        None, description="arm id -> 0 or 1, for every arm whose tests are among those that were done"
    )
    measurements: Annotated[Any, WithJsonSchema(_MEASUREMENTS)] = Field(
        None,
        description="features as they come, one test or many at a time; null where a test did not give one. The round "
        "is closed once all features of its arm have come",
    )


class NextTestDocument(BaseModel):
    """The test to order next."""

    name: str
    cost: float
    features: list[str]


class RoundDocument(BaseModel):
    """One patient: the tests to order, and the prediction to act on."""

    id: str
    problem_id: str
    number: int = Field(description="as opened, from 1")
    arm: str
    tests: list[str] = Field(description="of the arm")
    cost: float = Field(description="of the arm's tests together")
    status: Literal["open", "closed"]
    prediction: Literal[0, 1] | None = Field(description="of the arm: what to act on; null while the round is open")
    predictions: dict[str, int] | None = Field(description="of every arm that became known")
    risks: dict[str, float] | None = Field(description="of the same arms, where the problem has classifiers")
    next_test: NextTestDocument | None = Field(description="where measurements are sent: what to order next")
    tests_done: list[str]
    cost_spent: float = Field(description="of the tests that were done, the one that is under way among them")
    cost_to_come: float
    measurements: dict[str, Any] | None
    warnings: list[str] = Field(description="what is unusual about the measurements")
    created_at: datetime
    closed_at: datetime | None
