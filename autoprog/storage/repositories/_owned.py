"""Read an owner's rows: one by its identifier, or all of them page by page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Generic, TypeVar

from sqlalchemy import Column, ColumnElement, delete, select
from sqlalchemy.orm import Session, undefer
from sqlalchemy.orm.interfaces import ORMOption

from autoprog.errors import NotFoundError
from autoprog.storage import test_selection_tables  # noqa: F401  (registers its tables as resources)
from autoprog.storage.database import database_now, is_id, new_id
from autoprog.storage.pages import DEFAULT_LIMIT, Page, Row, contains, page_by_creation
from autoprog.storage.tables import IdempotencyKeyRow, OwnedRow
from autoprog.storage.test_selection_tables import StatefulRow

_IDS_AT_ONCE = 1000  # both databases bound the parameters of a statement


def get_owned(
    session: Session,
    table: type[Row],
    owner_id: str,
    row_id: str,
    *,
    lock: bool = False,
    options: Sequence[ORMOption] = (),
) -> Row:
    """Read a row by its identifier, optionally locked until the transaction ends. Raises NotFoundError."""
    query = select(table).where(table.id == row_id, table.owner_id == owner_id).options(*options)
    if lock:
        query = query.with_for_update(of=table).execution_options(populate_existing=True)
    row = session.scalars(query).one_or_none() if is_id(row_id) else None
    if row is None:
        raise not_found(table)
    return row


class OwnedRepository(Generic[Row]):
    """Base class for resources of an owner, in the transaction `session`."""

    _table: type[Row]

    def __init__(self, session: Session) -> None:
        self._session = session

    def get(self, owner_id: str, row_id: str) -> Row:
        """Read one resource, deferred documents on access. Raises NotFoundError."""
        return get_owned(self._session, self._table, owner_id, row_id)

    def page(self, owner_id: str, *, limit: int = DEFAULT_LIMIT, cursor: str | None = None) -> Page[Row]:
        """List an owner's resources, oldest first; raises InvalidInputError for an invalid cursor."""
        query = select(self._table).where(self._table.owner_id == owner_id)
        return page_by_creation(self._session, query, self._table, limit, cursor)


class NamedRepository(OwnedRepository[Row]):
    """Base class for resources that are found by their `name`."""

    def find(self, owner_id: str, text: str, *, limit: int = DEFAULT_LIMIT, cursor: str | None = None) -> Page[Row]:
        """List resources whose name contains a text, newest first; raises InvalidInputError for an invalid cursor."""
        query = select(self._table).where(self._table.owner_id == owner_id)
        if text:
            query = query.where(contains(self._table.__table__.c.name, text))
        return page_by_creation(self._session, query, self._table, limit, cursor, newest_first=True)


class PartRepository(OwnedRepository[Row]):
    """Base class for resources that are part of another one, such as a round of its problem."""

    _whole: type[Any]
    _key: str  # column that refers to the whole

    def of(self, owner_id: str, whole_id: str, row_id: str, *, lock: bool = False) -> Row:
        """Read one part. Raises NotFoundError, also if it is part of another resource."""
        row = get_owned(self._session, self._table, owner_id, row_id, lock=lock)
        if getattr(row, self._key) != whole_id:
            raise not_found(self._table)
        return row

    def load_page(
        self,
        owner_id: str,
        whole_id: str,
        *,
        limit: int = DEFAULT_LIMIT,
        cursor: str | None = None,
        newest_first: bool = False,
    ) -> Page[Row]:
        """List a resource's parts, oldest first. Raises NotFoundError; InvalidInputError for an invalid cursor."""
        get_owned(self._session, self._whole, owner_id, whole_id)
        query = select(self._table).where(getattr(self._table, self._key) == whole_id)
        return page_by_creation(self._session, query, self._table, limit, cursor, newest_first=newest_first)


def not_found(table: type[Row]) -> NotFoundError:
    """Make the error of a row that is not there, or is another owner's."""
    return NotFoundError(f"there is no {table.__tablename__.replace('_', ' ')} with this id")


def erase(session: Session, table: type[OwnedRow], condition: ColumnElement[bool]) -> None:
    """Delete the rows that meet a condition, all dependent rows, and every stored answer about any of them."""
    ids = list(_list_gone(session, table, condition))
    owners = set(session.scalars(delete(table).where(condition).returning(table.owner_id)))
    for start in range(0, len(ids), _IDS_AT_ONCE):
        subjects = ids[start : start + _IDS_AT_ONCE]
        about = (IdempotencyKeyRow.owner_id.in_(owners), IdempotencyKeyRow.subject_id.in_(subjects))
        session.execute(delete(IdempotencyKeyRow).where(*about))


def _list_gone(session: Session, table: type[OwnedRow], condition: ColumnElement[bool]) -> Iterator[str]:
    """Lock the rows that meet a condition and their dependent rows; yield their identifiers."""
    found = select(table.id).where(condition)
    yield from session.scalars(found.with_for_update())
    for part, whole_id in _find_parts(table):
        yield from _list_gone(session, part, whole_id.in_(found))


@cache
def _find_parts(table: type[OwnedRow]) -> list[tuple[type[OwnedRow], Column[str]]]:
    """Return the tables of resources that are deleted with a row of this one, with the column that refers to it."""
    resources = [mapper.class_ for mapper in OwnedRow.registry.mappers if issubclass(mapper.class_, OwnedRow)]
    return [
        (resource, key.parent)
        for resource in resources
        for key in resource.__table__.foreign_keys
        if key.column.table is table.__table__ and key.ondelete == "CASCADE"
    ]


Stateful = TypeVar("Stateful", bound=StatefulRow)


def forget_answers(session: Session, owner_id: str, subject_id: str) -> None:
    """Delete the stored answers about a resource that has changed."""
    about = (IdempotencyKeyRow.owner_id == owner_id, IdempotencyKeyRow.subject_id == subject_id)
    session.execute(delete(IdempotencyKeyRow).where(*about))


class StatefulRepository(OwnedRepository[Stateful]):
    """Base class for resources that learn."""

    def add(self, owner_id: str, *, name: str, document: Mapping[str, Any], state: Mapping[str, Any]) -> Stateful:
        """Store a new learner; `document` is shown by the API, `state` is everything learnt."""
        now = database_now(self._session)
        row = self._table(
            id=new_id(),
            owner_id=owner_id,
            name=name,
            document=dict(document),
            state=dict(state),
            created_at=now,
            changed_at=now,
        )
        self._session.add(row)
        self._session.flush()
        return row

    def with_state(self, owner_id: str, row_id: str) -> Stateful:
        """Read a row with its state. Raises NotFoundError."""
        return get_owned(self._session, self._table, owner_id, row_id, options=[undefer(self._table.state)])

    def lock(self, owner_id: str, row_id: str) -> Stateful:
        """Read a row with its state, locked until the transaction ends. Raises NotFoundError."""
        whole = [undefer(self._table.state)]
        return get_owned(self._session, self._table, owner_id, row_id, lock=True, options=whole)

    def change(self, row: Stateful, *, document: Mapping[str, Any], state: Mapping[str, Any]) -> None:
        """Update a row that `lock` returned in this transaction."""
        row.document, row.state, row.changed_at = dict(document), dict(state), database_now(self._session)
        self._session.flush()

    def delete(self, owner_id: str, row_id: str) -> None:
        """Delete a row. Raises NotFoundError."""
        row = get_owned(self._session, self._table, owner_id, row_id, lock=True)
        erase(self._session, self._table, self._table.id == row.id)
