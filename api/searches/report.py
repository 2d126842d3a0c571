"""The report of a stored search, and of a validation of its model."""

from __future__ import annotations

from dataclasses import asdict

from sqlalchemy.orm import Session

from api.cohorts.service import cohort_document
from api.dependencies import Context
from api.searches.service import evaluation_document, load_result, search_documents
from autoprog.cohort import describe_by_outcome, from_parquet, sample_size
from autoprog.report.building import build_report
from autoprog.report.document import Report
from autoprog.report.run import Document, ReportedRun
from autoprog.storage.repositories import (
    CohortRepository,
    EvaluationRepository,
    ExplanationRepository,
    SearchRepository,
)

_SHOWN = 20


def search_report(context: Context, session: Session, owner_id: str, search_id: str) -> Report:
    """Build the report of a search; raises NotFoundError, ConflictError without a result, and ArtifactError."""
    return report_with(context, session, owner_id, search_id)


def report_with(
    context: Context,
    session: Session,
    owner_id: str,
    search_id: str,
    *,
    validation: Document | None = None,
    validation_cohort: Document | None = None,
    updated: Document | None = None,
) -> Report:
    """Build the report of a search with a validation of its model, if any; raises as `search_report` does."""
    row = SearchRepository(session).get(owner_id, search_id)
    ensemble, rules = load_result(row, "ensemble"), load_result(row, "rules")
    stored = CohortRepository(session).get(owner_id, row.cohort_id)
    cohort = from_parquet(context.files.get("cohorts", stored.sha256))
    best = EvaluationRepository(session).page(owner_id, search_id, sort="score", limit=_SHOWN)
    (search,) = search_documents(session, [row])
    run = ReportedRun(
        # Earlier versions stored other numbers.
        cohort=cohort_document(stored).model_dump(mode="json") | {"sample_size": asdict(sample_size(cohort))},
        search=search.model_dump(mode="json"),
        ensemble=ensemble,
        rules=rules,
        evaluations=[evaluation_document(item).model_dump(mode="json") for item in best.items],
        validation=validation,
        validation_cohort=validation_cohort,
        updated=updated,
        explanation=ExplanationRepository(session).result(owner_id, search_id),
    )
    return build_report(run, describe_by_outcome(cohort))
