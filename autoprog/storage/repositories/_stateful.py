"""Rows of resources that learn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from sqlalchemy.orm import undefer

from autoprog.storage.database import database_now, new_id
from autoprog.storage.repositories._owned import OwnedRepository, erase, get_owned
from autoprog.storage.test_selection_tables import StatefulRow

Stateful = TypeVar("Stateful", bound=StatefulRow)


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
