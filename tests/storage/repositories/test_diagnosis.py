from __future__ import annotations

import pytest
from sqlalchemy.orm import undefer

from autoprog.errors import ConflictError, NotFoundError
from autoprog.storage.database import Database
from autoprog.storage.files import Files
from autoprog.storage.repositories import (
    DiagnosisLearnerRepository,
    DiagnosisModelRepository,
    DiagnosisSessionRepository,
    JobRepository,
)
from autoprog.storage.repositories._owned import get_owned
from autoprog.storage.tables import DiagnosisLearnerRow, DiagnosisSessionRow
from tests.storage.jobs import TREE, add_diagnosis_model
from tests.storage.support import add_owner


def add_session(database: Database, files: Files) -> DiagnosisSessionRow:
    model = add_diagnosis_model(database, files)
    with database.session() as session:
        return DiagnosisSessionRepository(session).add(model.owner_id, model.id, {"answers": []})


def add_learner(database: Database) -> DiagnosisLearnerRow:
    with database.session() as session:
        owner_id = add_owner(session)
        return DiagnosisLearnerRepository(session).add(owner_id, name="l", seed=2**63 - 1, document={}, state={"n": 0})


def test_a_session_that_was_changed_since_it_was_read_is_not_overwritten(database: Database, files: Files) -> None:
    read = add_session(database, files)
    with database.session() as session:
        changed = DiagnosisSessionRepository(session).change(read, {"answers": [1]})
    assert (changed.state, changed.version) == ({"answers": [1]}, 2)
    assert changed.changed_at >= read.changed_at == read.created_at
    with pytest.raises(ConflictError, match="diagnosis session"), database.session() as session:
        DiagnosisSessionRepository(session).change(read, {"answers": [2]})
    with database.session(read_only=True) as session:
        row, model = DiagnosisSessionRepository(session).with_model(read.owner_id, read.id)
    assert (row.state, model.id) == ({"answers": [1]}, read.model_id)


def test_a_session_that_was_deleted_is_not_written_again(database: Database, files: Files) -> None:
    read = add_session(database, files)
    with database.session() as session:
        DiagnosisSessionRepository(session).delete(read.owner_id, read.id)
    with pytest.raises(ConflictError), database.session() as session:
        DiagnosisSessionRepository(session).change(read, {"answers": [2]})


def test_a_session_needs_a_model_of_the_same_owner(database: Database, files: Files) -> None:
    model = add_diagnosis_model(database, files)
    with database.session() as session:
        other = add_owner(session, "ward-4")
    with pytest.raises(NotFoundError), database.session() as session:
        DiagnosisSessionRepository(session).add(other, model.id, {})


@pytest.mark.parametrize("row_id", ["0" * 32, "x", "\0"])
def test_what_is_not_there(database: Database, row_id: str) -> None:
    with database.session() as session:
        owner_id = add_owner(session)
    with pytest.raises(NotFoundError, match="there is no diagnosis session"), database.session() as session:
        DiagnosisSessionRepository(session).with_model(owner_id, row_id)
    with pytest.raises(NotFoundError, match="there is no diagnosis learner"), database.session() as session:
        DiagnosisLearnerRepository(session).with_state(owner_id, row_id)
    with pytest.raises(NotFoundError, match="there is no diagnosis model"), database.session() as session:
        DiagnosisModelRepository(session).delete(owner_id, row_id)


def test_a_learner_keeps_all_that_it_has_learnt(database: Database) -> None:
    read = add_learner(database)
    with database.session() as session:
        DiagnosisLearnerRepository(session).change(read, n_cases=3, document={"d": 1}, state={"n": 0.1 + 0.2})
    with pytest.raises(ConflictError, match="diagnosis learner"), database.session() as session:
        DiagnosisLearnerRepository(session).change(read, n_cases=4, document={}, state={})
    with database.session(read_only=True) as session:
        row = DiagnosisLearnerRepository(session).with_state(read.owner_id, read.id)
    assert (row.n_cases, row.state, row.document, row.seed) == (3, {"n": 0.1 + 0.2}, {"d": 1}, 2**63 - 1)


def test_the_latest_job_of_each_subject(database: Database, files: Files) -> None:
    first, second, third = (add_diagnosis_model(database, files) for _ in range(3))
    with database.session() as session:
        jobs = JobRepository(session)
        ids = [jobs.add(model.owner_id, TREE, model.id).id for model in (first, second, first)]
    with database.session(read_only=True) as session:
        found = JobRepository(session).load_latest(TREE, [first.id, second.id, third.id])
    assert {subject: job.id for subject, job in found.items()} == {first.id: ids[2], second.id: ids[1]}


def test_a_row_is_locked_with_what_is_asked_for(database: Database) -> None:
    added = add_learner(database)
    with database.session() as session:
        assert session.get(DiagnosisLearnerRow, added.id) is not None  # seen before, without its state
        whole = [undefer(DiagnosisLearnerRow.state)]
        row = get_owned(session, DiagnosisLearnerRow, added.owner_id, added.id, lock=True, options=whole)
    assert row.state == {"n": 0}
