"""Cohorts as the API shows them."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, ConfigDict, Field

from autoprog.cohort import FeatureKind, Mode

_FROM_ATTRIBUTES = ConfigDict(from_attributes=True)


class FeatureDocument(BaseModel):
    """One column that models learn from."""

    model_config = _FROM_ATTRIBUTES

    name: str
    kind: FeatureKind
    unit: str | None
    meta_group: str | None
    levels: list[str] = Field(description="the values of a feature that is not numeric, in the order of their codes")
    missing_fraction: float
    minimum: float | None
    maximum: float | None


class OutcomeDocument(BaseModel):
    """What is predicted."""

    model_config = _FROM_ATTRIBUTES

    column: str
    positive: str = Field(description="the value of a patient who has the outcome")
    negative: str


class SampleSizeDocument(BaseModel):
    """Whether there are enough patients for a model of all features (Riley et al. 2020, BMJ 368:m441)."""

    model_config = _FROM_ATTRIBUTES

    riley_minimum: int
    events_per_predictor: float
    verdict: str


class CohortBody(BaseModel):
    """What was read from a cohort's file."""

    name: str
    mode: Mode
    n_patients: int = Field(description="patients with a known outcome")
    n_rows: int
    n_dropped: int = Field(description="rows without an outcome")
    features: list[FeatureDocument]
    outcome: OutcomeDocument
    event_rate: float
    sha256: str = Field(description="digest of the stored cohort")
    sample_size: SampleSizeDocument
    warnings: list[str]


class CohortDocument(CohortBody):
    """A cohort."""

    id: str
    created_at: datetime
