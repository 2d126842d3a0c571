"""Queries on searches, for clients; `autoprog.storage.store` serves the runners."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, func, insert, literal, select

from autoprog.errors import ConflictError
from autoprog.evaluation import Status
from autoprog.storage.database import database_now, new_id
from autoprog.storage.events import append_event, finished_payload
from autoprog.storage.pages import DEFAULT_LIMIT, Page, contains, page_by_creation
from autoprog.storage.repositories._owned import OwnedRepository, erase, get_owned
from autoprog.storage.repositories.test_selection import delete_jobs_of_searches
from autoprog.storage.tables import (
    CohortRow,
    EvaluationRow,
    ProposalRow,
    SearchEventRow,
    SearchRow,
    SearchStatus,
)


class SearchPlace(NamedTuple):
    """How far a search has come for those who follow it."""

    last_event: int  # its number, 0 before the first
    has_ended: bool


class SearchRepository(OwnedRepository[SearchRow]):
    """Searches of all owners."""

    _table = SearchRow

    def add(
        self, owner_id: str, cohort_id: str, *, settings: Mapping[str, Any], warnings: Sequence[str] = ()
    ) -> SearchRow:
        """Queue a search; `settings` is `SearchSettings` as JSON. Raises NotFoundError without the cohort."""
        get_owned(self._session, CohortRow, owner_id, cohort_id, lock=True)
        row = SearchRow(
            id=new_id(),
            owner_id=owner_id,
            cohort_id=cohort_id,
            settings=dict(settings),
            status=SearchStatus.QUEUED,
            warnings=list(warnings),
            created_at=database_now(self._session),
        )
        self._session.add(row)
        self._session.flush()
        return row

    def find(
        self,
        owner_id: str,
        text: str = "",
        *,
        cohort_id: str | None = None,
        limit: int = DEFAULT_LIMIT,
        cursor: str | None = None,
    ) -> Page[SearchRow]:
        """List searches by their cohort's name or on one cohort, newest first; raises InvalidInputError."""
        query = select(SearchRow).where(SearchRow.owner_id == owner_id)
        if cohort_id is not None:
            query = query.where(SearchRow.cohort_id == cohort_id)
        if text:
            named = contains(CohortRow.name, text)
            query = query.join(CohortRow, CohortRow.id == SearchRow.cohort_id).where(named)
        return page_by_creation(self._session, query, SearchRow, limit, cursor, newest_first=True)

    def add_continuation(self, owner_id: str, search_id: str, *, settings: Mapping[str, Any]) -> SearchRow:
        """Queue a search that continues an ended one, which stays unchanged.

        Parameters
        ----------
        owner_id : str
            The owner.
        search_id : str
            The search to continue.
        settings : mapping
            Its `SearchSettings` as JSON, with another budget.

        Returns
        -------
        SearchRow
            The new search, with all proposals and evaluations of the other; if the budget allows more, evaluations
            that its end cancelled are repeated.

        Raises
        ------
        NotFoundError
            If there is no such search.
        ConflictError
            If it has not ended.
        """
        earlier = get_owned(self._session, SearchRow, owner_id, search_id, lock=True)
        if earlier.status in {SearchStatus.QUEUED, SearchStatus.RUNNING}:
            msg = f"the search is {earlier.status}: it can be continued when it has ended"
            raise ConflictError(msg)
        row = self.add(owner_id, earlier.cohort_id, settings=settings)
        row.continues_id = earlier.id
        batches = self._batches(earlier.id)
        row.inherited_batches = len(batches)
        self._copy(ProposalRow, earlier.id, row.id)
        goes_on = sum(batches) < settings["budget"]["evaluations"]
        decided = [EvaluationRow.status != Status.CANCELLED.value] if goes_on else []
        self._copy(EvaluationRow, earlier.id, row.id, *decided)
        self._session.flush()
        return row

    def n_proposed(self, search_id: str) -> int:
        """Count the configurations that a search has proposed, evaluated or not."""
        return sum(self._batches(search_id))

    def _batches(self, search_id: str) -> list[int]:
        """Sizes of a search's batches."""
        documents = select(ProposalRow.document).where(ProposalRow.search_id == search_id).order_by(ProposalRow.batch)
        return [len(document["configurations"]) for document in self._session.scalars(documents)]

    def _copy(self, table: type[ProposalRow | EvaluationRow], of: str, to: str, *which: ColumnElement[bool]) -> None:
        columns = [c for c in table.__table__.columns if c.name != "search_id"]
        rows = select(literal(to), *columns).where(table.search_id == of, *which)
        self._session.execute(insert(table).from_select(["search_id", *(c.name for c in columns)], rows))

    def events(self, owner_id: str, search_id: str, *, after: int = 0, limit: int = 1000) -> Sequence[SearchEventRow]:
        """List events after a sequence number (0 for all); none for another owner's search."""
        # The last event that a search ever gets is of type `finished`.
        query = (
            select(SearchEventRow)
            .join(SearchRow, SearchRow.id == SearchEventRow.search_id)
            .where(SearchRow.owner_id == owner_id, SearchRow.id == search_id, SearchEventRow.sequence > after)
            .order_by(SearchEventRow.sequence)
            .limit(limit)
        )
        return self._session.scalars(query).all()

    def places(self, search_ids: Collection[str]) -> Mapping[str, SearchPlace]:
        """Find how far searches have come, whoever owns them; those that are gone are left out."""
        last = (
            select(func.coalesce(func.max(SearchEventRow.sequence), 0))
            .where(SearchEventRow.search_id == SearchRow.id)
            .scalar_subquery()
        )
        query = select(SearchRow.id, last, SearchRow.finished_at).where(SearchRow.id.in_(search_ids))
        return {
            search_id: SearchPlace(number, finished_at is not None)
            for search_id, number, finished_at in self._session.execute(query)
        }

    def request_cancel(self, owner_id: str, search_id: str) -> SearchRow:
        """Cancel a search: a queued one at once, a running one when its runner notices; idempotent.

        Parameters
        ----------
        owner_id : str
            The owner.
        search_id : str
            The search.

        Returns
        -------
        SearchRow
            The search.

        Raises
        ------
        NotFoundError
            If there is no such search.
        ConflictError
            If it has already succeeded or failed.
        """
        search = get_owned(self._session, SearchRow, owner_id, search_id, lock=True)
        if search.status in {SearchStatus.SUCCEEDED, SearchStatus.FAILED}:
            msg = f"the search has already {search.status}"
            raise ConflictError(msg)
        if search.cancel_requested_at is not None:
            return search
        search.cancel_requested_at = database_now(self._session)
        if search.status == SearchStatus.QUEUED:
            search.status = SearchStatus.CANCELLED
            search.finished_at = search.cancel_requested_at
            append_event(
                self._session, search.id, "finished", finished_payload(search.status, model_id=None, error=None)
            )
        self._session.flush()
        return search

    def delete(self, owner_id: str, search_id: str) -> None:
        """Delete a search with its evaluations and frontiers, not its model. Raises NotFoundError and ConflictError."""
        search = get_owned(self._session, SearchRow, owner_id, search_id, lock=True)
        if search.status == SearchStatus.RUNNING:
            msg = "the search is running; cancel it first"
            raise ConflictError(msg)
        delete_jobs_of_searches(self._session, SearchRow.id == search_id)
        erase(self._session, SearchRow, SearchRow.id == search_id)
