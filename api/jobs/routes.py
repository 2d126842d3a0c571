"""Routes of `/v1/jobs`."""

from __future__ import annotations

from fastapi import APIRouter

from api.auth import Reader
from api.dependencies import ReadSession
from api.jobs.schemas import JobDocument
from api.jobs.service import job_document
from api.openapi import problems
from api.pagination import ListDocument, PageParameters
from autoprog.storage.repositories import JobRepository

router = APIRouter(prefix="/v1/jobs", tags=["jobs"], responses=problems(401, 403, 429, 503, 507))


@router.get("", operation_id="list_jobs", summary="List jobs, oldest first", responses=problems(422))
def list_jobs(principal: Reader, session: ReadSession, page: PageParameters) -> ListDocument[JobDocument]:
    """List the jobs of the key's owner. Searches are not jobs."""
    found = JobRepository(session).page(principal.owner_id, limit=page.limit, cursor=page.cursor)
    return ListDocument[JobDocument](items=[job_document(row) for row in found.items], next_cursor=found.next_cursor)


@router.get("/{job_id}", operation_id="get_job", summary="Get a job's progress", responses=problems(404))
def get_job(job_id: str, principal: Reader, session: ReadSession) -> JobDocument:
    """Return the status, the times, and the error if the job failed."""
    return job_document(JobRepository(session).get(principal.owner_id, job_id))
