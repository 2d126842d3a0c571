"""Delete an owner's resources, with the idempotent answers about them."""

from __future__ import annotations

from sqlalchemy import ColumnElement, delete, exists
from sqlalchemy.orm import Session

from autoprog.storage import test_selection_tables  # noqa: F401  (registers its tables as resources)
from autoprog.storage.tables import IdempotencyKeyRow, OwnedRow


def erase(session: Session, table: type[OwnedRow], condition: ColumnElement[bool]) -> None:
    """Delete the rows that meet a condition, all dependent rows, and every stored answer about any of them."""
    owners = set(session.scalars(delete(table).where(condition).returning(table.owner_id)))
    resources = [mapper.class_ for mapper in OwnedRow.registry.mappers if issubclass(mapper.class_, OwnedRow)]
    gone = [~exists().where(resource.id == IdempotencyKeyRow.subject_id) for resource in resources]
    about = IdempotencyKeyRow.subject_id.is_not(None)
    session.execute(delete(IdempotencyKeyRow).where(IdempotencyKeyRow.owner_id.in_(owners), about, *gone))
