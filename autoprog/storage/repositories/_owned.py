"""Reading one row for the owner it belongs to."""

from __future__ import annotations

from typing import TypeVar

from sqlalchemy import select
from sqlalchemy.orm import Session

from autoprog.errors import NotFoundError
from autoprog.storage.ids import is_id
from autoprog.storage.tables import CohortRow, ModelRow, SearchRow

Row = TypeVar("Row", CohortRow, SearchRow, ModelRow)


def get_owned(session: Session, table: type[Row], owner_id: str, row_id: str, *, lock: bool = False) -> Row:
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

    Returns
    -------
    row
        As the transaction sees it.

    Raises
    ------
    NotFoundError
        If there is none, or it is another owner's.
    """
    query = select(table).where(table.id == row_id, table.owner_id == owner_id)
    if lock:
        query = query.with_for_update(of=table).execution_options(populate_existing=True)
    row = session.scalars(query).one_or_none() if is_id(row_id) else None
    if row is None:
        msg = f"there is no {table.__tablename__} with this id"
        raise NotFoundError(msg)
    return row
