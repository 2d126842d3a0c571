"""Documents of erasures of patients."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from api.collecting import FaultCollector
from autoprog.search.settings import Text

ModelPolicy = Literal["keep", "delete_with_rows", "delete"]


class PatientErasureRequest(FaultCollector):
    """A patient to erase."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"identifier": "4711", "reference": "request 2026/17"}]})

    identifier: Annotated[str, Field(min_length=1, max_length=1000)] = Field(
        description="The patient's value in the cohorts' columns of identifiers. It is not stored."
    )
    models: ModelPolicy = Field(
        "delete_with_rows",
        description="Which models fitted on the patient are deleted: none, those that keep rows of their patients, or "
        "all. Models that stay count the patient in `patients_erased`.",
    )
    reference: Text | None = Field(None, description="Reference of the request, for the record. Name no patient here.")


class ErasedCohort(BaseModel):
    """A cohort that had the patient."""

    cohort_id: str
    name: str
    n_rows: int = Field(description="Number of the patient's rows.")
    n_patients: int | None = Field(
        description="Number of patients left. Null if too few were left for a cohort, so that it was deleted."
    )
    former_sha256: str
    sha256: str | None = Field(description="SHA-256 digest of the cohort without the patient. Null if it was deleted.")
    file_kept: bool = Field(
        description="Whether the former file stays, as a cohort of another owner, or one without identifiers, has the "
        "same content."
    )


class DerivedDocument(BaseModel):
    """Something that was computed from the patient among others."""

    kind: Literal["search", "model", "diagnosis_model", "test_selection_problem", "validation"]
    id: str
    action: Literal["deleted", "kept"]
    keeps_rows: bool = Field(description="Whether it holds data of single patients of its cohort.")
    reason: str


class PatientErasureBody(BaseModel):
    """What the erasure of a patient removes and leaves."""

    reference: str | None
    models: ModelPolicy
    cohorts: list[ErasedCohort] = Field(description="Cohorts that had the patient. Empty if no cohort had.")
    derived: list[DerivedDocument]
    not_searched: list[str] = Field(
        description=(
            "Cohorts that may hold the patient: without a column of identifiers, or with lost or altered files."
        )
    )


class PatientErasureDocument(PatientErasureBody):
    """The record of an erasure."""

    id: str
    created_at: datetime
