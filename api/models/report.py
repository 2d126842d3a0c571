"""The report of an external validation: the other patients beside the development."""

from __future__ import annotations

from sqlalchemy.orm import Session

from api.cohorts.service import cohort_document
from api.dependencies import Context
from api.models.service import validation_document
from api.searches.report import report_with
from autoprog.errors import ConflictError
from autoprog.report.document import Report
from autoprog.storage.repositories import CohortRepository, ModelRepository, ValidationRepository


def validation_report(context: Context, session: Session, owner_id: str, model_id: str, validation_id: str) -> Report:
    """Build the report of a validation; raises NotFoundError, and ConflictError if the model's search was deleted."""
    row = ValidationRepository(session).of(owner_id, model_id, validation_id)
    model = ModelRepository(session).get(owner_id, model_id)
    if model.search_id is None:
        raise ConflictError("the report needs the search that made the model, which was deleted")
    other = None
    if row.cohort_id is not None:
        found = CohortRepository(session).get(owner_id, row.cohort_id)
        other = cohort_document(found).model_dump(mode="json")
    document = validation_document(row).model_dump(mode="json")
    return report_with(context, session, owner_id, model.search_id, validation=document, validation_cohort=other)
