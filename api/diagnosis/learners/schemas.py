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


MAX_SECONDS = 60.0
"""Longest expected time to learn the cases of one request; it grows with findings asked for times findings left."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class FindingDocument(_Strict):
    """A finding that can be asked for."""

    name: Name
    thresholds: list[FiniteFloat] = Field(
        [0.5], min_length=1, description="Candidate thresholds, ascending. Omit them for a finding that is 0 or 1."
    )


class LearnerRequest(_Strict):
    """Findings and labels whose P(finding | label) is learnt."""

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
    """A patient with a known label."""

    # Any text is taken: a text that is no name is no finding either, and checking millions of names is slow.
    values: dict[str, FiniteFloat | None] = Field(
        description="Measured findings by name. Null or omitted if there is no value."
    )
    label: Name


class CasesRequest(_Strict):
    """Labelled cases to learn from, in order."""

    cases: list[CaseRequest] = Field(
        min_length=1,
        max_length=MAX_CASES,
        description="Cases in order. Fewer are taken of a learner with many findings, unless `most` is small.",
    )
    certainty: Annotated[float, Field(gt=0, le=1)] = Field(
        1.0, description="Probability of a label, in (0, 1], at which no further findings of a case are asked for."
    )
    most: Annotated[int, Field(ge=1)] | None = Field(None, description="Maximum number of findings asked for per case.")


class StudiedDocument(BaseModel):
    """A case as it was questioned, before its label was revealed."""

    asked: list[str] = Field(description="Findings in the order in which they were asked for.")
    predicted: str
    certainty: float
    correct: bool


class CasesDocument(BaseModel):
    """The result for each case."""

    items: list[StudiedDocument]
    accuracy: float = Field(description="Share of cases whose label was predicted correctly before it was revealed.")
    mean_asked: float
    n_cases: int = Field(description="Number of cases that the learner has seen, including these.")


class LearnerDocument(BaseModel):
    """A learner and what it has learnt."""

    id: str
    name: str
    findings: list[FindingDocument]
    labels: list[str]
    counts: list[int] = Field(description="Number of cases of each label, in the order of `labels`.")
    preferred: dict[str, float] = Field(description="Most informative threshold of each finding so far.")
    n_cases: int
    seed: int
    created_at: datetime
    changed_at: datetime


class LearntModelRequest(ModelChoices):
    """A diagnosis model from a learner. Each label is an object; each finding at its preferred threshold is a query."""
