"""Documents of feature-selection streams."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema
from pydantic.config import JsonDict

from api.collecting import FaultCollector
from api.diagnosis.names import MAX_NAME
from autoprog.feature_streams import LARGEST_STEP

MAX_FEATURES = 10_000
"""Largest number of features of a stream."""

_NAME = {"type": "string", "minLength": 1, "maxLength": MAX_NAME}
_POSITIVE = {"type": "number", "exclusiveMinimum": 0}
_STEP = {**_POSITIVE, "exclusiveMaximum": LARGEST_STEP}
_NUMBERS = {"type": "array", "items": {"type": "number"}}
_ALGORITHMS = ["thompson", "random", "all", "ofs", "epsilon_greedy"]


_GROUP: dict[str, Any] = {
    "type": "object",
    "required": ["name", "features"],
    "additionalProperties": False,
    "properties": {
        "name": _NAME,
        "features": {"type": "array", "items": _NAME, "minItems": 1},
        "cost": {"type": "number", "minimum": 0, "default": 0},
    },
}
_NOT_NEGATIVE = {"type": "number", "minimum": 0}

MAX_MEMBERSHIPS = 20_000
"""Largest number of features in all listed subsets together."""


class MomentsRequest(BaseModel):
    """Known means and standard deviations, in the order of the features."""

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


_OF_COSTS: JsonDict = {
    "name": "admissions",
    "features": ["age", "glucose", "insulin", "bmi", "qt"],
    "groups": [
        {"name": "blood panel", "features": ["glucose", "insulin"], "cost": 40.39},
        {"name": "ECG", "features": ["qt"], "cost": 15.5},
    ],
    "budget": 41,
}


class StreamRequest(FaultCollector):
    """Features of which a few can be looked at in each patient; one response names every fault."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE, _OF_COSTS]})

    name: Annotated[Any, WithJsonSchema(_NAME)] = "stream"
    features: Annotated[Any, WithJsonSchema({"type": "array", "items": _NAME, "minItems": 1, "maxItems": MAX_FEATURES})]
    subset_size: Annotated[Any, WithJsonSchema({"type": "integer", "minimum": 1})] = Field(
        None,
        description="features to look at in a patient, by default a tenth of all; with groups, subsets, a budget or a "
        "trade-off the most, by default no limit",
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
    truncate: Annotated[Any, WithJsonSchema({"type": "boolean", "default": True})] = Field(
        default=True, description="whether epsilon_greedy keeps its largest weights only, as published"
    )
    prior: Annotated[Any, WithJsonSchema({"type": "array", "items": _POSITIVE, "minItems": 2, "maxItems": 2})] = Field(
        [1.0, 1.0],
        description="of every feature's mean reward under thompson: of a Beta law, or mean and standard deviation",
    )
    likelihood: Annotated[Any, WithJsonSchema({"enum": ["bernoulli", "gaussian"], "default": "bernoulli"})] = Field(
        "bernoulli", description="of rewards under thompson; with gaussian an observation may come with any reward"
    )
    noise: Annotated[Any, WithJsonSchema(_STEP | {"default": 0.5})] = Field(
        0.5, description="standard deviation of a reward about its mean, under gaussian"
    )
    groups: Annotated[Any, WithJsonSchema({"type": "array", "items": _GROUP})] = Field(
        None, description="features that are measured together, and what that costs; others are alone and free"
    )
    subsets: Annotated[Any, WithJsonSchema({"type": "array", "items": {"type": "array", "items": _NAME}})] = Field(
        None, description="the subsets that may be looked at, each a union of groups; by default all"
    )
    budget: Annotated[Any, WithJsonSchema(_NOT_NEGATIVE)] = Field(
        None, description="what the groups of a patient may cost together"
    )
    trade_off: Annotated[Any, WithJsonSchema(_NOT_NEGATIVE)] = Field(
        None, description="reward that a unit of cost is worth; by default 0: costs count against the budget alone"
    )
    standardisation: MomentsRequest | None = Field(
        None, description="by default moments are learnt from the values that are seen"
    )
    seed: Annotated[Any, WithJsonSchema({"type": "integer", "minimum": 0, "default": 0})] = 0


class PerformanceDocument(BaseModel):
    """How good the predictions have been, and how good a constant would have been."""

    online_mistake_rate: float | None = Field(description="mistakes a patient so far")
    balanced_error: float | None = Field(description="mean of the errors among positives and negatives")
    majority_rate: float | None = Field(description="mistakes a patient of the more frequent label")


class GroupDocument(BaseModel):
    """Features that are measured together."""

    name: str
    features: list[str]
    cost: float


class FamilyDocument(BaseModel):
    """The subsets that may be looked at."""

    groups: list[GroupDocument]
    subsets: list[list[str]] | None
    budget: float | None
    trade_off: float


class StreamDocument(PerformanceDocument):
    """A stream and what it has learnt."""

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
    likelihood: Literal["bernoulli", "gaussian"] = "bernoulli"
    noise: float = 0.5
    family: FamilyDocument | None = Field(None, description="what restricts the subsets beside their size")
    seed: int
    standardisation: Literal["running", "given"]
    n_selections: int
    n_observations: int
    best_features: list[str] = Field(description="those that are thought best")
    created_at: datetime
    changed_at: datetime


class ObservationRequest(FaultCollector):
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
    reward: Annotated[Any, WithJsonSchema({"type": "number"})] = Field(
        None,
        description="what looking at these was worth, learnt by thompson; by default 1 where the prediction is right, "
        "otherwise 0. In [0, 1], or any number under the likelihood gaussian",
    )


class ObservationDocument(PerformanceDocument):
    """The prediction for a patient, made before the label was read."""

    prediction: Literal[0, 1]
    correct: bool


class SelectionDocument(BaseModel):
    """The features to look at in one patient."""

    id: str
    stream_id: str
    number: int
    features: list[str]
    order: list[str] = Field(description="the groups to measure, and features that are in none")
    cost: float = Field(description="of them together")
    observation: ObservationDocument | None = Field(description="null until the patient was observed")
    created_at: datetime
    observed_at: datetime | None
