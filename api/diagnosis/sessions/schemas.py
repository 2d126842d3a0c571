"""Documents of sessions."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, WithJsonSchema

from api.catalogues.schemas import PricesDocument, PricesRequest
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

    query: Name = Field(description="Name of the query that is answered.")
    answer: StrictBool | None = Field(
        description="Null if the answer is not available. The session then does not ask this query again."
    )
    volunteered: bool = Field(
        default=False,
        description="Whether the query was answered without being asked. Such an answer may contradict the others.",
    )
    test: Name | None = Field(
        None,
        description="The catalogue's test that gave the answer. By default the test that was ordered for the query "
        "asked, or for any other query that no performed test reveals the cheapest.",
    )


class SessionRequest(BaseModel):
    """Options of a new session. All keys are optional."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"certainty": 0.95}]})

    certainty: Annotated[Any, WithJsonSchema({"type": "number", "exclusiveMinimum": 0, "maximum": 1})] = Field(
        None,
        description="Probability, in (0, 1], at which the session stops. The default is 1, or 0.95 if answers may be "
        "wrong.",
    )
    known: list[AnswerRequest] = Field(
        default_factory=list, max_length=10_000, description="Answers known before the first question."
    )
    catalogue_id: Annotated[str, Field(max_length=64)] | None = Field(
        None,
        description="Catalogue of the tests that reveal answers. The session then orders the test with the most "
        "information per price, and asks for all that it reveals before the next one. A test's feature `age` reveals "
        "the queries `age`, `age > 60`, `age >= 60` and `age = 60`. Other queries keep their own cost, in money.",
    )
    prices: PricesRequest | None = Field(
        None, description="Worth of minutes and harm in the tests' prices. By default only money counts."
    )


class OrderDocument(BaseModel):
    """A test to order."""

    test: str
    cost: float
    minutes: float
    harm: float
    price: float = Field(description="Cost, minutes and harm at the session's prices.")


class NextQueryDocument(BaseModel):
    """The next question."""

    name: str
    gain: float = Field(description="Expected information of the answer, in bits.")
    order: OrderDocument | None = Field(
        None,
        description="Test to order for the answer. Null if an ordered test reveals it, if no test does, or without a "
        "catalogue.",
    )
    test: str | None = Field(
        None, description="Test that reveals the answer, ordered now or before. Null if no test does."
    )


class SpentDocument(BaseModel):
    """The tests that the answers took, and their totals."""

    tests: list[str]
    cost: float
    minutes: float
    harm: float
    price: float


class BatchDocument(BaseModel):
    """Questions to ask together, before any of them is answered."""

    queries: list[NextQueryDocument] = Field(
        description="Queries, the session's next one first. Each gain is in addition to those before it."
    )
    gain: float = Field(description="Expected information of all answers together, in bits.")


class ObjectCandidate(BaseModel):
    """An object that is still possible."""

    object: str
    probability: float


class GroupCandidate(BaseModel):
    """A group that is still possible."""

    group: str
    probability: float


class AnswerDocument(BaseModel):
    """A given answer."""

    number: int = Field(description="Number of the answer, from 1. Only the last answer can be undone.")
    query: str
    answer: bool | None
    volunteered: bool
    test: str | None = Field(None, description="Test that gave the answer, if it was ordered or named.")


class NearestDocument(BaseModel):
    """An object that contradicts few of the answers."""

    object: str
    disagrees: list[int] = Field(description="Numbers of the answers that contradict the object.")


class ContradictionDocument(BaseModel):
    """Answers that no object could have given."""

    conflicting: list[int] = Field(description="Numbers of answers of which at least one must be wrong.")
    nearest: list[NearestDocument]


class ResultDocument(BaseModel):
    """The result of a session."""

    status: Literal["identified", "ambiguous", "contradictory"]
    object: str | None = Field(description="Identified object, if the session identifies objects.")
    group: str | None = Field(description="Identified group, if the session identifies groups.")
    probability: float | None
    objects: list[str] = Field(description="Objects that agree with the answers, at most the first 1,000.")


class SessionSummary(BaseModel):
    """A session in a list."""

    id: str
    model_id: str
    certainty: float
    status: Status
    done: bool
    answers: list[AnswerDocument]
    catalogue_id: str | None = Field(description="Catalogue of the tests that the session orders.")
    prices: PricesDocument | None
    created_at: datetime
    changed_at: datetime


class SessionDocument(SessionSummary):
    """The state of a session."""

    next_query: NextQueryDocument | None = Field(description="Null once the session is done.")
    remaining: list[ObjectCandidate] | list[GroupCandidate] = Field(
        description="Remaining candidates, the most probable first."
    )
    n_remaining: int = Field(description="Number of remaining candidates, listed or not.")
    result: ResultDocument | None = Field(description="Null until the session is done.")
    contradiction: ContradictionDocument | None
    spent: SpentDocument | None = Field(description="Null without a catalogue.")
