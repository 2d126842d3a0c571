"""Queries on erasures of patients, and on what was computed from a cohort."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select, update

from autoprog.storage.database import database_now, new_id
from autoprog.storage.repositories._owned import OwnedRepository
from autoprog.storage.repositories.models import ModelRepository
from autoprog.storage.tables import DiagnosisModelRow, ModelRow, PatientErasureRow, SearchRow, ValidationRow
from autoprog.storage.test_selection_tables import SelectionProblemRow


@dataclass(frozen=True)
class Derived:
    """Everything of an owner that was computed from some cohorts, each oldest first."""

    searches: Sequence[str]
    models: Sequence[ModelRow]  # and those that were made from them
    diagnosis_models: Sequence[DiagnosisModelRow]
    problems: Sequence[SelectionProblemRow]
    validations: Sequence[ValidationRow]


class PatientErasureRepository(OwnedRepository[PatientErasureRow]):
    """Erasures of all owners' patients."""

    _table = PatientErasureRow

    def add(self, owner_id: str, document: Mapping[str, Any]) -> PatientErasureRow:
        """Record an erasure; the API shows `document`."""
        row = PatientErasureRow(
            id=new_id(), owner_id=owner_id, document=dict(document), created_at=database_now(self._session)
        )
        self._session.add(row)
        self._session.flush()
        return row

    def mark(self, kept: Collection[str]) -> None:
        """Count one more erased patient in the models with these identifiers, as far as they are still there."""
        tables: tuple[type[ModelRow | DiagnosisModelRow | SelectionProblemRow], ...] = (
            ModelRow, DiagnosisModelRow, SelectionProblemRow,
        )  # fmt: skip
        for table in tables:
            # Added up by the database: another cohort's patient may be erased from the same model meanwhile.
            counted = update(table).where(table.id.in_(kept)).values(patients_erased=table.patients_erased + 1)
            self._session.execute(counted, execution_options={"synchronize_session": False})

    def find_derived(self, owner_id: str, cohort_ids: Collection[str]) -> Derived:
        """Find what was computed from an owner's cohorts."""
        searches = self._session.scalars(
            select(SearchRow.id)
            .where(SearchRow.owner_id == owner_id, SearchRow.cohort_id.in_(cohort_ids))
            .order_by(SearchRow.id)
        ).all()
        return Derived(
            searches,
            ModelRepository(self._session).derived(owner_id, cohort_ids),
            self._session.scalars(
                select(DiagnosisModelRow)
                .where(DiagnosisModelRow.owner_id == owner_id, DiagnosisModelRow.cohort_id.in_(cohort_ids))
                .order_by(DiagnosisModelRow.id)
            ).all(),
            self._session.scalars(
                select(SelectionProblemRow)
                .where(SelectionProblemRow.owner_id == owner_id, SelectionProblemRow.cohort_id.in_(cohort_ids))
                .order_by(SelectionProblemRow.id)
            ).all(),
            self._session.scalars(
                select(ValidationRow)
                .where(ValidationRow.owner_id == owner_id, ValidationRow.cohort_id.in_(cohort_ids))
                .order_by(ValidationRow.id)
            ).all(),
        )
