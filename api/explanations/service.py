"""Explanations of ended searches."""

from __future__ import annotations

from dataclasses import asdict

from sqlalchemy.orm import Session

from api.dependencies import Context
from api.explanations.schemas import ExplanationDocument, ExplanationResult
from api.jobs.service import read_error
from api.queue_room import require_room
from api.searches.service import missing_result
from autoprog.cohort import from_parquet
from autoprog.errors import NotFoundError
from autoprog.search import SearchSettings
from autoprog.search.explaining import plan_explanation
from autoprog.storage.files import StoredFile
from autoprog.storage.repositories import CohortRepository, ExplanationRepository, SearchRepository
from autoprog.storage.tables import JobRow, JobStatus


def request_explanation(context: Context, session: Session, owner_id: str, search_id: str) -> ExplanationDocument:
    """Queue an explanation unless there is one; raises NotFound-, Conflict- and QueueFullError."""
    with context.database.session(read_only=True) as reading:
        search = SearchRepository(reading).get(owner_id, search_id)
        if search.ensemble is None:
            raise missing_result(search, "ensemble")
        latest = ExplanationRepository(reading).latest(owner_id, search_id)
        if latest is not None and latest.status != JobStatus.FAILED:
            return explanation_document(latest)
        sha256 = CohortRepository(reading).get(owner_id, search.cohort_id).sha256
        require_room(context, reading, owner_id)
    cohort = from_parquet(context.files.get("cohorts", sha256))
    settings = SearchSettings.model_validate(search.settings)
    parameters = {
        "members": [{name: each[name] for name in ("configuration", "weight")} for each in search.ensemble["members"]],
        "scale": search.ensemble["scale"],
        "plan": asdict(plan_explanation(settings, cohort)),
    }
    job = ExplanationRepository(session).queue(owner_id, search_id, parameters, StoredFile("cohorts", sha256))
    return explanation_document(job)


def read_explanation(session: Session, owner_id: str, search_id: str) -> ExplanationDocument:
    """Return a search's explanation; raises NotFoundError if none was asked for."""
    job = ExplanationRepository(session).latest(owner_id, search_id)
    if job is None:
        raise NotFoundError("the search has no explanation: ask for one by POST")
    return explanation_document(job)


def explanation_document(job: JobRow) -> ExplanationDocument:
    """Return the document of a job that explains a search."""
    return ExplanationDocument(
        search_id=job.subject_id,
        status=JobStatus(job.status),
        job_id=job.id,
        error=read_error(job),
        result=None if job.result is None else ExplanationResult.model_validate(job.result),
        created_at=job.created_at,
    )
