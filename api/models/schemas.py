"""Documents of models and their predictions."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from api.cohorts.schemas import FeatureDocument, OutcomeDocument
from api.collecting import FaultCollector
from api.searches.event_schemas import DCalibrationDocument, HorizonDocument, OverallDocument
from api.searches.schemas import (
    CalibrationCurveDocument,
    IntervalDocument,
    RiskDistributionDocument,
    SubgroupDocument,
)
from api.searches.score_schemas import CalibrationDocument, NetBenefitDocument, PerformanceDocument, ScoreDocument
from autoprog.evaluation import THRESHOLDS
from autoprog.search.settings import Text, Thresholds

MAX_PATIENTS = 10_000
"""Largest number of patients in one request for predictions."""


class ModelDocument(BaseModel):
    """A fitted model."""

    id: str
    search_id: str | None = Field(description="null once the search is deleted")
    cohort_id: str | None = Field(description="null once the cohort is deleted")
    version: int
    parent_id: str | None
    features: list[FeatureDocument]
    outcome: OutcomeDocument
    horizons: list[float] = Field(description="empty for a binary outcome")
    sha256: str
    created_at: datetime


_PATIENTS = {
    "type": "array",
    "items": {"type": "object", "additionalProperties": True},
    "minItems": 1,
    "maxItems": MAX_PATIENTS,
}


class PredictionRequest(FaultCollector):
    """Patients to predict for."""

    # The model checks all cells at once; a stricter type here would report only its own faults.
    patients: Annotated[Any, WithJsonSchema(_PATIENTS)] = Field(
        description="every feature of the model by name: number, text, boolean, or null when it is not known",
        examples=[[{"age": 63, "sex": "1", "chol": None}]],
    )


class HorizonPrediction(BaseModel):
    """The risk of one patient until a horizon."""

    horizon: float
    risk: float
    interval: tuple[float, float] | None = Field(description="around the risk; null where the model has none")
    stratum: str
    causes: dict[str, float] = Field(description="risk of each cause by its value in the file; they sum to at most 1")


class WideningValueDocument(BaseModel):
    """The missing value that widens an interval more than any other."""

    feature: str
    variance_share: float = Field(description="share of the variance of the log odds that knowing it would take away")


class PatientPrediction(BaseModel):
    """The prediction for one patient."""

    risk: float | None = Field(description="null where there are several horizons, as interval and stratum are")
    horizons: list[HorizonPrediction] = Field(description="ascending; empty for an outcome without a time")
    interval: tuple[float, float] | None = Field(
        description="lower and upper end, around the risk; null where the model has none. Of a patient with missing "
        "values it holds what they may be, and the risk is the mean over that"
    )
    widened_most_by: WideningValueDocument | None = Field(
        description="at the last horizon; null where nothing is missing, or the model has no intervals"
    )
    stratum: str | None
    rules: list[int] = Field(description="places of the matching rules in the search's list")
    warnings: list[str] = Field(description="what is unusual in this patient")


class PredictionDocument(BaseModel):
    """Predictions in the order of the patients."""

    items: list[PatientPrediction]
    interval: IntervalDocument
    model_id: str


class _OnCohort(BaseModel):
    """A request to use a model with a cohort of the same owner."""

    model_config = ConfigDict(extra="forbid")

    cohort_id: Annotated[str, Field(max_length=64)]


class RecalibrationRequest(_OnCohort):
    """The cohort with known outcomes to update a model to."""

    # Spelt out, because `autoprog.model` would load the learning libraries into a process that only serves.
    method: Literal["intercept", "intercept_and_slope"] = Field(
        "intercept_and_slope",
        description="meet the event rate alone, which few patients suffice for, or the spread too",
    )


class ValidationRequest(_OnCohort):
    """The cohort with known outcomes to measure a model on."""

    thresholds: Thresholds = Field(THRESHOLDS, description="range of risks that the net benefit is a mean over")
    subgroups: list[Text] | None = Field(None, description="features to measure by; default: sex and age")
    seed: Annotated[int, Field(ge=0, lt=2**32)] = Field(0, description="of the bootstrap")


class FeatureShiftDocument(BaseModel):
    """A feature in the patients that the model was fitted on, and in these."""

    feature: str
    training_range: tuple[float, float] | None = Field(description="null, as `range` is, of what is no number")
    range: tuple[float, float] | None
    outside: float = Field(description="share of the observed values outside the training range")
    training_missing: float = Field(description="share of patients without a value")
    missing: float


class ValidationDocument(BaseModel):
    """Performance of a model in another cohort."""

    id: str
    model_id: str
    cohort_id: str | None = Field(description="null once the cohort is deleted")
    created_at: datetime
    n_patients: int
    n_rows: int | None = Field(None, description="visits, where the model is of visits; null before it was told")
    n_events: int = Field(description="seen; of event times until the last horizon")
    expected_events: float = Field(description="sum of the risks; of event times until the last horizon")
    scores: dict[str, ScoreDocument] = Field(description="by metric, each in its own direction")
    performance: PerformanceDocument | None = Field(
        None, description="null, as the next three are, for event times, which have `overall` and `horizons`"
    )
    net_benefit: NetBenefitDocument | None = None
    calibration_curve: CalibrationCurveDocument | None = Field(
        None, description="null too where the risks separate the outcomes, and in validations before it was told"
    )
    risk_distribution: RiskDistributionDocument | None = None
    calibration: CalibrationDocument
    overall: OverallDocument | None = Field(None, description="null for an outcome without a time")
    d_calibration: DCalibrationDocument | None = Field(
        None, description="null for an outcome without a time and with competing causes"
    )
    horizons: list[HorizonDocument] = Field([], description="ascending; empty for an outcome without a time")
    subgroups: list[SubgroupDocument]
    features: list[FeatureShiftDocument]
    warnings: list[str] = Field(description="where these patients are unlike those that the model was fitted on")
