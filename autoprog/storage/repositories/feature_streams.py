"""Queries on streams of feature selection, and on what was selected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from autoprog.storage.database import database_now
from autoprog.storage.ids import new_id
from autoprog.storage.repositories._erasing import erase
from autoprog.storage.repositories._owned import PartRepository
from autoprog.storage.repositories._stateful import StatefulRepository
from autoprog.storage.test_selection_tables import FeatureSelectionRow, FeatureStreamRow


class FeatureStreamRepository(StatefulRepository[FeatureStreamRow]):
    """Streams of all owners; their selections are deleted with them."""

    _table = FeatureStreamRow


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
