"""Documents of cohorts."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, model_validator

from autoprog.cohort import FeatureKind, Mode, Verdict
from autoprog.metalearning import ClinicalGroup

_FROM_ATTRIBUTES = ConfigDict(from_attributes=True)


class FeatureDocument(BaseModel):
    """A column that models learn from."""

    model_config = _FROM_ATTRIBUTES

    name: str
    kind: FeatureKind
    unit: str | None
    meta_group: str | None
    levels: list[str] = Field(description="the values of a feature that is not numeric, in the order of their codes")
    missing_fraction: float
    minimum: float | None
    maximum: float | None


class BinaryOutcomeDocument(BaseModel):
    """An outcome that a patient has or does not have."""

    column: str
    positive: str = Field(description="the value of a patient who has the outcome")
    negative: str


class _EventDocument(BaseModel):
    time: str
    event: str
    event_of_interest: str = Field(description="the value of `event` that is predicted")
    competing: list[str] = Field(description="the values of `event` after which it cannot come")
    censored: str


class TimeToEventDocument(_EventDocument):
    """An event that patients are followed up for."""

    horizons: list[float] = Field(description="times at which risks are asked for, ascending")


class _VisitsDocument(BaseModel):
    patient: str
    visit_time: str
    horizon: float = Field(description="how far ahead of a visit is looked")

    @model_validator(mode="before")
    @classmethod
    def _flat(cls, outcome: object) -> object:
        """Flatten the library's two levels into the document's one."""
        if isinstance(outcome, dict) and isinstance(outcome.get("of"), dict):
            return {**outcome["of"], **outcome}
        return outcome


class VisitLabelDocument(_VisitsDocument, BinaryOutcomeDocument):
    """A label that each visit of a patient has."""


class VisitEventDocument(_VisitsDocument, _EventDocument):
    """An event that may follow each visit of a patient."""


OutcomeDocument: TypeAlias = BinaryOutcomeDocument | TimeToEventDocument | VisitLabelDocument | VisitEventDocument
"""What is predicted."""


class FollowUpDocument(BaseModel):
    """How long patients were followed; each patient counts once, from the first visit."""

    model_config = _FROM_ATTRIBUTES

    events: dict[str, int] = Field(description="value of the event's column: patients with it, that of interest first")
    n_censored: int
    person_time: float
    median: float | None = Field(description="by the reverse Kaplan-Meier estimate; null where it is not reached")


class SampleSizeDocument(BaseModel):
    """Whether there are enough patients for a model of all features."""

    model_config = _FROM_ATTRIBUTES

    n_parameters: int | None = Field(
        None,
        description="columns of the design matrix, of visits those of their windows; null, as the next minima are, for "
        "cohorts that were read before it was told",
    )
    riley_minimum: int = Field(description="patients that a regression needs (Riley et al. 2020, BMJ 368:m441)")
    flexible_minimum: int | None = Field(
        None,
        description="patients below which forests, boosting and networks are bound to be unstable, which may need more "
        "(van der Ploeg et al. 2014, BMC Med Res Methodol 14:137)",
    )
    validation_minimum: int | None = Field(
        None,
        description="patients of another place or time that a validation needs (Riley et al. 2024, BMJ 384:e074821)",
    )
    events_per_predictor: float
    verdict: Verdict


class CohortBody(BaseModel):
    """What was read from a cohort's file."""

    name: str
    mode: Mode
    n_patients: int = Field(description="patients with a known outcome")
    n_rows: int = Field(description="rows of the file; in mode `temporal` a row is a visit")
    n_dropped: int = Field(description="rows without an outcome")
    features: list[FeatureDocument]
    outcome: OutcomeDocument
    event_rate: float = Field(description="share of the rows kept that end with the event of interest")
    follow_up: FollowUpDocument | None = Field(None, description="null for an outcome without a time")
    sha256: str = Field(description="digest of the stored cohort")
    sample_size: SampleSizeDocument
    warnings: list[str]


class CohortDocument(CohortBody):
    """A cohort."""

    id: str
    created_at: datetime


class MetaFeatureDocument(BaseModel):
    """A meta-feature of a cohort."""

    name: str
    group: Literal["statistical", "clinical"]
    value: float


class FeatureGroupDocument(BaseModel):
    """The clinical group that a feature is counted in."""

    name: str
    meta_group: ClinicalGroup | None = Field(description="null where nothing tells")
    evidence: Literal["meta_group", "name", "code", "values", "unit"] | None = Field(
        description="what told it; `meta_group` is what the cohort's spec says"
    )


class MetaFeaturesDocument(BaseModel):
    """The meta-features of a cohort, by which similar cohorts are found; docs/methods.md describes each."""

    items: list[MetaFeatureDocument] = Field(description="40 statistical ones, then 15 clinical ones")
    features: list[FeatureGroupDocument] = Field(description="in the order of the cohort's; meta_group overrides")
    warnings: list[str]


class ExpectationDocument(BaseModel):
    """What to expect of the algorithm that would be picked."""

    model_config = _FROM_ATTRIBUTES

    algorithm: str
    gain: float = Field(description="over the simple model, in units of the metric; more is better in every metric")
    lower: float
    upper: float
    probability: float = Field(description="that the gain is above 0")


class NearCohortDocument(BaseModel):
    """An earlier cohort that an outlook is based on."""

    cohort_id: str | None = Field(description="null for a cohort that another owner shares, and for an open one")
    open_cohort: str | None = Field(description="name of an open cohort that the server came with")
    distance: float = Field(description="of the meta-features; 0 where they are the same")
    weight: float
    gain: float | None = Field(description="of the algorithm that the others would have picked for it")


class OutlookDocument(BaseModel):
    """Expected gain of machine learning over the simple model, estimated from earlier cohorts before training."""

    metric: str
    level: float = Field(description="of the interval")
    expectation: ExpectationDocument | None = Field(description="null where fewer than five cohorts are similar")
    n_similar: int
    n_comparable: int = Field(description="earlier cohorts of the same mode and metric")
    nearest: list[NearCohortDocument]
