"""Documents of threshold learners."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema
from pydantic.config import JsonDict

from api.collecting import FaultCollector
from api.diagnosis.names import MAX_NAME

MAX_PARAMETERS = 10_000
"""Largest number of pairs of a label and a candidate threshold in one learner."""

MAX_CASES = 10_000
"""Largest number of cases in one request."""

MAX_VALUES = 100_000
"""Largest number of cases times features in one request."""

# Values that `autoprog.diagnosis.discretization` checks are taken as they come, so that one response names the faults
# of all parts.
_NAME = {"type": "string", "minLength": 1, "maxLength": MAX_NAME}
_NUMBERS = {"type": "array", "items": {"type": "number"}, "minItems": 1}
_POSITIVE = {"type": "number", "exclusiveMinimum": 0}
_SHARE = {"type": "number", "minimum": 0, "maximum": 1}
_FEATURE: dict[str, Any] = {
    "type": "object",
    "required": ["name"],
    "additionalProperties": False,
    "properties": {
        "name": _NAME,
        "thresholds": {**_NUMBERS, "description": "candidates, ascending"},
        "sample": {**_NUMBERS, "description": "in place of candidates: values whose quantiles they are"},
        "n_thresholds": {"type": "integer", "minimum": 1, "default": 9, "description": "of the sample"},
    },
}
_CASE: dict[str, Any] = {
    "type": "object",
    "required": ["values", "label"],
    "additionalProperties": False,
    "properties": {
        "values": {"type": "object", "additionalProperties": {"anyOf": [{"type": "number"}, {"type": "null"}]}},
        "label": _NAME,
    },
}
_EXAMPLE: JsonDict = {
    "name": "diabetes",
    "features": [{"name": "glucose", "thresholds": [100, 125, 150]}, {"name": "bmi", "sample": [22, 26.5, 31, 38]}],
    "labels": ["well", "diabetes"],
}
_EXAMPLE_CASE: JsonDict = {"values": {"glucose": 148, "bmi": None}, "label": "diabetes"}


class ThresholdLearnerRequest(FaultCollector):
    """Measurements to cut, each with candidate thresholds or a sample from which they are taken."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    name: Annotated[Any, WithJsonSchema(_NAME)] = "thresholds"
    features: Annotated[Any, WithJsonSchema({"type": "array", "items": _FEATURE, "minItems": 1})]
    labels: Annotated[Any, WithJsonSchema({"type": "array", "items": _NAME, "minItems": 2})] = Field(
        description="the outcomes"
    )
    updates: Annotated[Any, WithJsonSchema({"enum": ["shared", "queried"], "default": "shared"})] = Field(
        "shared", description="whether a case updates all features that were measured, or the queried one alone"
    )
    choice: Annotated[Any, WithJsonSchema({"enum": ["bandit", "exhaustive"], "default": "bandit"})] = Field(
        "bandit", description="whether a bandit draws the threshold of a feature, or all are evaluated"
    )
    form: Annotated[Any, WithJsonSchema({"enum": ["loss", "gain", "mixed", "hedge"], "default": "loss"})] = Field(
        "loss", description="of the bandits; `gain` is as published"
    )
    rate: Annotated[Any, WithJsonSchema(_POSITIVE)] = Field(
        None, description="of learning; by default it falls with the queries, or follows from their number"
    )
    queries: Annotated[Any, WithJsonSchema({"type": "integer", "minimum": 1})] = Field(
        None, description="number of queries to come of each feature, where it is known"
    )
    mixing: Annotated[Any, WithJsonSchema(_SHARE)] = Field(None, description="share of draws that are uniform")
    floor: Annotated[Any, WithJsonSchema(_SHARE)] = Field(
        None, description="the least mixing; by default 1e-6, and none of the form gain, as published"
    )
    prior: Annotated[Any, WithJsonSchema({"type": "array", "items": _POSITIVE, "minItems": 2, "maxItems": 2})] = Field(
        [1.0, 1.0], description="Beta prior of the share of each label above a threshold"
    )
    seed: Annotated[Any, WithJsonSchema({"type": "integer", "minimum": 0, "default": 0})] = 0


class CutCasesRequest(FaultCollector):
    """Values with known outcomes, learnt from one after another."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"cases": [_EXAMPLE_CASE]}]})

    cases: Annotated[Any, WithJsonSchema({"type": "array", "items": _CASE, "minItems": 1, "maxItems": MAX_CASES})]


class CandidatesDocument(BaseModel):
    """A measurement and its candidate thresholds."""

    name: str
    thresholds: list[float]


class QuestionDocument(BaseModel):
    """The measurement to query, and the threshold that is most informative by the draws of this case."""

    feature: str
    threshold: float


class ThresholdLearnerSummary(BaseModel):
    """A learner in a list."""

    id: str
    name: str
    features: list[CandidatesDocument]
    labels: list[str]
    updates: Literal["shared", "queried"]
    choice: Literal["bandit", "exhaustive"]
    form: Literal["loss", "gain", "mixed", "hedge"]
    rate: float | None
    queries: int | None
    mixing: float | None
    floor: float | None
    prior: tuple[float, float]
    seed: int
    counts: dict[str, int] = Field(description="cases of each label so far")
    n_cases: int
    created_at: datetime
    changed_at: datetime


class CandidateDocument(BaseModel):
    """A candidate threshold and how likely it is the best."""

    threshold: float
    best: float = Field(description="probability that no other candidate tells more of the outcome")
    drawn: float = Field(description="how often the bandit would draw it for the next case")


class CutDocument(BaseModel):
    """The best threshold of a measurement, and how certain it is."""

    feature: str
    threshold: float = Field(description="the candidate that is most likely to tell most")
    probability: float = Field(description="that it does")
    lower: float = Field(description="the best candidate lies between the two with a probability of 95 %")
    upper: float
    information: float = Field(description="what the cut tells of the outcome, in bits")
    information_lower: float
    information_upper: float
    above: dict[str, float] = Field(description="label -> share of its cases above the threshold")
    n_cases: int = Field(description="that it rests on")
    candidates: list[CandidateDocument]


class ThresholdLearnerDocument(ThresholdLearnerSummary):
    """A learner and its thresholds."""

    cuts: list[CutDocument]
    next_question: QuestionDocument = Field(
        description="of the next case, if all features can be measured; under `queried` no other value is read"
    )


class StudiedCutDocument(BaseModel):
    """The prediction for a case, made before its label was read."""

    feature: str | None = Field(description="which was queried; null where nothing was measured")
    threshold: float | None
    above: bool | None
    predicted: str
    certainty: float
    correct: bool


class CutCasesDocument(BaseModel):
    """The result for each case."""

    items: list[StudiedCutDocument]
    accuracy: float = Field(description="share of cases whose label was predicted by one cut, before it was read")
    n_cases: int = Field(description="that the learner has seen by now")
