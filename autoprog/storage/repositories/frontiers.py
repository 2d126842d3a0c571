"""Queries on frontiers of performance against the cost of tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import ColumnElement, delete, select
from sqlalchemy.orm import Session

from autoprog.errors import NotFoundError
from autoprog.jobs import JobKind
from autoprog.storage.database import database_now
from autoprog.storage.files import StoredFile
from autoprog.storage.ids import new_id
from autoprog.storage.pages import DEFAULT_LIMIT, Page, page_by_creation
from autoprog.storage.repositories._owned import OwnedRepository, get_owned
from autoprog.storage.repositories.jobs import JobRepository
from autoprog.storage.tables import JobRow, SearchRow
from autoprog.storage.test_selection_tables import FrontierRow


class FrontierRepository(OwnedRepository[FrontierRow]):
    """Frontiers of all owners' searches."""

    _table = FrontierRow

    def add(self, search: SearchRow, *, document: Mapping[str, Any], cohort: StoredFile) -> FrontierRow:
        """Keep what is asked for and queue the job that answers it.

        Parameters
        ----------
        search : SearchRow
            A finished search.
        document : mapping
            Tests, plan and pipeline, as JSON.
        cohort : StoredFile
            The patients of the search.

        Returns
        -------
        FrontierRow
            With its new identifier.

        Raises
        ------
        NotFoundError
            If the search was deleted in the meantime.
        """
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

    def of_search(self, owner_id: str, search_id: str, frontier_id: str) -> FrontierRow:
        """Read one of a search's. Raises NotFoundError, also where it is another search's or another owner's."""
        row = self.get(owner_id, frontier_id)
        if row.search_id != search_id:
            raise NotFoundError("there is no test frontier with this id")
        return row

    def page_of_search(
        self, owner_id: str, search_id: str, *, limit: int = DEFAULT_LIMIT, cursor: str | None = None
    ) -> Page[FrontierRow]:
        """List a search's, oldest first.

        Parameters
        ----------
        owner_id : str
            Who asks.
        search_id : str
            The search.
        limit : int
            Most items, at least 1.
        cursor : str or None
            `next_cursor` of the page before.

        Returns
        -------
        Page
            Of rows.

        Raises
        ------
        NotFoundError
            If there is no such search, or it is another owner's.
        InvalidInputError
            If the cursor is none of this list's.
        """
        get_owned(self._session, SearchRow, owner_id, search_id)
        query = select(FrontierRow).where(FrontierRow.search_id == search_id)
        return page_by_creation(self._session, query, FrontierRow, limit, cursor)

    def job_of(self, frontier_id: str) -> JobRow:
        """The job of a frontier that the owner may see."""
        return JobRepository(self._session).latest_of(JobKind.TEST_FRONTIER, [frontier_id])[frontier_id]

    def delete(self, owner_id: str, search_id: str, frontier_id: str) -> None:
        """Delete one of a search's with its job. Raises NotFoundError."""
        row = self.of_search(owner_id, search_id, frontier_id)
        JobRepository(self._session).delete_of(row.id)
        self._session.execute(delete(FrontierRow).where(FrontierRow.id == row.id))


def delete_frontier_jobs(session: Session, searches: ColumnElement[bool]) -> None:
    """Delete the jobs of the frontiers of some searches, which are about to be deleted with them.

    Parameters
    ----------
    session : Session
        The transaction, which has locked these searches.
    searches : ColumnElement
        Condition on `SearchRow`.
    """
    frontiers = select(FrontierRow.id).join(SearchRow, SearchRow.id == FrontierRow.search_id).where(searches)
    session.execute(delete(JobRow).where(JobRow.subject_id.in_(frontiers)))
