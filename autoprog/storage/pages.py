"""Keyset pagination: a page of a list, and the opaque cursor that leads to the next one."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar

from sqlalchemy import Select, and_, or_
from sqlalchemy.orm import Session

from autoprog.errors import Fault, InvalidInputError
from autoprog.storage.ids import is_id
from autoprog.storage.tables import OwnedRow

Item = TypeVar("Item")
Row = TypeVar("Row", bound=OwnedRow)
Position = TypeVar("Position")

DEFAULT_LIMIT = 50


@dataclass(frozen=True, slots=True)
class Page(Generic[Item]):
    """A part of a list.

    Attributes
    ----------
    items : tuple
        In the list's order.
    next_cursor : str or None
        Leads to the page after this one; None on the last page.
    """

    items: tuple[Item, ...]
    next_cursor: str | None

    @classmethod
    def of(cls, items: Sequence[Item], limit: int, position: Callable[[Item], list[Any]]) -> Page[Item]:
        """Make a page of what a query for one item more than the limit has found.

        Parameters
        ----------
        items : sequence
            At most `limit + 1` items; the last of that many only tells that there is a next page.
        limit : int
            Most items of the page, at least 1.
        position : callable
            Where an item stands in the order, as JSON.

        Returns
        -------
        Page
            With the first `limit` items.
        """
        shown = tuple(items[:limit])
        return cls(shown, _encode(position(shown[-1])) if len(items) > limit else None)


def decode_cursor(cursor: str, parse: Callable[[list[Any]], Position]) -> Position:
    """Read the position back that a cursor stands for.

    Parameters
    ----------
    cursor : str
        `next_cursor` of a page.
    parse : callable
        Makes the position of the JSON list; raises ValueError, TypeError or OverflowError where it stands nowhere.

    Returns
    -------
    object
        What `parse` made.

    Raises
    ------
    InvalidInputError
        If the cursor is none of this list's.
    """
    try:
        return parse(json.loads(base64.urlsafe_b64decode(cursor.encode())))
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        detail = "is not a cursor of this list; send `next_cursor` of the page before as it came"
        raise InvalidInputError([Fault("/cursor", detail)]) from error


def page_by_creation(
    session: Session, query: Select[Row], table: type[Row], limit: int, cursor: str | None
) -> Page[Row]:
    """Read a page of a query in order of creation, oldest first.

    Parameters
    ----------
    session : Session
        Reads.
    query : Select
        Of rows of `table`, not yet ordered.
    table : type
        The table.
    limit : int
        Most items, at least 1.
    cursor : str or None
        `next_cursor` of the page before; None for the first page.

    Returns
    -------
    Page
        Of rows of `table`.

    Raises
    ------
    InvalidInputError
        If the cursor is none of this list's.
    """
    if cursor is not None:
        created_at, row_id = decode_cursor(cursor, _creation)
        later = or_(table.created_at > created_at, and_(table.created_at == created_at, table.id > row_id))
        query = query.where(later)
    rows = session.scalars(query.order_by(table.created_at, table.id).limit(limit + 1)).all()
    return Page.of(rows, limit, lambda row: [row.created_at.isoformat(), row.id])


def _creation(position: list[Any]) -> tuple[datetime, str]:
    created_at, row_id = position
    if not is_id(row_id):
        raise ValueError(position)
    return datetime.fromisoformat(created_at).astimezone(UTC), row_id


def _encode(position: list[Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(position, separators=(",", ":")).encode()).decode()
