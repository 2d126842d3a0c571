"""Documents of models and their predictions."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, WithJsonSchema

from api.catalogues.schemas import TestsOfCatalogue
from api.cohorts.schemas import FeatureDocument, OutcomeDocument
from api.collecting import FaultCollector
from api.searches.event_schemas import DCalibrationDocument, HorizonDocument, OverallDocument
from api.searches.schemas import (
    CalibrationCurveDocument,
    IntervalDocument,
    RiskDistributionDocument,
    SubgroupDocument,
)
from api.searches.score_schemas import (
    CalibrationDocument,
    NetBenefitDocument,
    OperatingDocument,
    PerformanceDocument,
    ScoreDocument,
)
from autoprog.performance import THRESHOLDS
from autoprog.search.settings import Text, Thresholds

MAX_PATIENTS = 10_000
"""Largest number of patients in one request for predictions."""

MAX_EXPLAINED = 100
"""Largest number of patients in one request that asks for contributions."""

Status = Literal["draft", "approved", "retired"]


class ModelDocument(BaseModel):
    """A fitted model."""

    id: str
    search_id: str | None = Field(description="Null once the search is deleted.")
    cohort_id: str | None = Field(description="Null once the cohort is deleted.")
    version: int
    parent_id: str | None
    features: list[FeatureDocument]
    outcome: OutcomeDocument
    horizons: list[float] = Field(
        description="Times at which risks are predicted, ascending. Empty for a binary outcome."
    )
    sha256: str
    status: Status = Field(
        description="A new model is a draft. A retired one does not predict, and a draft only where the owner's "
        "`/v1/prediction-policy` lets it."
    )
    patients_erased: int = Field(
        0, description="Number of patients whom it was fitted on, or updated to, and who were erased since."
    )
    created_at: datetime


def _refuse_nul(text: str) -> str:
    if "\0" in text:  # PostgreSQL takes no text with it
        raise ValueError("holds NUL, which no text has")
    return text


class StatusChangeRequest(BaseModel):
    """The status that a model shall have."""

    model_config = ConfigDict(extra="forbid")

    status: Status
    note: Annotated[Text, AfterValidator(_refuse_nul)] | None = Field(None, description="Why, for those who ask later.")
    replaces: str | None = Field(
        None, description="Another model, retired in the same step. To roll back, approve the former version like this."
    )


class StatusChangeDocument(BaseModel):
    """A change of a model's status."""

    id: str
    model_id: str
    status: Status
    note: str | None
    key_id: str | None = Field(description="Key of the caller. Null on a local server without keys.")
    created_at: datetime


class PredictionPolicy(BaseModel):
    """Rule of an owner about drafts that predict."""

    model_config = ConfigDict(extra="forbid")

    approved_only: bool = Field(
        description="Whether drafts refuse to predict, except for keys with the scope `approve`."
    )


_PATIENTS = {
    "type": "array",
    "items": {"type": "object", "additionalProperties": True},
    "minItems": 1,
    "maxItems": MAX_PATIENTS,
}


class PredictionRequest(FaultCollector):
    """Patients whose risk is predicted."""

    # The model checks all cells at once; a stricter type here would report only its own faults.
    patients: Annotated[Any, WithJsonSchema(_PATIENTS)] = Field(
        description="Every feature of the model by name: a number, text, a boolean, or null if unknown.",
        examples=[[{"age": 63, "sex": "1", "chol": None}]],
    )
    explain: bool = Field(
        default=False, description=f"Whether to add `contributions`; then at most {MAX_EXPLAINED} patients."
    )


class HorizonPrediction(BaseModel):
    """The risk of one patient until a horizon."""

    horizon: float
    risk: float
    interval: tuple[float, float] | None = Field(description="Interval around the risk. Null if the model has none.")
    stratum: str
    causes: dict[str, float] = Field(
        description="Risk of each cause, by its value in the file. The risks sum to at most 1."
    )


class WideningValueDocument(BaseModel):
    """The missing value that widens an interval most."""

    feature: str
    variance_share: float = Field(
        description="Share of the variance of the log odds that knowing the value would remove, in [0, 1]."
    )


class HorizonContributionDocument(BaseModel):
    """The contribution of a finding to the risk until a horizon."""

    horizon: float
    risk: float
    causes: dict[str, float] = Field(description="Difference of each cause's risk, by its value in the file.")


class ContributionDocument(BaseModel):
    """The contribution of a finding: the risk given all known findings minus the risk given all others.

    Without the finding, the risk is averaged over its distribution given the others. Contributions do not add up to the
    risk, and they are no effects of treatments.
    """

    feature: str
    risk: float | None = Field(description="Difference of the risk, in [-1, 1]. Null if there are several horizons.")
    horizons: list[HorizonContributionDocument] = Field(
        description="Differences by horizon, ascending. Empty for outcomes without event times."
    )


class PatientPrediction(BaseModel):
    """The prediction for one patient."""

    risk: float | None = Field(
        description="Risk of the outcome, in [0, 1]. Null, like `interval` and `stratum`, if there are several "
        "horizons."
    )
    horizons: list[HorizonPrediction] = Field(
        description="Predictions by horizon, ascending. Empty for outcomes without event times."
    )
    interval: tuple[float, float] | None = Field(
        description="Lower and upper end of the interval around the risk. Null if the model has none. For a patient "
        "with missing values the interval covers their possible values."
    )
    widened_most_by: WideningValueDocument | None = Field(
        description="Missing value that widens the interval at the last horizon most. Null if nothing is missing or "
        "the model has no intervals."
    )
    stratum: str | None
    rules: list[int] = Field(description="Indices of the matching rules in the search's list.")
    warnings: list[str] = Field(description="Unusual values of this patient.")
    contributions: list[ContributionDocument] | None = Field(
        None, description="Contributions of the known findings, the largest first. Null unless `explain` is true."
    )


class PredictionDocument(BaseModel):
    """Predictions, in the order of the patients."""

    items: list[PatientPrediction]
    interval: IntervalDocument
    model_id: str
    model_sha256: str | None = Field(
        None, description="Digest of the model's file. The same file and patients give the same numbers, bit for bit."
    )


class _OnCohort(BaseModel):
    """A request that applies a model to a cohort of the same owner."""

    model_config = ConfigDict(extra="forbid")

    cohort_id: Annotated[str, Field(max_length=64)]


class RecalibrationRequest(_OnCohort):
    """A cohort with known outcomes to which a model is updated."""

    # Spelt out, because `autoprog.model` would load the learning libraries into a process that only serves.
    method: Literal["intercept", "intercept_and_slope"] = Field(
        "intercept_and_slope",
        description="Whether to match the event rate alone, for which few patients suffice, or the spread of the "
        "risks too.",
    )


class ValidationRequest(_OnCohort):
    """A cohort with known outcomes on which a model is validated."""

    thresholds: Thresholds = Field(
        THRESHOLDS, description="Range of thresholds over which the net benefit is averaged."
    )
    subgroups: list[Text] | None = Field(
        None, description="Features that define subgroups. The default is sex and age."
    )
    seed: Annotated[int, Field(ge=0, lt=2**32)] = Field(0, description="Seed of the bootstrap.")


class ComparisonRequest(_OnCohort):
    """Another model, and a cohort with known outcomes on which both are measured."""

    other_model_id: Text
    thresholds: Thresholds = Field(
        THRESHOLDS, description="Range of thresholds over which the net benefit is averaged."
    )
    seed: Annotated[int, Field(ge=0, lt=2**32)] = Field(0, description="Seed of the bootstrap.")


class NextTestsRequest(TestsOfCatalogue):
    """A patient with some known findings, and the catalogue whose tests may be done."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"patient": {"age": 63, "sex": 1}, "catalogue_id": "0123"}]},
    )

    patient: Annotated[Any, WithJsonSchema(_PATIENTS["items"])] = Field(
        description="Known findings by name. Omitted or null findings are unknown."
    )


class NextTestDocument(BaseModel):
    """Expected effect of a test on the risk."""

    test: str
    reveals: list[str] = Field(description="Unknown findings that the test reveals.")
    price: float = Field(description="Cost with what minutes and harm are worth. 0 without a catalogue.")
    expected_change: float = Field(description="Expected absolute change of the risk, in [0, 1].")
    change_per_price: float | Literal["inf"]
    lower: float = Field(description="10th percentile of the risk after the test. `upper` is the 90th.")
    upper: float


class NextTestsDocument(BaseModel):
    """Tests that were not done, or only in part, the largest change per price first."""

    model_id: str
    risk: float = Field(description="Risk now, at the model's last horizon.")
    items: list[NextTestDocument]
    n_left_out: int = Field(
        description="Number of further tests that were not computed: those whose findings widen the interval least."
    )


class MeasuredDocument(BaseModel):
    """A measure with its 95 % interval."""

    estimate: float | None
    lower: float | None
    upper: float | None


class HorizonComparison(BaseModel):
    """Measures of both models until a horizon, and their differences."""

    horizon: float | None = Field(description="Null if the outcome has no time.")
    model: dict[str, MeasuredDocument]
    other: dict[str, MeasuredDocument]
    difference: dict[str, MeasuredDocument] = Field(
        description="The model's measure less the other's, in the measure's own direction, with a paired interval."
    )


class ComparisonDocument(BaseModel):
    """Two models on the same patients. Nothing is stored."""

    model_id: str
    other_model_id: str
    cohort_id: str
    n_patients: int
    n_rows: int
    n_events: int
    warnings: list[str]
    horizons: list[HorizonComparison] = Field(description="Horizons that both models have, ascending.")


class FeatureShiftDocument(BaseModel):
    """The distribution of a feature in the training patients and in these patients."""

    feature: str
    training_range: tuple[float, float] | None = Field(
        description="Smallest and largest training value. Null, like `range`, for features that are not numeric."
    )
    range: tuple[float, float] | None
    outside: float = Field(description="Share of the observed values outside the training range.")
    training_missing: float = Field(description="Share of training patients without a value.")
    missing: float


class ValidationDocument(BaseModel):
    """Performance of a model in another cohort."""

    id: str
    model_id: str
    cohort_id: str | None = Field(description="Null once the cohort is deleted.")
    created_at: datetime
    n_patients: int
    n_rows: int | None = Field(
        None, description="Number of visits, for a model of visits. Null in validations from before this field existed."
    )
    n_events: int = Field(description="Number of observed events; for event times, until the last horizon.")
    expected_events: float = Field(
        description="Sum of the risks; for event times, until the last horizon. Whoever is censored before has a risk "
        "but no event, so compare the incidences in `horizons`, not this with `n_events`."
    )
    scores: dict[str, ScoreDocument] = Field(description="Score by metric, in the metric's own direction.")
    performance: PerformanceDocument | None = Field(
        None, description="Null, like the next three, for event times, which have `overall` and `horizons` instead."
    )
    net_benefit: NetBenefitDocument | None = None
    calibration_curve: CalibrationCurveDocument | None = Field(
        None,
        description="Null also if the risks separate the outcomes, and in validations from before this field existed.",
    )
    risk_distribution: RiskDistributionDocument | None = None
    operating: OperatingDocument | None = Field(
        None, description="Null for event times, and in validations from before this field existed."
    )
    calibration: CalibrationDocument
    overall: OverallDocument | None = Field(None, description="Null for outcomes without event times.")
    d_calibration: DCalibrationDocument | None = Field(
        None, description="Null for outcomes without event times, with competing causes, and with groups or visits."
    )
    horizons: list[HorizonDocument] = Field(
        [], description="Performance by horizon, ascending. Empty for outcomes without event times."
    )
    subgroups: list[SubgroupDocument]
    features: list[FeatureShiftDocument]
    warnings: list[str] = Field(
        description="Differences between these patients and those that the model was fitted on. If these are the same "
        "patients, the first warning says so."
    )
    training_share: float | None = Field(
        None,
        description="Share of the rows whose findings and outcome are all those of a training row. Null if the "
        "training cohort is deleted, and in validations from before this field existed.",
    )
    is_training_cohort: bool | None = Field(
        None,
        description="Whether the model was fitted on these patients, so that the results are too good. Null in "
        "validations from before this field existed.",
    )
