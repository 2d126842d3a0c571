"""Queries on what waits for a runner: searches and jobs."""

from __future__ import annotations

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from autoprog.storage.tables import JobRow, JobStatus, SearchRow, SearchStatus


class QueueRepository:
    """What waits for a runner, of all owners.

    Parameters
    ----------
    session : Session
        The transaction to work in.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    def waiting(self, owner_id: str) -> int:
        """How many searches and jobs of an owner wait, those that have begun not counted."""
        searches = select(func.count()).where(SearchRow.owner_id == owner_id, SearchRow.status == SearchStatus.QUEUED)
        jobs = select(func.count()).where(JobRow.owner_id == owner_id, JobRow.status == JobStatus.QUEUED)
        return self._session.scalars(searches).one() + self._session.scalars(jobs).one()
