"""Documents of threshold learners."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema
from pydantic.config import JsonDict

from api.collecting import FaultCollector
from api.diagnosis.names import MAX_NAME
from autoprog.diagnosis.discretization import MAX_PRIOR, MIN_PRIOR

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
_PRIOR = {"type": "number", "minimum": MIN_PRIOR, "maximum": MAX_PRIOR}
_SHARE = {"type": "number", "minimum": 0, "maximum": 1}
_FEATURE: dict[str, Any] = {
    "type": "object",
    "required": ["name"],
    "additionalProperties": False,
    "properties": {
        "name": _NAME,
        "thresholds": {**_NUMBERS, "description": "Candidate thresholds, ascending."},
        "sample": {
            **_NUMBERS,
            "description": "Values whose quantiles become the candidates. Send either this or `thresholds`.",
        },
        "n_thresholds": {
            "type": "integer",
            "minimum": 1,
            "default": 9,
            "description": "Number of candidates to take from the sample.",
        },
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
    """Measurements, each with candidate thresholds or with a sample from which they are taken."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    name: Annotated[Any, WithJsonSchema(_NAME)] = "thresholds"
    features: Annotated[Any, WithJsonSchema({"type": "array", "items": _FEATURE, "minItems": 1})]
    labels: Annotated[Any, WithJsonSchema({"type": "array", "items": _NAME, "minItems": 2})] = Field(
        description="Names of the outcomes."
    )
    updates: Annotated[Any, WithJsonSchema({"enum": ["shared", "queried"], "default": "shared"})] = Field(
        "shared", description="Whether a case updates all measured features, or only the queried one."
    )
    choice: Annotated[Any, WithJsonSchema({"enum": ["bandit", "exhaustive"], "default": "bandit"})] = Field(
        "bandit", description="Whether a bandit draws the threshold of a feature, or all thresholds are evaluated."
    )
    form: Annotated[Any, WithJsonSchema({"enum": ["loss", "gain", "mixed", "hedge"], "default": "loss"})] = Field(
        "loss", description="Form of the bandits. `gain` is as published."
    )
    rate: Annotated[Any, WithJsonSchema(_POSITIVE)] = Field(
        None,
        description="Learning rate. By default it falls with the number of queries or, if `queries` is given, follows "
        "from it.",
    )
    queries: Annotated[Any, WithJsonSchema({"type": "integer", "minimum": 1})] = Field(
        None, description="Number of future queries of each feature, if known."
    )
    mixing: Annotated[Any, WithJsonSchema(_SHARE)] = Field(
        None, description="Share of draws that are uniform, in [0, 1]."
    )
    floor: Annotated[Any, WithJsonSchema(_SHARE)] = Field(
        None, description="Minimum of `mixing`, in [0, 1]. The default is 1e-6, or 0 for the form `gain`, as published."
    )
    prior: Annotated[Any, WithJsonSchema({"type": "array", "items": _PRIOR, "minItems": 2, "maxItems": 2})] = Field(
        [1.0, 1.0], description="Beta prior of each label's share of cases above a threshold."
    )
    seed: Annotated[Any, WithJsonSchema({"type": "integer", "minimum": 0, "default": 0})] = 0


class CutCasesRequest(FaultCollector):
    """Labelled cases to learn from, in order."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"cases": [_EXAMPLE_CASE]}]})

    cases: Annotated[Any, WithJsonSchema({"type": "array", "items": _CASE, "minItems": 1, "maxItems": MAX_CASES})]


class CandidatesDocument(BaseModel):
    """A measurement and its candidate thresholds."""

    name: str
    thresholds: list[float]


class QuestionDocument(BaseModel):
    """The measurement to query, and its threshold that is most informative in this case's draws."""

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
    counts: dict[str, int] = Field(description="Number of cases of each label so far.")
    n_cases: int
    created_at: datetime
    changed_at: datetime


class CandidateDocument(BaseModel):
    """A candidate threshold, with the probability that it is the best."""

    threshold: float
    best: float = Field(description="Probability that no other candidate gives more information on the outcome.")
    drawn: float = Field(description="Probability that the bandit draws it for the next case.")


class CutDocument(BaseModel):
    """The best threshold of a measurement, with its uncertainty."""

    feature: str
    threshold: float = Field(description="Candidate that is most probably the most informative.")
    probability: float = Field(description="Probability that it is the most informative.")
    lower: float = Field(description="Lower end of a 95 % interval of the best candidate.")
    upper: float
    information: float = Field(description="Information of the threshold on the outcome, in bits.")
    information_lower: float
    information_upper: float
    above: dict[str, float] = Field(description="Share of each label's cases above the threshold.")
    n_cases: int = Field(description="Number of cases behind the estimate.")
    candidates: list[CandidateDocument]


class ThresholdLearnerDocument(ThresholdLearnerSummary):
    """A learner and its thresholds."""

    cuts: list[CutDocument]
    next_question: QuestionDocument = Field(
        description="Next question, if all features can be measured. With `updates` set to `queried`, no other value "
        "is read."
    )


class StudiedCutDocument(BaseModel):
    """The prediction for a case, made before its label was read."""

    feature: str | None = Field(description="Queried feature. Null if nothing was measured.")
    threshold: float | None
    above: bool | None
    predicted: str
    certainty: float
    correct: bool


class CutCasesDocument(BaseModel):
    """The result for each case."""

    items: list[StudiedCutDocument]
    accuracy: float = Field(
        description="Share of cases whose label was predicted correctly by one threshold before it was read."
    )
    n_cases: int = Field(description="Number of cases that the learner has seen, including these.")
