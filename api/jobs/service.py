"""Show jobs."""

from __future__ import annotations

from api.jobs.schemas import JobDocument
from api.problems import Problem, problem
from autoprog.jobs import JobKind
from autoprog.storage.tables import JobRow, JobStatus


def job_document(row: JobRow) -> JobDocument:
    """Return the document of a job."""
    return JobDocument(
        id=row.id,
        kind=JobKind(row.kind),
        subject_id=row.subject_id,
        status=JobStatus(row.status),
        error=read_error(row),
        created_at=row.created_at,
        started_at=row.started_at,
        finished_at=row.finished_at,
    )


def read_error(row: JobRow) -> Problem | None:
    """Return why a job failed, or None."""
    return None if row.error is None else problem(row.error["code"], row.error["detail"])
