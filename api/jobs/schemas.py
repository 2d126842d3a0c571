"""Documents of jobs."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, Field

from api.problems import Problem
from autoprog.jobs import JobKind
from autoprog.storage.tables import JobStatus


class JobDocument(BaseModel):
    """Work that takes longer than a request; the resource that it is about shows its result."""

    id: str
    kind: JobKind
    subject_id: str = Field(description="the resource that the job is about; deleting that ends and deletes the job")
    status: JobStatus
    error: Problem | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
