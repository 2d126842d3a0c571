"""Queries on searches and jobs that wait for a runner."""

from __future__ import annotations

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from autoprog.storage.tables import JobRow, JobStatus, SearchRow, SearchStatus


class QueueRepository:
    """Waiting searches and jobs of all owners, in the transaction `session`."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def waiting(self, owner_id: str) -> int:
        """Count an owner's queued searches and jobs."""
        searches = select(func.count()).where(SearchRow.owner_id == owner_id, SearchRow.status == SearchStatus.QUEUED)
        jobs = select(func.count()).where(JobRow.owner_id == owner_id, JobRow.status == JobStatus.QUEUED)
        return self._session.scalars(searches).one() + self._session.scalars(jobs).one()
