"""Queries on searches, for the clients who ask for them; `autoprog.storage.store` serves the runners."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, insert, literal, select

from autoprog.errors import ConflictError
from autoprog.evaluation import Status
from autoprog.storage.database import database_now
from autoprog.storage.events import append_event, finished_payload
from autoprog.storage.ids import new_id
from autoprog.storage.repositories._erasing import erase
from autoprog.storage.repositories._owned import OwnedRepository, get_owned
from autoprog.storage.repositories.frontiers import delete_frontier_jobs
from autoprog.storage.tables import (
    CohortRow,
    EvaluationRow,
    ProposalRow,
    SearchEventRow,
    SearchRow,
    SearchStatus,
)


class SearchRepository(OwnedRepository[SearchRow]):
    """Searches of all owners."""

    _table = SearchRow

    def add(
        self, owner_id: str, cohort_id: str, *, settings: Mapping[str, Any], warnings: Sequence[str] = ()
    ) -> SearchRow:
        """Queue a search: a runner takes it from here once the transaction is committed.

        Parameters
        ----------
        owner_id : str
            Whom it belongs to.
        cohort_id : str
            The cohort, of the same owner.
        settings : mapping
            `SearchSettings` as JSON.
        warnings : sequence of str
            What the client should know from the start.

        Returns
        -------
        SearchRow
            With its new identifier.

        Raises
        ------
        NotFoundError
            If there is no such cohort, or it is another owner's.
        """
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

    def add_continuation(self, owner_id: str, search_id: str, *, settings: Mapping[str, Any]) -> SearchRow:
        """Queue a search that goes on from where an ended one stood, which stays as it is.

        Parameters
        ----------
        owner_id : str
            Who asks.
        search_id : str
            What is continued.
        settings : mapping
            `SearchSettings` as JSON: those of that search, but for the budget.

        Returns
        -------
        SearchRow
            With its new identifier, and with all proposals and evaluations of the other; what was undecided there, as
            its time had ended, is evaluated anew if there is to be more.

        Raises
        ------
        NotFoundError
            If there is no such search, or it is another owner's.
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
        """How many configurations a search has proposed, evaluated or not."""
        return sum(self._batches(search_id))

    def _batches(self, search_id: str) -> list[int]:
        """Sizes of its batches."""
        documents = select(ProposalRow.document).where(ProposalRow.search_id == search_id).order_by(ProposalRow.batch)
        return [len(document["configurations"]) for document in self._session.scalars(documents)]

    def _copy(self, table: type[ProposalRow | EvaluationRow], of: str, to: str, *which: ColumnElement[bool]) -> None:
        columns = [c for c in table.__table__.columns if c.name != "search_id"]
        rows = select(literal(to), *columns).where(table.search_id == of, *which)
        self._session.execute(insert(table).from_select(["search_id", *(c.name for c in columns)], rows))

    def events(self, owner_id: str, search_id: str, *, after: int = 0, limit: int = 1000) -> Sequence[SearchEventRow]:
        """Read what has happened to a search.

        Parameters
        ----------
        owner_id : str
            Who asks.
        search_id : str
            Its identifier.
        after : int
            The last sequence number that is already known; 0 for none.
        limit : int
            Most events.

        Returns
        -------
        sequence of SearchEventRow
            In order; the last one that a search ever gets is of type `finished`. None for another owner's search.
        """
        query = (
            select(SearchEventRow)
            .join(SearchRow, SearchRow.id == SearchEventRow.search_id)
            .where(SearchRow.owner_id == owner_id, SearchRow.id == search_id, SearchEventRow.sequence > after)
            .order_by(SearchEventRow.sequence)
            .limit(limit)
        )
        return self._session.scalars(query).all()

    def request_cancel(self, owner_id: str, search_id: str) -> SearchRow:
        """Cancel a search: one that has not started ends at once, a running one as soon as its runner hears of it.

        Parameters
        ----------
        owner_id : str
            Who asks.
        search_id : str
            Its identifier.

        Returns
        -------
        SearchRow
            The search; asked a second time, it is as it was.

        Raises
        ------
        NotFoundError
            If there is none, or it is another owner's.
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
            append_event(self._session, search.id, "finished", finished_payload(search, model_id=None))
        self._session.flush()
        return search

    def delete(self, owner_id: str, search_id: str) -> None:
        """Delete a search with its evaluations and its frontiers; its model stays.

        Parameters
        ----------
        owner_id : str
            Who asks.
        search_id : str
            Its identifier.

        Raises
        ------
        NotFoundError
            If there is none, or it is another owner's.
        ConflictError
            If it is running.
        """
        search = get_owned(self._session, SearchRow, owner_id, search_id, lock=True)
        if search.status == SearchStatus.RUNNING:
            msg = "the search is running; cancel it first"
            raise ConflictError(msg)
        delete_frontier_jobs(self._session, SearchRow.id == search_id)
        erase(self._session, SearchRow, SearchRow.id == search_id)
