"""Queries on jobs, for services and clients; `autoprog.storage.job_store` serves the runners."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, NamedTuple

from sqlalchemy import and_, func, or_, select
from sqlalchemy.orm import Session

from autoprog.jobs import JobKind
from autoprog.storage.database import database_now, new_id
from autoprog.storage.files import StoredFile
from autoprog.storage.repositories._owned import OwnedRepository, erase
from autoprog.storage.tables import JobRow, JobStatus, SearchRow, SearchStatus


class JobRepository(OwnedRepository[JobRow]):
    """Jobs of all owners."""

    _table = JobRow

    def add(
        self,
        owner_id: str,
        kind: JobKind,
        subject_id: str,
        *,
        parameters: Mapping[str, Any] | None = None,
        files: Mapping[str, StoredFile] | None = None,
    ) -> JobRow:
        """Queue a job that reads `files`, by name; whoever deletes its subject calls `delete_for`."""
        row = JobRow(
            id=new_id(),
            owner_id=owner_id,
            kind=kind,
            subject_id=subject_id,
            payload={
                "parameters": dict(parameters or {}),
                "files": {name: list(file) for name, file in (files or {}).items()},
            },
            status=JobStatus.QUEUED,
            created_at=database_now(self._session),
        )
        self._session.add(row)
        self._session.flush()
        return row

    def load_latest(self, kind: JobKind, subject_ids: Sequence[str]) -> dict[str, JobRow]:
        """Read the latest job of a kind for each resource that has one."""
        query = (
            select(JobRow)
            .where(JobRow.kind == kind, JobRow.subject_id.in_(subject_ids))
            .order_by(JobRow.created_at, JobRow.id)
        )
        return {row.subject_id: row for row in self._session.scalars(query)}

    def delete_for(self, subject_id: str) -> None:
        """Delete all jobs of a locked resource; a runner notices by its lease."""
        erase(self._session, JobRow, JobRow.subject_id == subject_id)


class Backlog(NamedTuple):
    """Numbers of the searches or the jobs of all owners, for who watches the server."""

    waiting: int
    waiting_s: float  # since the oldest of them was queued; 0 if none waits
    running: int
    left: int  # of those that run, whose lease has run out: no runner works on them
    lost_leases: int  # most of one that runs, in a row
    failed: int  # within the last hour


class QueueRepository:
    """Waiting searches and jobs of all owners, in the transaction `session`."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def waiting(self, owner_id: str) -> int:
        """Count an owner's queued searches and jobs."""
        searches = select(func.count()).where(SearchRow.owner_id == owner_id, SearchRow.status == SearchStatus.QUEUED)
        jobs = select(func.count()).where(JobRow.owner_id == owner_id, JobRow.status == JobStatus.QUEUED)
        return self._session.scalars(searches).one() + self._session.scalars(jobs).one()

    def backlog(self, table: type[SearchRow | JobRow]) -> Backlog:
        """Count what waits, runs and has failed."""
        now = database_now(self._session)
        waits, runs = table.status == SearchStatus.QUEUED, table.status == SearchStatus.RUNNING
        has_failed = and_(table.status == SearchStatus.FAILED, table.finished_at > now - timedelta(hours=1))
        counts = select(
            func.count().filter(waits),
            func.min(table.created_at).filter(waits),
            func.count().filter(runs),
            func.count().filter(runs, table.lease_until <= now),
            func.max(table.losses).filter(runs),
            func.count().filter(has_failed),
        )
        waiting, oldest, running, left, losses, failed = self._session.execute(
            counts.where(or_(waits, runs, has_failed))
        ).one()
        waiting_s = 0.0 if oldest is None else max(0.0, (now - oldest).total_seconds())
        return Backlog(waiting, waiting_s, running, left, losses or 0, failed)
