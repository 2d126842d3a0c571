"""Queries on validations of models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import delete, select

from autoprog.errors import NotFoundError
from autoprog.storage.database import database_now
from autoprog.storage.ids import new_id
from autoprog.storage.pages import DEFAULT_LIMIT, Page, page_by_creation
from autoprog.storage.repositories._owned import OwnedRepository, get_owned
from autoprog.storage.tables import ModelRow, ValidationRow


class ValidationRepository(OwnedRepository[ValidationRow]):
    """Validations of all owners' models."""

    _table = ValidationRow

    def add(self, model: ModelRow, cohort_id: str, document: Mapping[str, Any]) -> ValidationRow:
        """Keep what a model was worth in a cohort of its owner.

        Parameters
        ----------
        model : ModelRow
            The model.
        cohort_id : str
            The cohort.
        document : mapping
            What the API shows, as JSON.

        Returns
        -------
        ValidationRow
            With its new identifier.
        """
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

    def of_model(self, owner_id: str, model_id: str, validation_id: str) -> ValidationRow:
        """Read one of a model's. Raises NotFoundError, also where it is another model's or another owner's."""
        row = self.get(owner_id, validation_id)
        if row.model_id != model_id:
            raise NotFoundError("there is no validation with this id")
        return row

    def page_of_model(
        self, owner_id: str, model_id: str, *, limit: int = DEFAULT_LIMIT, cursor: str | None = None
    ) -> Page[ValidationRow]:
        """List a model's, oldest first.

        Parameters
        ----------
        owner_id : str
            Who asks.
        model_id : str
            The model.
        limit : int
            Most items, at least 1.
        cursor : str or None
            `next_cursor` of the page before.

        Returns
        -------
        Page
            Of rows.

        Raises
        ------
        NotFoundError
            If there is no such model, or it is another owner's.
        InvalidInputError
            If the cursor is none of this list's.
        """
        get_owned(self._session, ModelRow, owner_id, model_id)
        query = select(ValidationRow).where(ValidationRow.model_id == model_id)
        return page_by_creation(self._session, query, ValidationRow, limit, cursor)

    def delete(self, owner_id: str, model_id: str, validation_id: str) -> None:
        """Delete one of a model's. Raises NotFoundError."""
        row = self.of_model(owner_id, model_id, validation_id)
        self._session.execute(delete(ValidationRow).where(ValidationRow.id == row.id))
