from __future__ import annotations

import pytest
from sqlalchemy import delete, func, select

from autoprog.errors import ConflictError, NotFoundError
from autoprog.jobs import JobKind
from autoprog.storage.database import Database
from autoprog.storage.files import Files, StoredFile
from autoprog.storage.repositories import (
    CohortRepository,
    JobRepository,
    ModelRepository,
    SearchRepository,
    SelectionProblemRepository,
)
from autoprog.storage.store import DatabaseStore
from autoprog.storage.stored_files import remove_unreferenced
from autoprog.storage.tables import Base, EvaluationRow, JobRow, JobStatus, ModelCohortRow, ModelRow, SearchRow
from autoprog.storage.test_selection_tables import SelectionProblemRow
from tests.storage.support import PATIENTS, SHA256, add_cohort, add_owner, add_search, make_evaluation, make_result

COHORT_FILE = StoredFile("cohorts", SHA256)


def run_search(database: Database, files: Files, *, finish: bool = True, content: bytes = b"a model") -> None:
    store = DatabaseStore(database, files)
    claim = store.claim("runner", 60)
    assert claim is not None
    store.record_evaluation(claim, make_evaluation(0))
    if finish:
        store.finish(claim, make_result(content), cancelled=False)


@pytest.fixture
def cohort_ids(database: Database) -> tuple[str, str]:
    """Identifiers of an owner and of a cohort with one queued search."""
    with database.session() as session:
        owner_id = add_owner(session)
        cohort = add_cohort(session, owner_id)
        add_search(session, owner_id, cohort.id)
        return owner_id, cohort.id


def test_a_cohort_comes_back_as_it_was_kept(database: Database, cohort_ids: tuple[str, str]) -> None:
    with database.session(read_only=True) as session:
        row = CohortRepository(session).get(*cohort_ids)
    assert (row.name, row.sha256, row.n_patients) == ("cleveland", SHA256, 303)
    assert (row.spec, row.document) == ({"name": "cleveland"}, {"n_rows": 303})


def test_documents_keep_their_order_and_their_numbers(database: Database) -> None:
    document = {"z": 1, "a": 1.0, "m": [0.1 + 0.2, None, True, "\u00e9\0"]}
    with database.session() as session:
        owner_id = add_owner(session)
        row = CohortRepository(session).add(owner_id, name="x", sha256=SHA256, n_patients=1, spec={}, document=document)
    with database.session(read_only=True) as session:
        stored = CohortRepository(session).get(owner_id, row.id).document
    assert repr(stored) == repr(document)


def test_another_owner_finds_and_deletes_nothing(database: Database, cohort_ids: tuple[str, str]) -> None:
    with database.session() as session:
        stranger = add_owner(session, "ward-4")
        cohorts = CohortRepository(session)
        with pytest.raises(NotFoundError):
            cohorts.get(stranger, cohort_ids[1])
        with pytest.raises(NotFoundError):
            cohorts.delete(stranger, cohort_ids[1], models="delete")
        assert cohorts.get(*cohort_ids).owner_id == cohort_ids[0]


def test_deleting_a_cohort_may_keep_its_models(database: Database, files: Files, cohort_ids: tuple[str, str]) -> None:
    run_search(database, files)
    with database.session() as session:
        assert CohortRepository(session).delete(*cohort_ids, models="keep") == (COHORT_FILE,)
    with database.session(read_only=True) as session:
        (model,) = ModelRepository(session).page(cohort_ids[0]).items
        assert (model.search_id, model.cohort_id) == (None, None)
        assert files.get("models", model.sha256) == b"a model"
        for table in ("cohort", "search", "evaluation", "search_event"):
            assert session.scalar(select(func.count()).select_from(Base.metadata.tables[table])) == 0


def test_deleting_a_cohort_may_delete_its_models(database: Database, files: Files, cohort_ids: tuple[str, str]) -> None:
    run_search(database, files)
    with database.session() as session:
        sha256 = session.scalars(select(ModelRow.sha256)).one()
        freed = CohortRepository(session).delete(*cohort_ids, models="delete")
        assert set(freed) == {COHORT_FILE, StoredFile("models", sha256)}
    with database.session(read_only=True) as session:
        assert session.scalars(select(ModelRow)).all() == []


def test_models_of_a_deleted_search_go_with_the_cohort_too(
    database: Database, files: Files, cohort_ids: tuple[str, str]
) -> None:
    run_search(database, files)
    with database.session() as session:
        SearchRepository(session).delete(cohort_ids[0], session.scalars(select(SearchRow.id)).one())
        assert len(CohortRepository(session).delete(*cohort_ids, models="delete")) == 2
        assert session.scalars(select(ModelRow)).all() == []


@pytest.mark.parametrize("is_parentless", [False, True])
def test_models_updated_from_those_of_a_cohort_go_with_it(
    database: Database, files: Files, cohort_ids: tuple[str, str], *, is_parentless: bool
) -> None:
    owner_id, cohort_id = cohort_ids
    run_search(database, files)
    with database.session() as session:
        other, models = add_cohort(session, owner_id), ModelRepository(session)
        model = session.scalars(select(ModelRow)).one()
        models.add_version(model, sha256="b" * 64, cohort_id=other.id, document={})
    if is_parentless:
        with database.session() as session:
            ModelRepository(session).delete(owner_id, model.id)
            SearchRepository(session).delete(owner_id, session.scalars(select(SearchRow.id)).one())
    with database.session() as session:
        freed = CohortRepository(session).delete(owner_id, cohort_id, models="delete")
        assert StoredFile("models", "b" * 64) in freed
        assert session.scalars(select(ModelRow)).all() == []


def test_models_that_others_were_updated_from_stay_with_their_cohort(
    database: Database, files: Files, cohort_ids: tuple[str, str]
) -> None:
    run_search(database, files)
    with database.session() as session:
        other, third = (add_cohort(session, cohort_ids[0]) for _ in range(2))
        models = ModelRepository(session)
        model = session.scalars(select(ModelRow)).one()
        version = models.add_version(model, sha256="b" * 64, cohort_id=other.id, document={})
        models.add_version(version, sha256="c" * 64, cohort_id=third.id, document={})
    with database.session() as session:
        CohortRepository(session).delete(cohort_ids[0], other.id, models="delete")
        assert session.scalars(select(ModelRow.id)).all() == [model.id]


def test_models_that_an_earlier_version_stored_go_with_their_cohort(
    database: Database, files: Files, cohort_ids: tuple[str, str]
) -> None:
    """As its processes do while the tables are migrated: they record no cohorts of a model."""
    run_search(database, files)
    with database.session() as session:
        other = add_cohort(session, cohort_ids[0])
        model = session.scalars(select(ModelRow)).one()
        ModelRepository(session).add_version(model, sha256="b" * 64, cohort_id=other.id, document={})
        session.execute(delete(ModelCohortRow))
    with database.session() as session:
        CohortRepository(session).delete(*cohort_ids, models="delete")
        assert session.scalars(select(ModelRow)).all() == []


@pytest.mark.parametrize("status", list(JobStatus))
def test_a_problem_that_is_being_trained_is_not_left_without_its_cohort(
    database: Database, cohort_ids: tuple[str, str], status: JobStatus
) -> None:
    owner_id, cohort_id = cohort_ids
    with database.session() as session:
        problem = SelectionProblemRepository(session).add(owner_id, name="x", document={}, cohort_id=cohort_id)
        JobRepository(session).add(owner_id, JobKind.TEST_SELECTION_TRAINING, problem.id).status = status
    is_waiting = status in {JobStatus.QUEUED, JobStatus.RUNNING}
    with database.session() as session:
        cohorts = CohortRepository(session)
        if is_waiting:
            with pytest.raises(ConflictError, match=problem.id):
                cohorts.delete(owner_id, cohort_id, models="keep")
            cohorts.delete(owner_id, cohort_id, models="delete")
        else:
            cohorts.delete(owner_id, cohort_id, models="keep")
    with database.session(read_only=True) as session:
        kept = session.scalars(select(SelectionProblemRow.cohort_id)).all()
        assert kept == ([] if is_waiting else [None])
        assert len(session.scalars(select(JobRow)).all()) == len(kept)


def test_files_that_others_need_are_not_removed(database: Database, files: Files, cohort_ids: tuple[str, str]) -> None:
    assert files.put("cohorts", PATIENTS) == SHA256
    with database.session() as session:
        stranger = add_owner(session, "ward-4")
        same = add_cohort(session, stranger)
        add_search(session, stranger, same.id)
    run_search(database, files)
    run_search(database, files)
    for ids, stay in ((cohort_ids, True), ((stranger, same.id), False)):
        with database.session() as session:
            freed = CohortRepository(session).delete(*ids, models="delete")
        remove_unreferenced(database, files, freed)
        assert [files.has(file) for file in freed] == [stay] * 2


def test_a_cohort_with_a_running_search_stays(database: Database, files: Files, cohort_ids: tuple[str, str]) -> None:
    run_search(database, files, finish=False)
    with database.session() as session, pytest.raises(ConflictError, match="cancel the running searches"):
        CohortRepository(session).delete(*cohort_ids, models="delete")
    with database.session(read_only=True) as session:
        assert session.scalar(select(func.count()).select_from(EvaluationRow)) == 1


def test_queued_searches_go_with_their_cohort(database: Database, files: Files, cohort_ids: tuple[str, str]) -> None:
    with database.session() as session:
        CohortRepository(session).delete(*cohort_ids, models="keep")
    assert DatabaseStore(database, files).claim("runner", 60) is None
