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
    """The feedback of a round: predictions, or measurements if the problem has its own classifiers."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"predictions": {"1": 0, "2": 1}}, {"measurements": {"thalach": 150, "exang": None}}]
        },
    )

    predictions: Annotated[Any, WithJsonSchema(_PREDICTIONS)] = Field(
        None, description="Prediction 0 or 1 by arm id, for every arm whose tests are all among those done."
    )
    measurements: Annotated[Any, WithJsonSchema(_MEASUREMENTS)] = Field(
        None,
        description="Measured features, from one test or several at a time. Null if a test gave no value. The round "
        "is closed once all features of its arm are known.",
    )


class NextTestDocument(BaseModel):
    """The test to order next."""

    name: str
    cost: float
    features: list[str]


class RoundDocument(BaseModel):
    """A round for one patient: the tests to order, and the prediction to act on."""

    id: str
    problem_id: str
    number: int = Field(description="Number of the round, in the order of opening, from 1.")
    arm: str
    tests: list[str] = Field(description="Tests of the arm.")
    cost: float = Field(description="Total cost of the arm's tests.")
    status: Literal["open", "closed"]
    prediction: Literal[0, 1] | None = Field(
        description="Prediction of the arm, to act on. Null while the round is open."
    )
    predictions: dict[str, int] | None = Field(description="Prediction of every known arm.")
    risks: dict[str, float] | None = Field(description="Risk by the same arms, if the problem has classifiers.")
    next_test: NextTestDocument | None = Field(description="Next test to order, if the problem takes measurements.")
    tests_done: list[str]
    cost_spent: float = Field(description="Cost of the tests done, including one in progress.")
    cost_to_come: float
    measurements: dict[str, Any] | None
    warnings: list[str] = Field(description="Unusual measurements.")
    created_at: datetime
    closed_at: datetime | None
