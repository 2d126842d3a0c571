"""Documents of jobs."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, Field

from api.problems import Problem
from autoprog.jobs import JobKind
from autoprog.storage.tables import JobStatus


class JobDocument(BaseModel):
    """A task that takes longer than a request. The resource that it belongs to shows its result."""

    id: str
    kind: JobKind
    subject_id: str = Field(
        description="Resource that the job belongs to. Deleting the resource ends and deletes the job."
    )
    status: JobStatus
    error: Problem | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
