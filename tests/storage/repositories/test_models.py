from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import inspect, select

from autoprog.errors import NotFoundError
from autoprog.storage.database import Database
from autoprog.storage.files import Files, StoredFile
from autoprog.storage.repositories import ModelRepository, PatientErasureRepository, SearchRepository
from autoprog.storage.store import DatabaseStore
from autoprog.storage.stored_files import remove_unreferenced
from autoprog.storage.tables import ModelRow
from tests.storage.support import add_cohort, add_owner, make_result, queue_searches


def deliver(database: Database, files: Files, *contents: bytes) -> list[ModelRow]:
    queue_searches(database, len(contents))
    store = DatabaseStore(database, files)
    for content in contents:
        claim = store.claim("runner", 60)
        assert claim is not None
        store.finish(claim, make_result(content), cancelled=False)
    with database.session(read_only=True) as session:
        return list(session.scalars(select(ModelRow).order_by(ModelRow.created_at, ModelRow.id)))


def test_models_are_listed_for_their_owner_alone(database: Database, files: Files) -> None:
    models = deliver(database, files, b"a", b"b", b"c")
    owner_id = models[0].owner_id
    with database.session() as session:
        stranger = add_owner(session, "ward-4")
        repository = ModelRepository(session)
        page = repository.page(owner_id, limit=2)
        rest = repository.page(owner_id, limit=2, cursor=page.next_cursor)
        assert [row.id for row in (*page.items, *rest.items)] == [row.id for row in models]
        assert repository.get(owner_id, models[1].id).id == models[1].id
        assert repository.page(stranger).items == ()
        with pytest.raises(NotFoundError, match="no model"):
            repository.get(stranger, models[1].id)
        with pytest.raises(NotFoundError, match="no model"):
            repository.delete(stranger, models[1].id)


def test_a_model_is_read_without_its_long_document(database: Database, files: Files) -> None:
    (model,) = deliver(database, files, b"a")
    with database.session(read_only=True) as session:
        row = ModelRepository(session).get_briefly(model.owner_id, model.id)
        assert "document" in inspect(row).unloaded
        assert (row.sha256, row.status) == (model.sha256, "draft")
        with pytest.raises(NotFoundError, match="no model"):
            ModelRepository(session).get_briefly("stranger", model.id)


def test_a_deleted_model_frees_its_file_when_no_twin_needs_it(database: Database, files: Files) -> None:
    models = deliver(database, files, b"twin", b"twin")
    for model, stays in zip(models, (True, False), strict=True):
        with database.session() as session:
            freed = ModelRepository(session).delete(model.owner_id, model.id)
        assert freed == StoredFile("models", models[0].sha256)
        remove_unreferenced(database, files, [freed])
        assert files.has(freed) == stays


def test_a_search_outlives_its_model(database: Database, files: Files) -> None:
    (model,) = deliver(database, files, b"a")
    assert model.search_id is not None
    with database.session() as session:
        assert SearchRepository(session).get(model.owner_id, model.search_id).model_id == model.id
    with database.session() as session:
        ModelRepository(session).delete(model.owner_id, model.id)
    with database.session(read_only=True) as session:
        search = SearchRepository(session).get(model.owner_id, model.search_id)
        assert (search.status, search.model_id) == ("succeeded", None)


def test_a_search_does_not_take_a_later_version_for_its_model(database: Database, files: Files) -> None:
    (model,) = deliver(database, files, b"a")
    assert model.search_id is not None
    with database.session() as session:
        other = add_cohort(session, model.owner_id)
        ModelRepository(session).add_version(model, sha256="b" * 64, cohort_id=other.id, document={})
    with database.session() as session:
        ModelRepository(session).delete(model.owner_id, model.id)
    with database.session(read_only=True) as session:
        assert SearchRepository(session).get(model.owner_id, model.search_id).model_id is None


def test_patients_that_are_erased_at_the_same_time_are_all_counted(database: Database, files: Files) -> None:
    (model,) = deliver(database, files, b"a")
    assert model.cohort_id is not None
    has_found = threading.Event()

    def erase() -> None:
        with database.session() as session:
            erasures = PatientErasureRepository(session)
            erasures.find_derived(model.owner_id, [model.cohort_id])
            has_found.set()
            erasures.mark([model.id])

    with ThreadPoolExecutor(1) as pool:
        with database.session() as session:
            erasures = PatientErasureRepository(session)
            erasures.find_derived(model.owner_id, [model.cohort_id])
            other = pool.submit(erase)
            has_found.wait(1.0)  # on SQLite the other waits before it looks
            erasures.mark([model.id])
        other.result(30)
    with database.session(read_only=True) as session:
        assert ModelRepository(session).get(model.owner_id, model.id).patients_erased == 2
