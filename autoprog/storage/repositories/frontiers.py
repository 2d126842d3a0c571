"""Queries on frontiers of performance against the cost of tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from autoprog.jobs import JobKind
from autoprog.storage.database import database_now
from autoprog.storage.files import StoredFile
from autoprog.storage.ids import new_id
from autoprog.storage.repositories._erasing import erase
from autoprog.storage.repositories._owned import PartRepository, get_owned
from autoprog.storage.repositories.jobs import JobRepository
from autoprog.storage.tables import JobRow, SearchRow
from autoprog.storage.test_selection_tables import FrontierRow


class FrontierRepository(PartRepository[FrontierRow]):
    """Frontiers of all owners' searches."""

    _table = FrontierRow
    _whole, _key = SearchRow, "search_id"

    def add(self, search: SearchRow, *, document: Mapping[str, Any], cohort: StoredFile) -> FrontierRow:
        """Store a request on a finished search and queue its job. Raises NotFoundError if the search was deleted."""
        get_owned(self._session, SearchRow, search.owner_id, search.id, lock=True)
        row = FrontierRow(
            id=new_id(),
            owner_id=search.owner_id,
            search_id=search.id,
            document=dict(document),
            created_at=database_now(self._session),
        )
        self._session.add(row)
        self._session.flush()
        JobRepository(self._session).add(
            search.owner_id, JobKind.TEST_FRONTIER, row.id, parameters=row.document, files={"cohort": cohort}
        )
        return row

    def load_job(self, frontier_id: str) -> JobRow:
        """Read the job of a frontier that the owner may see."""
        return JobRepository(self._session).load_latest(JobKind.TEST_FRONTIER, [frontier_id])[frontier_id]

    def delete(self, owner_id: str, search_id: str, frontier_id: str) -> None:
        """Delete a search's frontier with its job. Raises NotFoundError."""
        row = self.of(owner_id, search_id, frontier_id)
        JobRepository(self._session).delete_all(row.id)
        erase(self._session, FrontierRow, FrontierRow.id == row.id)


def delete_frontier_jobs(session: Session, searches: ColumnElement[bool]) -> None:
    """Delete the frontier jobs of locked searches that are about to be deleted."""
    frontiers = select(FrontierRow.id).join(SearchRow, SearchRow.id == FrontierRow.search_id).where(searches)
    erase(session, JobRow, JobRow.subject_id.in_(frontiers))
