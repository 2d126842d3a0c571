"""Queries on explanations, which are the results of jobs on searches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy.orm import Session

from autoprog.jobs import JobKind
from autoprog.storage.files import StoredFile
from autoprog.storage.repositories._owned import get_owned
from autoprog.storage.repositories.jobs import JobRepository
from autoprog.storage.tables import JobRow, JobStatus, SearchRow


class ExplanationRepository:
    """Explanations of all owners' searches."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def latest(self, owner_id: str, search_id: str) -> JobRow | None:
        """Read the latest job that explains a search, or None. Raises NotFoundError if there is no such search."""
        get_owned(self._session, SearchRow, owner_id, search_id)
        return JobRepository(self._session).load_latest(JobKind.EXPLANATION, [search_id]).get(search_id)

    def result(self, owner_id: str, search_id: str) -> Mapping[str, Any] | None:
        """Read the result of the latest job that explains a search, if it has one. Raises NotFoundError."""
        job = self.latest(owner_id, search_id)
        return None if job is None else job.result

    def queue(self, owner_id: str, search_id: str, parameters: Mapping[str, Any], cohort: StoredFile) -> JobRow:
        """Queue a job unless there is one that has not failed. Raises NotFoundError if the search was deleted."""
        get_owned(self._session, SearchRow, owner_id, search_id, lock=True)
        latest = self.latest(owner_id, search_id)
        if latest is not None and latest.status != JobStatus.FAILED:
            return latest
        files = {"cohort": cohort}
        return JobRepository(self._session).add(
            owner_id, JobKind.EXPLANATION, search_id, parameters=parameters, files=files
        )
