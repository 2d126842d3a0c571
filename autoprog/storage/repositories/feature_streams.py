"""Queries on streams of feature selection, and on their selections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from autoprog.storage.database import database_now, new_id
from autoprog.storage.repositories._owned import PartRepository, StatefulRepository, erase
from autoprog.storage.test_selection_tables import FeatureSelectionRow, FeatureStreamRow, ThresholdLearnerRow


class FeatureStreamRepository(StatefulRepository[FeatureStreamRow]):
    """Streams of all owners; their selections are deleted with them."""

    _table = FeatureStreamRow


class FeatureSelectionRepository(PartRepository[FeatureSelectionRow]):
    """Selections of all owners' streams."""

    _table = FeatureSelectionRow
    _whole, _key = FeatureStreamRow, "stream_id"

    def add(self, stream: FeatureStreamRow, number: int, features: Sequence[str]) -> FeatureSelectionRow:
        """Store a selection of a locked stream; each number, from 1, is used once."""
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
        """Store the observation of a selection; the transaction has locked the stream."""
        row.observed, row.observed_at = dict(observed), database_now(self._session)
        self._session.flush()

    def delete(self, owner_id: str, stream_id: str, selection_id: str) -> None:
        """Delete a stream's selection; what was learnt from it stays. Raises NotFoundError."""
        row = self.of(owner_id, stream_id, selection_id)
        erase(self._session, FeatureSelectionRow, FeatureSelectionRow.id == row.id)


class ThresholdLearnerRepository(StatefulRepository[ThresholdLearnerRow]):
    """Learners of all owners."""

    _table = ThresholdLearnerRow
