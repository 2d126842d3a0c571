"""Documents of learners."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

from api.diagnosis.models.schemas import ModelChoices
from api.diagnosis.names import Name

MAX_CASES = 10_000
"""Largest number of cases in one request."""

MAX_PARAMETERS = 200_000
"""Largest number of pairs of a label and a candidate threshold in one learner."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class FindingDocument(_Strict):
    """Something that can be asked for."""

    name: Name
    thresholds: list[FiniteFloat] = Field(
        [0.5], min_length=1, description="where it may be cut, ascending; left out for a finding that is 0 or 1"
    )


class LearnerRequest(_Strict):
    """What is to be learnt: P(finding | label)."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "name": "jaundice",
                    "findings": [{"name": "pain"}, {"name": "bilirubin", "thresholds": [2, 5, 10]}],
                    "labels": ["hepatitis", "gallstone"],
                }
            ]
        },
    )

    name: Name
    findings: list[FindingDocument] = Field(min_length=1, max_length=100_000)
    labels: list[Name] = Field(min_length=1, max_length=100_000)
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0


class CaseRequest(_Strict):
    """A patient whose label is known."""

    # Any text is taken: a text that is no name is no finding either, and checking millions of names is slow.
    values: dict[str, FiniteFloat | None] = Field(
        description="findings by name, as they were measured; null or left out where there is none"
    )
    label: Name


class CasesRequest(_Strict):
    """Labelled cases, learnt from one after another."""

    cases: list[CaseRequest] = Field(min_length=1, max_length=MAX_CASES)
    certainty: Annotated[float, Field(gt=0, le=1)] = Field(
        1.0, description="ask of a case until a label is so probable"
    )
    most: Annotated[int, Field(ge=1)] | None = Field(None, description="findings asked for of a case, at most")


class StudiedDocument(BaseModel):
    """A case, as gone through before its label was revealed."""

    asked: list[str] = Field(description="findings in the order in which they were asked for")
    predicted: str
    certainty: float
    correct: bool


class CasesDocument(BaseModel):
    """The result for each case."""

    items: list[StudiedDocument]
    accuracy: float = Field(description="share of cases whose label was predicted before it was told")
    mean_asked: float
    n_cases: int = Field(description="that the learner has seen by now")


class LearnerDocument(BaseModel):
    """What labelled cases have taught."""

    id: str
    name: str
    findings: list[FindingDocument]
    labels: list[str]
    counts: list[int] = Field(description="cases of each label so far")
    preferred: dict[str, float] = Field(description="the threshold of each finding that has told most so far")
    n_cases: int
    seed: int
    created_at: datetime
    changed_at: datetime


class LearntModelRequest(ModelChoices):
    """A diagnosis model from a learner: each label is an object, each finding at its preferred threshold a query."""
