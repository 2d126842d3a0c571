"""The report of a stored search."""

from __future__ import annotations

from sqlalchemy.orm import Session

from api.searches.service import evaluation_document, load_result
from autoprog.storage.repositories import CohortRepository, EvaluationRepository, SearchRepository

_SHOWN = 20


def search_report(session: Session, owner_id: str, search_id: str) -> str:
    """Render the report of a search as one self-contained HTML page; raises NotFoundError and ConflictError."""
    from autoprog.search.report import render_report  # noqa: PLC0415 - the only place that needs the template engine

    search = SearchRepository(session).get(owner_id, search_id)
    ensemble, rules = load_result(search, "ensemble"), load_result(search, "rules")
    best = EvaluationRepository(session).page(owner_id, search_id, sort="score", limit=_SHOWN)
    return render_report(
        cohort=CohortRepository(session).get(owner_id, search.cohort_id).document,
        settings=search.settings,
        warnings=search.warnings,
        leaderboard=[evaluation_document(row).model_dump(mode="json") for row in best.items],
        ensemble=ensemble,
        rules=rules,
    )
