"""Models and their predictions as the API shows them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from api.cohorts.schemas import FeatureDocument, OutcomeDocument

MAX_PATIENTS = 10_000
"""Most patients of one request for predictions."""


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


class PredictionRequest(BaseModel):
    """Patients to predict for."""

    model_config = ConfigDict(extra="forbid")

    # Cells are checked against the model's features, all at once; a closed type here would stop at its own faults.
    patients: Annotated[
        list[dict[str, Any]],
        Field(
            min_length=1,
            max_length=MAX_PATIENTS,
            description="every feature of the model by name: number, text, boolean, or null when it is not known",
            examples=[[{"age": 63, "sex": "1", "chol": None}]],
        ),
    ]


class PatientPrediction(BaseModel):
    """What the model says of one patient."""

    risk: float | None
    horizons: list[dict[str, Any]] = Field(description="empty for a binary outcome")
    interval: tuple[float, float] | None
    stratum: str | None
    rules: list[int] = Field(description="places of the matching rules in the search's list")
    warnings: list[str] = Field(description="what is unusual in this patient")


class PredictionDocument(BaseModel):
    """Predictions in the order of the patients."""

    items: list[PatientPrediction]
    interval: dict[str, Any] | None = Field(description="null where the model gives no intervals")
    model_id: str
