"""Documents of sessions."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, WithJsonSchema

from api.diagnosis.names import Name

Status = Literal["asking", "identified", "ambiguous", "contradictory"]

MAX_REMAINING = 10_000
"""Largest number of candidates that one response lists."""


class AnswerRequest(BaseModel):
    """The answer to a question."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"query": "fever", "answer": True}, {"query": "ERCP", "answer": None}]},
    )

    query: Name = Field(description="of the query that was asked")
    answer: StrictBool | None = Field(
        description="null where it is not available: the query is not asked again in this session"
    )
    volunteered: bool = Field(
        default=False, description="given without being asked for; such an answer may contradict the others"
    )


class SessionRequest(BaseModel):
    """How a session is opened; every key may be left out."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"certainty": 0.95}]})

    certainty: Annotated[Any, WithJsonSchema({"type": "number", "exclusiveMinimum": 0, "maximum": 1})] = Field(
        None, description="stop at this probability; by default 1, or 0.95 where answers may be wrong"
    )
    known: list[AnswerRequest] = Field(
        default_factory=list, max_length=10_000, description="what is known before the first question"
    )


class NextQueryDocument(BaseModel):
    """The question to ask."""

    name: str
    gain: float = Field(description="information that the answer is expected to give, in bits")


class BatchDocument(BaseModel):
    """Questions to ask together, before any of them is answered."""

    queries: list[NextQueryDocument] = Field(description="the next query first; each gain is added to those before it")
    gain: float = Field(description="information that all answers together are expected to give, in bits")


class ObjectCandidate(BaseModel):
    """An object that is still possible."""

    object: str
    probability: float


class GroupCandidate(BaseModel):
    """A group that is still possible."""

    group: str
    probability: float


class AnswerDocument(BaseModel):
    """An answer that was given."""

    number: int = Field(description="from 1; the last one can be taken back")
    query: str
    answer: bool | None
    volunteered: bool


class NearestDocument(BaseModel):
    """An object that disagrees with few of the answers."""

    object: str
    disagrees: list[int] = Field(description="numbers of the answers that it cannot have given")


class ContradictionDocument(BaseModel):
    """Answers that no object can have given."""

    conflicting: list[int] = Field(description="numbers of answers of which one at least must be wrong")
    nearest: list[NearestDocument]


class ResultDocument(BaseModel):
    """The result of a session."""

    status: Literal["identified", "ambiguous", "contradictory"]
    object: str | None = Field(description="the object that was identified, where objects are")
    group: str | None = Field(description="the group that was identified, where groups are")
    probability: float | None
    objects: list[str] = Field(description="objects that agree with the answers; the first 1,000")


class SessionSummary(BaseModel):
    """A session in a list."""

    id: str
    model_id: str
    certainty: float
    status: Status
    done: bool
    answers: list[AnswerDocument]
    created_at: datetime
    changed_at: datetime


class SessionDocument(SessionSummary):
    """The state of a session."""

    next_query: NextQueryDocument | None = Field(description="null when the session is done")
    remaining: list[ObjectCandidate] | list[GroupCandidate] = Field(description="the most probable first")
    n_remaining: int = Field(description="how many there are, listed or not")
    result: ResultDocument | None = Field(description="null until the session is done")
    contradiction: ContradictionDocument | None
