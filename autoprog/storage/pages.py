"""Keyset pagination: a page of a list, and the opaque cursor of the next page."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar

from sqlalchemy import ColumnElement, Select, false, tuple_
from sqlalchemy.orm import InstrumentedAttribute, Session

from autoprog.errors import Fault, InvalidInputError
from autoprog.storage.database import is_id
from autoprog.storage.tables import OwnedRow

Item = TypeVar("Item")
Row = TypeVar("Row", bound=OwnedRow)
Position = TypeVar("Position")

DEFAULT_LIMIT = 50


@dataclass(frozen=True, slots=True)
class Page(Generic[Item]):
    """One page of a list; `next_cursor` is None on the last."""

    items: tuple[Item, ...]
    next_cursor: str | None

    @classmethod
    def of(cls, items: Sequence[Item], limit: int, position: Callable[[Item], list[Any]]) -> Page[Item]:
        """Make a page from a query for `limit + 1` items; `position` is an item's place in the order, as JSON."""
        shown = tuple(items[:limit])
        return cls(shown, _encode(position(shown[-1])) if len(items) > limit else None)


def decode_cursor(cursor: str, parse: Callable[[list[Any]], Position]) -> Position:
    """Decode a cursor's position with `parse`; raises InvalidInputError if the cursor is not of this list."""
    # `parse` raises ValueError, TypeError or OverflowError for an invalid position.
    try:
        return parse(json.loads(base64.urlsafe_b64decode(cursor.encode())))
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        detail = "is not a cursor of this list; send `next_cursor` of the page before as it came"
        raise InvalidInputError([Fault("/cursor", detail)]) from error


def contains(column: ColumnElement[str] | InstrumentedAttribute[str], text: str) -> ColumnElement[bool]:
    """Condition that a column contains a text, in any case."""
    # No column holds NUL, and PostgreSQL takes no text with it.
    return false() if "\0" in text else column.icontains(text, autoescape=True)


def page_by_creation(
    session: Session,
    query: Select[Row],
    table: type[Row],
    limit: int,
    cursor: str | None,
    *,
    newest_first: bool = False,
) -> Page[Row]:
    """Read a page of an unordered query, oldest first; raises InvalidInputError if the cursor is not of this list."""
    if cursor is not None:
        place, reached = tuple_(table.created_at, table.id), decode_cursor(cursor, _creation)
        query = query.where(place < reached if newest_first else place > reached)
    order = (table.created_at.desc(), table.id.desc()) if newest_first else (table.created_at, table.id)
    rows = session.scalars(query.order_by(*order).limit(limit + 1)).all()
    return Page.of(rows, limit, lambda row: [row.created_at.isoformat(), row.id])


def _creation(position: list[Any]) -> tuple[datetime, str]:
    created_at, row_id = position
    if not is_id(row_id):
        raise ValueError(position)
    return datetime.fromisoformat(created_at).astimezone(UTC), row_id


def _encode(position: list[Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(position, separators=(",", ":")).encode()).decode()
