"""Rows of something that learns: made, locked, changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from sqlalchemy.orm import undefer

from autoprog.storage.database import database_now
from autoprog.storage.ids import new_id
from autoprog.storage.repositories._erasing import erase
from autoprog.storage.repositories._owned import OwnedRepository, get_owned
from autoprog.storage.test_selection_tables import StatefulRow

Stateful = TypeVar("Stateful", bound=StatefulRow)


class StatefulRepository(OwnedRepository[Stateful]):
    """What the repositories of resources that learn have in common."""

    def add(self, owner_id: str, *, name: str, document: Mapping[str, Any], state: Mapping[str, Any]) -> Stateful:
        """Keep what has learnt nothing yet.

        Parameters
        ----------
        owner_id : str
            Whom it belongs to.
        name : str
            As the client calls it.
        document : mapping
            What the API shows of it, as JSON.
        state : mapping
            All that it has learnt, as JSON.

        Returns
        -------
        row
            With its new identifier.
        """
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
        """Read one with all that it has learnt, and let nothing change it until the transaction ends.

        Parameters
        ----------
        owner_id : str
            Who asks.
        row_id : str
            Its identifier.

        Returns
        -------
        row
            With its state.

        Raises
        ------
        NotFoundError
            If there is none, or it is another owner's.
        """
        whole = [undefer(self._table.state)]
        return get_owned(self._session, self._table, owner_id, row_id, lock=True, options=whole)

    def change(self, row: Stateful, *, document: Mapping[str, Any], state: Mapping[str, Any]) -> None:
        """Write what a locked one has learnt.

        Parameters
        ----------
        row : row
            As `lock` gave it, in the same transaction.
        document, state : mapping
            As for `add`.
        """
        row.document, row.state, row.changed_at = dict(document), dict(state), database_now(self._session)
        self._session.flush()

    def delete(self, owner_id: str, row_id: str) -> None:
        """Delete one. Raises NotFoundError."""
        row = get_owned(self._session, self._table, owner_id, row_id, lock=True)
        erase(self._session, self._table, self._table.id == row.id)
