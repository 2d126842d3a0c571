"""Documents of questions with more than two answers."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema
from pydantic.config import JsonDict

from api.collecting import FaultCollector
from api.diagnosis.models.schemas import MAX_INLINE_CELLS, DiagnosisObject
from api.diagnosis.names import MAX_NAME
from autoprog.diagnosis import MAX_ANSWERS

# Values that `autoprog.diagnosis` checks are taken as they come, so that one response names the faults of all parts.
_NAME = {"type": "string", "minLength": 1, "maxLength": MAX_NAME}
_NAMES: dict[str, Any] = {"type": "array", "items": _NAME}
_POSITIVE = {"type": "number", "exclusiveMinimum": 0}
_GIVEN: dict[str, Any] = {"type": "object", "additionalProperties": {"anyOf": [_NAME, {"type": "null"}]}}


class MultiwayQueryRequest(BaseModel):
    """A finding with several answers."""

    model_config = ConfigDict(extra="forbid")

    name: Annotated[Any, WithJsonSchema(_NAME)]
    answers: Annotated[Any, WithJsonSchema({**_NAMES, "maxItems": MAX_ANSWERS})] = Field(
        None, description="Possible answers. The default is those that occur in the responses."
    )
    cost: Annotated[Any, WithJsonSchema(_POSITIVE | {"default": 1})] = None


_EXAMPLE: JsonDict = {
    "objects": [
        {"name": "iron deficiency"},
        {"name": "thalassaemia"},
        {"name": "B12 deficiency"},
        {"name": "bleeding"},
    ],
    "queries": [{"name": "cell volume"}, {"name": "ferritin", "answers": ["low", "normal", "high"]}],
    "responses": [["low", "low"], ["low", "normal"], ["high", "normal"], ["normal", "low"]],
    "answers": {"cell volume": "low"},
}


class MultiwayRequest(FaultCollector):
    """A model and the answers given so far."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    objects: list[DiagnosisObject]
    queries: list[MultiwayQueryRequest]
    responses: Annotated[Any, WithJsonSchema({"type": "array", "items": _NAMES})] = Field(
        description=f"One row per object and one answer per query, at most {MAX_INLINE_CELLS:,}."
    )
    exponential_cost_base: Annotated[Any, WithJsonSchema({"type": "number", "minimum": 1, "default": 1})] = Field(
        1, description="lambda, at least 1: 1 minimises the expected cost, larger values avoid long sessions."
    )
    answers: Annotated[Any, WithJsonSchema({**_GIVEN, "default": {}})] = Field(
        {}, description="Answer to each query asked or volunteered. Null if it is not available."
    )
    tree: bool = Field(default=False, description="Whether to return the tree of all questions, and its costs.")


class MultiwayQueryDocument(BaseModel):
    """The next question."""

    name: str
    answers: list[str]


class MultiwayCandidate(BaseModel):
    """An object, or group of objects, that is still possible."""

    name: str
    probability: float


class MultiwayNodeDocument(BaseModel):
    """A node of the tree. Node 0 is the root."""

    query: str | None = Field(description="Query asked. Null at a leaf.")
    children: dict[str, int] = Field(description="Index of the node that each answer leads to.")
    objects: list[str] | None = Field(description="Objects at a leaf. Null elsewhere.")


class MultiwayTreeDocument(BaseModel):
    """The tree of all questions."""

    nodes: list[MultiwayNodeDocument]
    expected_cost: float
    exponential_cost: float
    worst_case: float
    entropy_bound: float = Field(description="Lower bound of the expected cost of any tree.")
    exponential_bound: float = Field(description="Lower bound of the exponential cost of any tree.")


class MultiwayDocument(BaseModel):
    """Next question and remaining candidates after the answers."""

    status: Literal["asking", "identified", "ambiguous", "contradictory"]
    next_query: MultiwayQueryDocument | None = Field(description="Null unless the status is `asking`.")
    remaining: list[MultiwayCandidate] = Field(description="Remaining candidates, the most probable first.")
    unidentifiable: list[list[str]] = Field(description="Sets of objects that no question can tell apart.")
    warnings: list[str]
    tree: MultiwayTreeDocument | None
