"""Documents of cohorts."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, model_validator

from autoprog.cohort import FeatureKind, Mode, Verdict
from autoprog.metalearning import ClinicalGroup

_FROM_ATTRIBUTES = ConfigDict(from_attributes=True)


class FeatureDocument(BaseModel):
    """A feature that models learn from."""

    model_config = _FROM_ATTRIBUTES

    name: str
    kind: FeatureKind
    unit: str | None
    label: str | None = Field(None, description="What tables and figures call it. Null for its name.")
    meta_group: str | None
    levels: list[str] = Field(description="Values of a feature that is not numeric, in the order of their codes.")
    missing_fraction: float
    minimum: float | None
    maximum: float | None


class BinaryOutcomeDocument(BaseModel):
    """A binary outcome."""

    column: str
    positive: str = Field(description="Value of patients who have the outcome.")
    negative: str
    label: str | None = Field(None, description="What tables and figures call the outcome.")


class _EventDocument(BaseModel):
    time: str
    event: str
    event_of_interest: str = Field(description="Value of `event` that is predicted.")
    competing: list[str] = Field(description="Values of `event` after which the event of interest cannot occur.")
    censored: str
    label: str | None = Field(None, description="What tables and figures call the event of interest.")
    time_unit: str | None = Field(None, description="Unit of the times.")


class TimeToEventDocument(_EventDocument):
    """An event that patients are followed up for."""

    horizons: list[float] = Field(description="Times at which risks are predicted, ascending.")


class _VisitsDocument(BaseModel):
    patient: str
    visit_time: str
    horizon: float = Field(description="Time from a visit up to which the outcome is predicted.")
    time_unit: str | None = Field(None, description="Unit of the times.")

    @model_validator(mode="before")
    @classmethod
    def _flat(cls, outcome: object) -> object:
        """Flatten the library's two levels into the document's one."""
        if isinstance(outcome, dict) and isinstance(outcome.get("of"), dict):
            return {**outcome["of"], **outcome}
        return outcome


class VisitLabelDocument(_VisitsDocument, BinaryOutcomeDocument):
    """A label for each visit of a patient."""


class VisitEventDocument(_VisitsDocument, _EventDocument):
    """An event that may follow each visit of a patient."""


OutcomeDocument: TypeAlias = BinaryOutcomeDocument | TimeToEventDocument | VisitLabelDocument | VisitEventDocument
"""What is predicted."""


class FollowUpDocument(BaseModel):
    """Length of follow-up. Each patient counts once, from the first visit."""

    model_config = _FROM_ATTRIBUTES

    events: dict[str, int] = Field(
        description="Number of patients with each value of the event column, the event of interest first."
    )
    n_censored: int
    person_time: float
    median: float | None = Field(
        description="Median follow-up by the reverse Kaplan-Meier estimate. Null if it is not reached."
    )


class SampleSizeDocument(BaseModel):
    """Whether the cohort is large enough for a model of all features."""

    model_config = _FROM_ATTRIBUTES

    n_parameters: int | None = Field(
        None,
        description="Columns of the design matrix; for visits, of their windows. Null, like `flexible_minimum` and "
        "`validation_minimum`, in cohorts that were read before this field existed.",
    )
    riley_minimum: int = Field(
        description="Minimum number of patients for a regression (Riley et al. 2020, BMJ 368:m441; for event times "
        "Riley et al. 2019, Stat Med 38:1276)."
    )
    flexible_minimum: int | None = Field(
        None,
        description="Number of patients below which forests, boosting and networks are unstable; they may need more "
        "(van der Ploeg et al. 2014, BMC Med Res Methodol 14:137).",
    )
    validation_minimum: int | None = Field(
        None,
        description="Minimum number of patients from another place or time for a validation (Riley et al. 2024, BMJ "
        "384:e074821).",
    )
    events_per_predictor: float = Field(
        description="Patients with the rarer outcome, for event times with the event, per column of the design matrix. "
        "In cohorts that an earlier version read, it may count those with the outcome; reports count anew."
    )
    verdict: Verdict


class CohortBody(BaseModel):
    """The content of a cohort's file."""

    name: str
    mode: Mode
    n_patients: int = Field(
        description="Number of patients with a known outcome; with `weights`, the sum of their weights."
    )
    n_sampled: int | None = Field(
        None, description="With `weights`, the number of patients with a known outcome, each counted once; else null."
    )
    n_rows: int = Field(description="Number of rows in the file. In mode `temporal` a row is a visit.")
    n_dropped: int = Field(description="Number of rows without an outcome.")
    features: list[FeatureDocument]
    outcome: OutcomeDocument
    event_rate: float = Field(description="Share of the rows kept that end with the event of interest.")
    follow_up: FollowUpDocument | None = Field(None, description="Null for outcomes without event times.")
    sha256: str = Field(description="SHA-256 digest of the stored cohort.")
    sample_size: SampleSizeDocument
    has_identifiers: bool = Field(
        default=False, description="Whether a patient can be erased by `POST /v1/patient-erasures`."
    )
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
    """A feature and its clinical group."""

    name: str
    meta_group: ClinicalGroup | None = Field(description="Clinical group of the feature. Null if it is unknown.")
    evidence: Literal["meta_group", "name", "code", "values", "unit"] | None = Field(
        description="Source of the group. `meta_group` is the cohort's spec."
    )


class MetaFeaturesDocument(BaseModel):
    """The meta-features of a cohort, which are used to find similar cohorts. docs/methods.md describes each."""

    items: list[MetaFeatureDocument] = Field(description="40 statistical meta-features, then 15 clinical ones.")
    features: list[FeatureGroupDocument] = Field(
        description="Features in the cohort's order. `meta_group` in the spec overrides the inferred group."
    )
    warnings: list[str]


class ExpectationDocument(BaseModel):
    """Expected result of the algorithm that would be picked."""

    model_config = _FROM_ATTRIBUTES

    algorithm: str
    gain: float = Field(
        description="Expected gain over the simple model, in units of the metric. More is better for every metric."
    )
    lower: float
    upper: float
    probability: float = Field(description="Probability that the gain is above 0.")


class NearCohortDocument(BaseModel):
    """An earlier cohort behind an outlook."""

    cohort_id: str | None = Field(description="Null for a cohort shared by another owner and for an open cohort.")
    open_cohort: str | None = Field(description="Name of an open cohort that is shipped with the server.")
    distance: float = Field(description="Distance of the meta-features, at least 0. 0 means that they are the same.")
    weight: float
    gain: float | None = Field(
        description="Gain, on this cohort, of the algorithm that the other cohorts would have picked."
    )


class OutlookDocument(BaseModel):
    """Expected gain of machine learning over the simple model, estimated from earlier cohorts before training."""

    metric: str
    level: float = Field(description="Level of the interval.")
    expectation: ExpectationDocument | None = Field(description="Null if fewer than five cohorts are similar.")
    n_similar: int
    n_comparable: int = Field(description="Number of earlier cohorts of the same mode and metric.")
    nearest: list[NearCohortDocument]
