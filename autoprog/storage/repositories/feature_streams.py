"""Queries on streams of feature selection, and on what was selected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy.orm import undefer

from autoprog.storage.database import database_now
from autoprog.storage.ids import new_id
from autoprog.storage.repositories._erasing import erase
from autoprog.storage.repositories._owned import OwnedRepository, PartRepository, get_owned
from autoprog.storage.test_selection_tables import FeatureSelectionRow, FeatureStreamRow


class FeatureStreamRepository(OwnedRepository[FeatureStreamRow]):
    """Streams of all owners."""

    _table = FeatureStreamRow

    def add(
        self, owner_id: str, *, name: str, document: Mapping[str, Any], state: Mapping[str, Any]
    ) -> FeatureStreamRow:
        """Keep a stream that has seen no patient.

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
        FeatureStreamRow
            With its new identifier.
        """
        now = database_now(self._session)
        row = FeatureStreamRow(
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

    def lock(self, owner_id: str, stream_id: str) -> FeatureStreamRow:
        """Read a stream with all that it has learnt, and let nothing change it until the transaction ends.

        Parameters
        ----------
        owner_id : str
            Who asks.
        stream_id : str
            The stream.

        Returns
        -------
        FeatureStreamRow
            With its state.

        Raises
        ------
        NotFoundError
            If there is none, or it is another owner's.
        """
        whole = [undefer(FeatureStreamRow.state)]
        return get_owned(self._session, FeatureStreamRow, owner_id, stream_id, lock=True, options=whole)

    def change(self, row: FeatureStreamRow, *, document: Mapping[str, Any], state: Mapping[str, Any]) -> None:
        """Write what a locked stream has learnt.

        Parameters
        ----------
        row : FeatureStreamRow
            As `lock` gave it, in the same transaction.
        document, state : mapping
            As for `add`.
        """
        row.document, row.state, row.changed_at = dict(document), dict(state), database_now(self._session)
        self._session.flush()

    def delete(self, owner_id: str, stream_id: str) -> None:
        """Delete a stream with its selections. Raises NotFoundError."""
        row = get_owned(self._session, FeatureStreamRow, owner_id, stream_id, lock=True)
        erase(self._session, FeatureStreamRow, FeatureStreamRow.id == row.id)


class FeatureSelectionRepository(PartRepository[FeatureSelectionRow]):
    """What the streams of all owners have selected."""

    _table = FeatureSelectionRow
    _whole, _key = FeatureStreamRow, "stream_id"

    def add(self, stream: FeatureStreamRow, number: int, features: Sequence[str]) -> FeatureSelectionRow:
        """Keep a selection.

        Parameters
        ----------
        stream : FeatureStreamRow
            Locked by the transaction.
        number : int
            From 1, each once.
        features : sequence of str
            What to look at.

        Returns
        -------
        FeatureSelectionRow
            With its new identifier.
        """
        row = FeatureSelectionRow(
            id=new_id(),
            owner_id=stream.owner_id,
            stream_id=stream.id,
            number=number,
            features=list(features),
            created_at=database_now(self._session),
        )
        self._session.add(row)
        self._session.flush()
        return row

    def observe(self, row: FeatureSelectionRow, observed: Mapping[str, Any]) -> None:
        """Write what became of a selection; the transaction has locked its stream."""
        row.observed, row.observed_at = dict(observed), database_now(self._session)
        self._session.flush()

    def delete(self, owner_id: str, stream_id: str, selection_id: str) -> None:
        """Delete one of a stream's; what was learnt from it stays. Raises NotFoundError."""
        row = self.of(owner_id, stream_id, selection_id)
        erase(self._session, FeatureSelectionRow, FeatureSelectionRow.id == row.id)
