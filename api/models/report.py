"""The report of a validation: its patients beside the development."""

from __future__ import annotations

from sqlalchemy.orm import Session

from api.cohorts.service import cohort_document
from api.dependencies import Context
from api.models.service import validation_document
from api.searches.report import report_with
from autoprog.errors import ConflictError
from autoprog.report.document import Report
from autoprog.report.run import Document
from autoprog.storage.repositories import CohortRepository, ModelRepository, ValidationRepository
from autoprog.storage.tables import ModelRow


def validation_report(context: Context, session: Session, owner_id: str, model_id: str, validation_id: str) -> Report:
    """Build a validation's report; raises NotFoundError, ArtifactError, and ConflictError if the search was deleted."""
    row = ValidationRepository(session).of(owner_id, model_id, validation_id)
    model = ModelRepository(session).get(owner_id, model_id)
    if model.search_id is None:
        raise ConflictError("the report needs the search that made the model, which was deleted")
    other = None
    if row.cohort_id is not None:
        found = CohortRepository(session).get(owner_id, row.cohort_id)
        other = cohort_document(found).model_dump(mode="json")
    document = validation_document(row).model_dump(mode="json")
    updated = _updated(context, session, model) if model.version > 1 else None
    return report_with(
        context, session, owner_id, model.search_id, validation=document, validation_cohort=other, updated=updated
    )


def _updated(context: Context, session: Session, model: ModelRow) -> Document:
    """Describe a later version of the model for the report: the search's documents describe the first."""
    cohort = None
    if model.cohort_id is not None:
        cohort = CohortRepository(session).get(model.owner_id, model.cohort_id).name
    return {
        "id": model.id,
        "version": model.version,
        "created_at": model.created_at.isoformat(),
        "cohort": cohort,
        "recalibration": context.load_model(model.sha256).recalibration.to_json(),
    }
