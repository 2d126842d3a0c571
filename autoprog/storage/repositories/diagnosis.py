"""Queries on models of a diagnosis, their sessions, and learners."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from sqlalchemy import select, update
from sqlalchemy.orm import Session, undefer

from autoprog.errors import ConflictError, NotFoundError
from autoprog.storage.database import database_now, is_id, new_id
from autoprog.storage.files import StoredFile
from autoprog.storage.repositories._owned import NamedRepository, OwnedRepository, PartRepository, erase, get_owned
from autoprog.storage.repositories.jobs import JobRepository
from autoprog.storage.tables import CohortRow, DiagnosisLearnerRow, DiagnosisModelRow, DiagnosisSessionRow

Versioned = TypeVar("Versioned", DiagnosisSessionRow, DiagnosisLearnerRow)


class DiagnosisModelRepository(NamedRepository[DiagnosisModelRow]):
    """Models of a diagnosis, of all owners."""

    _table = DiagnosisModelRow

    def add(
        self,
        owner_id: str,
        *,
        name: str,
        sha256: str,
        document: Mapping[str, Any],
        cohort_id: str | None = None,
        tree: tuple[str, Mapping[str, Any]] | None = None,
    ) -> DiagnosisModelRow:
        """Store a model whose files are stored; `tree` is a digest and a document. Raises NotFoundError."""
        if cohort_id is not None:
            get_owned(self._session, CohortRow, owner_id, cohort_id, lock=True)
        row = DiagnosisModelRow(
            id=new_id(),
            owner_id=owner_id,
            cohort_id=cohort_id,
            name=name,
            sha256=sha256,
            tree_sha256=None if tree is None else tree[0],
            document=dict(document),
            tree=None if tree is None else dict(tree[1]),
            created_at=database_now(self._session),
        )
        self._session.add(row)
        self._session.flush()
        return row

    def lock(self, owner_id: str, model_id: str) -> DiagnosisModelRow:
        """Read a model, locked until the transaction ends. Raises NotFoundError."""
        return get_owned(self._session, DiagnosisModelRow, owner_id, model_id, lock=True)

    def delete(self, owner_id: str, model_id: str) -> tuple[StoredFile, ...]:
        """Delete a model, its sessions and jobs; return its files for `remove_unreferenced`. Raises NotFoundError."""
        model = self.lock(owner_id, model_id)
        JobRepository(self._session).delete_for(model_id)
        erase(self._session, DiagnosisModelRow, DiagnosisModelRow.id == model_id)
        return list_files(model)


def list_files(model: DiagnosisModelRow) -> tuple[StoredFile, ...]:
    """Files that a model of a diagnosis refers to."""
    files = [StoredFile("diagnosis_models", model.sha256)]
    if model.tree_sha256 is not None:
        files.append(StoredFile("diagnosis_trees", model.tree_sha256))
    return tuple(files)


class DiagnosisSessionRepository(PartRepository[DiagnosisSessionRow]):
    """Sessions of all owners."""

    _table = DiagnosisSessionRow
    _whole, _key = DiagnosisModelRow, "model_id"

    def add(self, owner_id: str, model_id: str, state: Mapping[str, Any]) -> DiagnosisSessionRow:
        """Open a session with a state as JSON. Raises NotFoundError."""
        get_owned(self._session, DiagnosisModelRow, owner_id, model_id, lock=True)
        now = database_now(self._session)
        row = DiagnosisSessionRow(
            id=new_id(),
            owner_id=owner_id,
            model_id=model_id,
            state=dict(state),
            version=1,
            created_at=now,
            changed_at=now,
        )
        self._session.add(row)
        self._session.flush()
        return row

    def with_model(self, owner_id: str, session_id: str) -> tuple[DiagnosisSessionRow, DiagnosisModelRow]:
        """Read a session and its model. Raises NotFoundError."""
        # One statement, as another request may delete both between two.
        query = (
            select(DiagnosisSessionRow, DiagnosisModelRow)
            .join(DiagnosisModelRow, DiagnosisModelRow.id == DiagnosisSessionRow.model_id)
            .where(DiagnosisSessionRow.id == session_id, DiagnosisSessionRow.owner_id == owner_id)
        )
        found = self._session.execute(query).one_or_none() if is_id(session_id) else None
        if found is None:
            msg = "there is no diagnosis session with this id"
            raise NotFoundError(msg)
        row, model = found
        return row, model

    def change(self, row: DiagnosisSessionRow, state: Mapping[str, Any]) -> DiagnosisSessionRow:
        """Update a session's state; raises ConflictError if it was changed or deleted since `row` was read."""
        return _changed(self._session, DiagnosisSessionRow, row, state=dict(state))

    def delete(self, owner_id: str, session_id: str) -> None:
        """Delete a session. Raises NotFoundError."""
        row = get_owned(self._session, DiagnosisSessionRow, owner_id, session_id, lock=True)
        erase(self._session, DiagnosisSessionRow, DiagnosisSessionRow.id == row.id)


class DiagnosisLearnerRepository(OwnedRepository[DiagnosisLearnerRow]):
    """Learners of responses, of all owners."""

    _table = DiagnosisLearnerRow

    def add(
        self, owner_id: str, *, name: str, seed: int, document: Mapping[str, Any], state: Mapping[str, Any]
    ) -> DiagnosisLearnerRow:
        """Store a learner without cases; the API shows `document`, and `state` is everything learnt."""
        now = database_now(self._session)
        row = DiagnosisLearnerRow(
            id=new_id(),
            owner_id=owner_id,
            name=name,
            seed=seed,
            n_cases=0,
            version=1,
            document=dict(document),
            state=dict(state),
            created_at=now,
            changed_at=now,
        )
        self._session.add(row)
        self._session.flush()
        return row

    def with_state(self, owner_id: str, learner_id: str) -> DiagnosisLearnerRow:
        """Read a learner with its state. Raises NotFoundError."""
        whole = [undefer(DiagnosisLearnerRow.state)]
        return get_owned(self._session, DiagnosisLearnerRow, owner_id, learner_id, options=whole)

    def change(
        self, row: DiagnosisLearnerRow, *, n_cases: int, document: Mapping[str, Any], state: Mapping[str, Any]
    ) -> DiagnosisLearnerRow:
        """Update a learner; raises ConflictError if it was changed or deleted since `row` was read."""
        return _changed(
            self._session, DiagnosisLearnerRow, row, n_cases=n_cases, document=dict(document), state=dict(state)
        )

    def delete(self, owner_id: str, learner_id: str) -> None:
        """Delete a learner; models made from it stay. Raises NotFoundError."""
        row = get_owned(self._session, DiagnosisLearnerRow, owner_id, learner_id, lock=True)
        erase(self._session, DiagnosisLearnerRow, DiagnosisLearnerRow.id == row.id)


def _changed(session: Session, table: type[Versioned], row: Versioned, **values: object) -> Versioned:
    take = (
        update(table)
        .where(table.id == row.id, table.version == row.version)
        .values(**values, version=row.version + 1, changed_at=database_now(session))
        .returning(table)
    )
    changed = session.scalars(take, execution_options={"synchronize_session": False}).one_or_none()
    if changed is None:
        what = table.__tablename__.replace("_", " ")
        msg = f"another request has changed the {what} in the meantime; look at it again"
        raise ConflictError(msg)
    return changed
