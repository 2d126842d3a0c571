"""Deleting what belongs to an owner, and with it the answers that are kept about it."""

from __future__ import annotations

from sqlalchemy import ColumnElement, delete, exists
from sqlalchemy.orm import Session

from autoprog.storage import test_selection_tables  # noqa: F401  (its tables are among those of the resources)
from autoprog.storage.tables import IdempotencyKeyRow, OwnedRow


def erase(session: Session, table: type[OwnedRow], condition: ColumnElement[bool]) -> None:
    """Delete rows with all that the database deletes with them, and every kept answer about any of these.

    Parameters
    ----------
    session : Session
        The transaction to work in.
    table : type
        Of resources.
    condition : ColumnElement
        Which of them.
    """
    owners = set(session.scalars(delete(table).where(condition).returning(table.owner_id)))
    resources = [mapper.class_ for mapper in OwnedRow.registry.mappers if issubclass(mapper.class_, OwnedRow)]
    gone = [~exists().where(resource.id == IdempotencyKeyRow.subject_id) for resource in resources]
    about = IdempotencyKeyRow.subject_id.is_not(None)
    session.execute(delete(IdempotencyKeyRow).where(IdempotencyKeyRow.owner_id.in_(owners), about, *gone))
