"""Queries on external validations of models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from autoprog.storage.database import database_now
from autoprog.storage.ids import new_id
from autoprog.storage.repositories._erasing import erase
from autoprog.storage.repositories._owned import PartRepository
from autoprog.storage.tables import ModelRow, ValidationRow


class ValidationRepository(PartRepository[ValidationRow]):
    """Validations of all owners' models."""

    _table = ValidationRow
    _whole, _key = ModelRow, "model_id"

    def add(self, model: ModelRow, cohort_id: str, document: Mapping[str, Any]) -> ValidationRow:
        """Store a model's validation in a cohort; the API shows `document`."""
        row = ValidationRow(
            id=new_id(),
            owner_id=model.owner_id,
            model_id=model.id,
            cohort_id=cohort_id,
            document=dict(document),
            created_at=database_now(self._session),
        )
        self._session.add(row)
        self._session.flush()
        return row

    def delete(self, owner_id: str, model_id: str, validation_id: str) -> None:
        """Delete a model's validation. Raises NotFoundError."""
        row = self.of(owner_id, model_id, validation_id)
        erase(self._session, ValidationRow, ValidationRow.id == row.id)
