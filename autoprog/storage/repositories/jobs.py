"""Queries on jobs, for services and clients; `autoprog.storage.job_store` serves the runners."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import func, select
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


class QueueRepository:
    """Waiting searches and jobs of all owners, in the transaction `session`."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def waiting(self, owner_id: str) -> int:
        """Count an owner's queued searches and jobs."""
        searches = select(func.count()).where(SearchRow.owner_id == owner_id, SearchRow.status == SearchStatus.QUEUED)
        jobs = select(func.count()).where(JobRow.owner_id == owner_id, JobRow.status == JobStatus.QUEUED)
        return self._session.scalars(searches).one() + self._session.scalars(jobs).one()
