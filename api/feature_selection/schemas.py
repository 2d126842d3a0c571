"""Streams of feature selection as clients send them and as the API shows them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema
from pydantic.config import JsonDict

from api.collecting import Collecting
from api.diagnosis.names import MAX_NAME
from autoprog.test_selection.online import LARGEST_STEP

MAX_FEATURES = 10_000
"""Most features of a stream."""

_NAME = {"type": "string", "minLength": 1, "maxLength": MAX_NAME}
_POSITIVE = {"type": "number", "exclusiveMinimum": 0}
_STEP = {**_POSITIVE, "exclusiveMaximum": LARGEST_STEP}
_NUMBERS = {"type": "array", "items": {"type": "number"}}
_ALGORITHMS = ["thompson", "random", "all", "ofs", "epsilon_greedy"]


class MomentsRequest(BaseModel):
    """Means and standard deviations that are known beforehand, in the order of the features."""

    model_config = ConfigDict(extra="forbid")

    mean: Annotated[Any, WithJsonSchema(_NUMBERS)]
    sd: Annotated[Any, WithJsonSchema(_NUMBERS)]


_EXAMPLE: JsonDict = {
    "name": "admissions",
    "features": ["age", "glucose", "insulin", "bmi"],
    "subset_size": 2,
    "algorithm": "thompson",
    "classifier": "mlp",
}


class StreamRequest(Collecting):
    """Features of which a few can be looked at in each patient; what is out of range is told all at once."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    name: Annotated[Any, WithJsonSchema(_NAME)] = "stream"
    features: Annotated[Any, WithJsonSchema({"type": "array", "items": _NAME, "minItems": 1, "maxItems": MAX_FEATURES})]
    subset_size: Annotated[Any, WithJsonSchema({"type": "integer", "minimum": 1})] = Field(
        None, description="features to look at in a patient; by default a tenth of all"
    )
    algorithm: Annotated[Any, WithJsonSchema({"enum": _ALGORITHMS, "default": "thompson"})] = Field(
        "thompson", description="who chooses the features; `random` and `all` are yardsticks"
    )
    classifier: Annotated[Any, WithJsonSchema({"enum": ["mlp", "perceptron"], "default": "mlp"})] = Field(
        "mlp", description="who predicts under thompson, random and all; the other two are linear"
    )
    step: Annotated[Any, WithJsonSchema(_STEP | {"default": 0.2})] = 0.2
    epsilon: Annotated[Any, WithJsonSchema({"type": "number", "minimum": 0, "maximum": 1, "default": 0.2})] = 0.2
    cap: Annotated[Any, WithJsonSchema(_STEP | {"default": 0.1})] = Field(
        0.1, description="largest norm of the weights of ofs"
    )
    truncate: Annotated[Any, WithJsonSchema({"type": "boolean", "default": False})] = Field(
        default=False, description="whether epsilon_greedy keeps its largest weights only, as published"
    )
    prior: Annotated[Any, WithJsonSchema({"type": "array", "items": _POSITIVE, "minItems": 2, "maxItems": 2})] = Field(
        [1.0, 1.0], description="Beta prior of every feature's reward under thompson"
    )
    standardisation: MomentsRequest | None = Field(
        None, description="by default moments are learnt from the values that are seen"
    )
    seed: Annotated[Any, WithJsonSchema({"type": "integer", "minimum": 0, "default": 0})] = 0


class PerformanceDocument(BaseModel):
    """How predictions have done, beside what a constant would have."""

    online_mistake_rate: float | None = Field(description="mistakes a patient so far")
    balanced_error: float | None = Field(description="mean of the errors among positives and negatives")
    majority_rate: float | None = Field(description="mistakes a patient of the more frequent label")


class StreamDocument(PerformanceDocument):
    """What a stream has learnt."""

    id: str
    name: str
    features: list[str]
    subset_size: int
    algorithm: Literal["thompson", "random", "all", "ofs", "epsilon_greedy"]
    classifier: Literal["mlp", "perceptron"]
    step: float
    epsilon: float
    cap: float
    truncate: bool
    prior: tuple[float, float]
    seed: int
    standardisation: Literal["running", "given"]
    n_selections: int
    n_observations: int
    best_features: list[str] = Field(description="those that are thought best")
    created_at: datetime
    changed_at: datetime


class ObservationRequest(Collecting):
    """A patient's values of the selected features, and the label."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"selection_id": "0123", "values": {"glucose": 148, "bmi": 33.6}, "label": 1}]},
    )

    selection_id: Annotated[str, Field(max_length=64)]
    values: Annotated[
        Any,
        WithJsonSchema({"type": "object", "additionalProperties": {"anyOf": [{"type": "number"}, {"type": "null"}]}}),
    ] = Field(description="of every selected feature; null where it could not be had")
    label: Annotated[Any, WithJsonSchema({"enum": [0, 1]})]


class ObservationDocument(PerformanceDocument):
    """What became of a patient; the prediction was made before the label was read."""

    prediction: Literal[0, 1]
    correct: bool


class SelectionDocument(BaseModel):
    """What to look at in one patient."""

    id: str
    stream_id: str
    number: int
    features: list[str]
    observation: ObservationDocument | None = Field(description="null until the patient was observed")
    created_at: datetime
    observed_at: datetime | None
