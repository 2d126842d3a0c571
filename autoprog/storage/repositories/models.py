"""Queries on models."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import or_, select
from sqlalchemy.orm import defer

from autoprog.storage.database import database_now, new_id
from autoprog.storage.files import StoredFile
from autoprog.storage.pages import DEFAULT_LIMIT, Page, contains, page_by_creation
from autoprog.storage.repositories._owned import OwnedRepository, PartRepository, erase, get_owned
from autoprog.storage.tables import CohortRow, ModelCohortRow, ModelRow, ModelStatusRow, SearchRow, ValidationRow

_WITHOUT_DOCUMENT = defer(ModelRow.document)


class ModelRepository(OwnedRepository[ModelRow]):
    """Models of all owners."""

    _table = ModelRow

    def add(
        self, owner_id: str, search_id: str, cohort_id: str, *, sha256: str, document: Mapping[str, Any]
    ) -> ModelRow:
        """Store version 1 of a search's model, whose file is stored; the API shows `document`."""
        row = ModelRow(
            id=new_id(),
            owner_id=owner_id,
            search_id=search_id,
            cohort_id=cohort_id,
            version=1,
            sha256=sha256,
            document=dict(document),
            created_at=database_now(self._session),
        )
        return self._insert(row, {cohort_id})

    def add_version(self, parent: ModelRow, *, sha256: str, cohort_id: str, document: Mapping[str, Any]) -> ModelRow:
        """Store a model made from another one, with its owner and search; its file is stored."""
        row = ModelRow(
            id=new_id(),
            owner_id=parent.owner_id,
            search_id=parent.search_id,
            cohort_id=cohort_id,
            version=parent.version + 1,
            parent_id=parent.id,
            sha256=sha256,
            document=dict(document),
            patients_erased=parent.patients_erased,
            created_at=database_now(self._session),
        )
        return self._insert(row, self.cohort_ids(parent) | {cohort_id})

    def _insert(self, row: ModelRow, cohort_ids: Collection[str]) -> ModelRow:
        self._session.add(row)
        self._session.flush()
        self._session.add_all(ModelCohortRow(model_id=row.id, cohort_id=each) for each in cohort_ids)
        self._session.flush()
        return row

    def get_briefly(self, owner_id: str, model_id: str) -> ModelRow:
        """Read a model without its document, which is long, for a transaction that ends soon. Raises NotFoundError."""
        return get_owned(self._session, ModelRow, owner_id, model_id, options=(_WITHOUT_DOCUMENT,))

    def cohort_ids(self, model: ModelRow) -> set[str]:
        """Identify the cohorts, deleted ones too, that a model or an earlier version was fitted on or updated to."""
        query = select(ModelCohortRow.cohort_id).where(ModelCohortRow.model_id == model.id)
        recorded = set(self._session.scalars(query))
        return recorded if model.cohort_id is None else recorded | {model.cohort_id}

    def derived(self, owner_id: str, cohort_ids: Collection[str], *, lock: bool = False) -> Sequence[ModelRow]:
        """List the models that were fitted on some cohorts or updated to them, or whose earlier versions were."""
        recorded = select(ModelCohortRow.model_id).where(ModelCohortRow.cohort_id.in_(cohort_ids))
        searches = select(SearchRow.id).where(SearchRow.cohort_id.in_(cohort_ids))
        # Processes of an earlier version, which go on while the tables are migrated, record no cohorts.
        found = or_(ModelRow.id.in_(recorded), ModelRow.cohort_id.in_(cohort_ids), ModelRow.search_id.in_(searches))
        query = select(ModelRow).where(ModelRow.owner_id == owner_id, found).order_by(ModelRow.id)
        return self._session.scalars(query.with_for_update() if lock else query).all()

    def find(
        self, owner_id: str, text: str, *, limit: int = DEFAULT_LIMIT, cursor: str | None = None
    ) -> Page[ModelRow]:
        """List models of cohorts whose name contains a text, newest first; an empty text finds all of them."""
        query = select(ModelRow).where(ModelRow.owner_id == owner_id)
        if text:
            named = contains(CohortRow.name, text)
            query = query.join(CohortRow, CohortRow.id == ModelRow.cohort_id).where(named)
        return page_by_creation(self._session, query, ModelRow, limit, cursor, newest_first=True)

    def lock(self, owner_id: str, model_id: str) -> ModelRow:
        """Read a model that no other transaction changes until this one ends. Raises NotFoundError."""
        return get_owned(self._session, ModelRow, owner_id, model_id, lock=True)

    def delete(self, owner_id: str, model_id: str) -> StoredFile:
        """Delete a model but not its search; return its file for `remove_unreferenced`. Raises NotFoundError."""
        model = get_owned(self._session, ModelRow, owner_id, model_id, lock=True)
        erase(self._session, ModelRow, ModelRow.id == model_id)
        return StoredFile("models", model.sha256)


class ModelStatusRepository(PartRepository[ModelStatusRow]):
    """Changes of the status of all owners' models."""

    _table = ModelStatusRow
    _whole, _key = ModelRow, "model_id"

    def change(self, model: ModelRow, status: str, *, note: str | None, key_id: str | None) -> ModelStatusRow:
        """Give a locked model another status and record who did it and why."""
        model.status = status
        row = ModelStatusRow(
            id=new_id(),
            owner_id=model.owner_id,
            model_id=model.id,
            status=status,
            note=note,
            key_id=key_id,
            created_at=database_now(self._session),
        )
        self._session.add(row)
        self._session.flush()
        return row


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
