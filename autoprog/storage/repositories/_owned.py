"""Reading rows for the owner they belong to: one by its identifier, or all of them page by page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic

from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlalchemy.orm.interfaces import ORMOption

from autoprog.errors import NotFoundError
from autoprog.storage.ids import is_id
from autoprog.storage.pages import DEFAULT_LIMIT, Page, Row, page_by_creation


def get_owned(
    session: Session,
    table: type[Row],
    owner_id: str,
    row_id: str,
    *,
    lock: bool = False,
    options: Sequence[ORMOption] = (),
) -> Row:
    """Read a row by its identifier.

    Parameters
    ----------
    session : Session
        Reads.
    table : type
        The table.
    owner_id : str
        Who asks.
    row_id : str
        As the client sent it.
    lock : bool
        Keep others from changing the row until the transaction ends.
    options : sequence of ORMOption
        Which columns are read at once, say.

    Returns
    -------
    row
        As the transaction sees it.

    Raises
    ------
    NotFoundError
        If there is none, or it is another owner's.
    """
    query = select(table).where(table.id == row_id, table.owner_id == owner_id).options(*options)
    if lock:
        query = query.with_for_update(of=table).execution_options(populate_existing=True)
    row = session.scalars(query).one_or_none() if is_id(row_id) else None
    if row is None:
        raise _not_found(table)
    return row


class OwnedRepository(Generic[Row]):
    """What the repositories of resources that belong to an owner have in common.

    Parameters
    ----------
    session : Session
        The transaction to work in.
    """

    _table: type[Row]

    def __init__(self, session: Session) -> None:
        self._session = session

    def get(self, owner_id: str, row_id: str) -> Row:
        """Read one resource; documents that it defers are read when they are asked for.

        Parameters
        ----------
        owner_id : str
            Who asks.
        row_id : str
            Its identifier.

        Returns
        -------
        row
            The resource.

        Raises
        ------
        NotFoundError
            If there is none, or it is another owner's.
        """
        return get_owned(self._session, self._table, owner_id, row_id)

    def page(self, owner_id: str, *, limit: int = DEFAULT_LIMIT, cursor: str | None = None) -> Page[Row]:
        """List an owner's resources, oldest first.

        Parameters
        ----------
        owner_id : str
            Who asks.
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
        InvalidInputError
            If the cursor is none of this list's.
        """
        query = select(self._table).where(self._table.owner_id == owner_id)
        return page_by_creation(self._session, query, self._table, limit, cursor)


class PartRepository(OwnedRepository[Row]):
    """What the repositories of resources that are part of another one have in common: a round of its problem, say."""

    _whole: type[Any]
    _key: str  # the column that refers to the whole

    def of(self, owner_id: str, whole_id: str, row_id: str, *, lock: bool = False) -> Row:
        """Read one part.

        Parameters
        ----------
        owner_id : str
            Who asks.
        whole_id : str
            The resource that it must be part of.
        row_id : str
            Its identifier.
        lock : bool
            Keep others from changing it until the transaction ends.

        Returns
        -------
        row
            The part.

        Raises
        ------
        NotFoundError
            If there is none, or it is part of another resource or another owner's.
        """
        row = get_owned(self._session, self._table, owner_id, row_id, lock=lock)
        if getattr(row, self._key) != whole_id:
            raise _not_found(self._table)
        return row

    def load_page(
        self, owner_id: str, whole_id: str, *, limit: int = DEFAULT_LIMIT, cursor: str | None = None
    ) -> Page[Row]:
        """List the parts of a resource, oldest first.

        Parameters
        ----------
        owner_id : str
            Who asks.
        whole_id : str
            The resource.
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
            If there is no such resource, or it is another owner's.
        InvalidInputError
            If the cursor is none of this list's.
        """
        get_owned(self._session, self._whole, owner_id, whole_id)
        query = select(self._table).where(getattr(self._table, self._key) == whole_id)
        return page_by_creation(self._session, query, self._table, limit, cursor)


def _not_found(table: type[Row]) -> NotFoundError:
    return NotFoundError(f"there is no {table.__tablename__.replace('_', ' ')} with this id")
