"""Documents of feature-selection streams."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema
from pydantic.config import JsonDict

from api.collecting import FaultCollector
from api.diagnosis.names import MAX_NAME
from autoprog.feature_streams import LARGEST_STEP, MIN_SD

MAX_FEATURES = 10_000
"""Largest number of features of a stream."""

_NAME = {"type": "string", "minLength": 1, "maxLength": MAX_NAME}
_POSITIVE = {"type": "number", "exclusiveMinimum": 0}
_STEP = {**_POSITIVE, "exclusiveMaximum": LARGEST_STEP}
_SD = {"type": "number", "exclusiveMinimum": MIN_SD, "exclusiveMaximum": LARGEST_STEP}
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
    """Features of which a few are measured per patient. One response lists all faults."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE, _OF_COSTS]})

    name: Annotated[Any, WithJsonSchema(_NAME)] = "stream"
    features: Annotated[Any, WithJsonSchema({"type": "array", "items": _NAME, "minItems": 1, "maxItems": MAX_FEATURES})]
    subset_size: Annotated[Any, WithJsonSchema({"type": "integer", "minimum": 1})] = Field(
        None,
        description="Number of features to measure per patient. The default is a tenth of all. With groups, subsets, "
        "a budget or a trade-off it is a maximum, without limit by default.",
    )
    algorithm: Annotated[Any, WithJsonSchema({"enum": _ALGORITHMS, "default": "thompson"})] = Field(
        "thompson", description="Algorithm that selects the features. `random` and `all` are baselines."
    )
    classifier: Annotated[Any, WithJsonSchema({"enum": ["mlp", "perceptron"], "default": "mlp"})] = Field(
        "mlp", description="Classifier for `thompson`, `random` and `all`. The other two algorithms use a linear one."
    )
    step: Annotated[Any, WithJsonSchema(_STEP | {"default": 0.2})] = 0.2
    epsilon: Annotated[Any, WithJsonSchema({"type": "number", "minimum": 0, "maximum": 1, "default": 0.2})] = 0.2
    cap: Annotated[Any, WithJsonSchema(_STEP | {"default": 0.1})] = Field(
        0.1, description="Largest norm of the weights, for `ofs`."
    )
    truncate: Annotated[Any, WithJsonSchema({"type": "boolean", "default": False})] = Field(
        default=False, description="Whether `epsilon_greedy` keeps only its largest weights, as published."
    )
    prior: Annotated[Any, WithJsonSchema({**_NUMBERS, "minItems": 2, "maxItems": 2})] = Field(
        [1.0, 1.0],
        description="Prior of each feature's mean reward, for `thompson`: two parameters of a Beta distribution, both "
        "above 0, or with `gaussian` mean and standard deviation of a normal one, the latter above 0.",
    )
    likelihood: Annotated[Any, WithJsonSchema({"enum": ["bernoulli", "gaussian"], "default": "bernoulli"})] = Field(
        "bernoulli",
        description="Likelihood of the rewards, for `thompson`. With `gaussian`, an observation may have any reward.",
    )
    noise: Annotated[Any, WithJsonSchema(_SD | {"default": 0.5})] = Field(
        0.5, description="Standard deviation of a reward about its mean, for `gaussian`."
    )
    groups: Annotated[Any, WithJsonSchema({"type": "array", "items": _GROUP})] = Field(
        None,
        description="Features that are measured together, and their cost. Features in no group are measured alone, at "
        "no cost.",
    )
    subsets: Annotated[Any, WithJsonSchema({"type": "array", "items": {"type": "array", "items": _NAME}})] = Field(
        None, description="Allowed subsets, each a union of groups. The default is all."
    )
    budget: Annotated[Any, WithJsonSchema(_NOT_NEGATIVE)] = Field(
        None, description="Maximum total cost of the groups measured per patient."
    )
    trade_off: Annotated[Any, WithJsonSchema(_NOT_NEGATIVE)] = Field(
        None, description="Reward that a unit of cost is worth. At 0, the default, costs count only against the budget."
    )
    standardisation: MomentsRequest | None = Field(
        None, description="Known means and standard deviations. By default they are learnt from the observed values."
    )
    seed: Annotated[Any, WithJsonSchema({"type": "integer", "minimum": 0, "default": 0})] = 0


class PerformanceDocument(BaseModel):
    """Performance of the predictions, compared with a constant prediction."""

    online_mistake_rate: float | None = Field(description="Mistakes per patient so far, in [0, 1].")
    balanced_error: float | None = Field(description="Mean of the error rates among positives and negatives.")
    majority_rate: float | None = Field(
        description="Mistakes per patient, in [0, 1], if the more frequent label were always predicted."
    )


class GroupDocument(BaseModel):
    """Features that are measured together."""

    name: str
    features: list[str]
    cost: float


class FamilyDocument(BaseModel):
    """The subsets that may be measured."""

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
    family: FamilyDocument | None = Field(None, description="Restrictions on the subsets besides their size.")
    seed: int
    standardisation: Literal["running", "given"]
    n_selections: int
    n_observations: int
    best_features: list[str] = Field(description="Features that are currently considered best.")
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
    ] = Field(description="Value of every selected feature. Null if it was not available.")
    label: Annotated[Any, WithJsonSchema({"enum": [0, 1]})]
    reward: Annotated[Any, WithJsonSchema({"type": "number"})] = Field(
        None,
        description="Value of measuring these features, learnt by `thompson`. The default is 1 if the prediction is "
        "right, otherwise 0. The range is [0, 1], or any number with the likelihood `gaussian`.",
    )


class ObservationDocument(PerformanceDocument):
    """The prediction for a patient, made before the label was read."""

    prediction: Literal[0, 1]
    correct: bool


class SelectionDocument(BaseModel):
    """The features to measure in one patient."""

    id: str
    stream_id: str
    number: int
    features: list[str]
    order: list[str] = Field(description="Groups to measure, and features that are in no group.")
    cost: float = Field(description="Total cost of the groups.")
    observation: ObservationDocument | None = Field(description="Null until the patient is observed.")
    created_at: datetime
    observed_at: datetime | None
