from __future__ import annotations

from contextlib import suppress

import pytest
from sqlalchemy import func, select

from autoprog.errors import LeaseLostError
from autoprog.jobs.ports import JobClaim
from autoprog.storage.database import Database
from autoprog.storage.files import Files, StoredFile
from autoprog.storage.job_store import DatabaseJobStore
from autoprog.storage.repositories import DiagnosisModelRepository
from autoprog.storage.stored_files import remove_unreferenced
from autoprog.storage.tables import JobRow
from tests.storage.jobs import MATRIX, TREE, make_result, queue_jobs, read_job, read_subject

LONG = 60.0
EXPIRED = -1.0


@pytest.fixture
def store(database: Database, files: Files) -> DatabaseJobStore:
    return DatabaseJobStore(database, files)


def take(store: DatabaseJobStore, lease_s: float = LONG) -> JobClaim:
    claim = store.claim("runner", lease_s, [TREE])
    assert claim is not None
    return claim


def delete_subject(database: Database, job_id: str) -> tuple[StoredFile, ...]:
    model = read_subject(database, job_id)
    with database.session() as session:
        return DiagnosisModelRepository(session).delete(model.owner_id, model.id)


def test_an_empty_queue_gives_no_claim(store: DatabaseJobStore) -> None:
    assert store.claim("runner", LONG, [TREE]) is None


def test_jobs_are_claimed_oldest_first_and_each_once(database: Database, files: Files, store: DatabaseJobStore) -> None:
    ids = queue_jobs(database, files, 3)
    claims = [take(store) for _ in ids]
    assert [claim.job_id for claim in claims] == ids
    assert {claim.token for claim in claims} == {1}
    assert store.claim("other", LONG, [TREE]) is None


def test_a_runner_leaves_kinds_that_it_does_not_know(database: Database, files: Files, store: DatabaseJobStore) -> None:
    queue_jobs(database, files)
    assert store.claim("older", LONG, []) is None
    assert store.claim("newer", LONG, [TREE]) is not None


def test_a_claim_is_told_what_to_do_and_where_the_files_lie(
    database: Database, files: Files, store: DatabaseJobStore
) -> None:
    queue_jobs(database, files, depth=3, share=0.1 + 0.2)
    job = store.load(take(store))
    assert job.kind is TREE
    assert dict(job.parameters) == {"depth": 3, "share": 0.1 + 0.2}
    assert files.url("diagnosis_models", job.files["model"].sha256) == job.files["model"].url
    assert files.get("diagnosis_models", job.files["model"].sha256) == MATRIX


def test_a_finished_job_has_its_result_and_so_has_its_subject(
    database: Database, files: Files, store: DatabaseJobStore
) -> None:
    (job_id,) = queue_jobs(database, files)
    store.finish(take(store), make_result("seven nodes", b"seven nodes"))
    job, model = read_job(database, job_id), read_subject(database, job_id)
    assert (job.status, job.result, job.error) == ("succeeded", {"note": "seven nodes"}, None)
    assert (job.runner_id, job.lease_until) == (None, None)
    assert job.started_at is not None
    assert job.finished_at is not None
    assert job.created_at <= job.started_at <= job.finished_at
    assert model.tree == {"note": "seven nodes"}
    assert model.tree_sha256 is not None
    assert files.get("diagnosis_trees", model.tree_sha256) == b"seven nodes"
    assert store.claim("other", LONG, [TREE]) is None


def test_a_failed_job_says_why_and_is_not_done_again(database: Database, files: Files, store: DatabaseJobStore) -> None:
    (job_id,) = queue_jobs(database, files)
    store.fail(take(store), "job-failed", "timeout: after 2 s")
    job = read_job(database, job_id)
    assert (job.status, job.result) == ("failed", None)
    assert job.error == {"code": "job-failed", "detail": "timeout: after 2 s"}
    assert read_subject(database, job_id).tree is None
    assert store.claim("other", LONG, [TREE]) is None


def test_whoever_was_taken_over_writes_nothing_more(database: Database, files: Files, store: DatabaseJobStore) -> None:
    (job_id,) = queue_jobs(database, files)
    first, second = take(store, EXPIRED), take(store)
    assert second == JobClaim(job_id, first.token + 1, losses=1)
    with pytest.raises(LeaseLostError):
        store.heartbeat(first, LONG)
    with pytest.raises(LeaseLostError):
        store.load(first)
    with pytest.raises(LeaseLostError):
        store.finish(first, make_result("of the first"))
    with pytest.raises(LeaseLostError):
        store.fail(first, "job-failed", "of the first")
    assert read_job(database, job_id).status == "running"
    assert read_subject(database, job_id).tree is None
    store.finish(second, make_result("of the second"))
    with pytest.raises(LeaseLostError):
        store.finish(second, make_result("once more"))
    assert read_job(database, job_id).result == {"note": "of the second"}


def test_a_heartbeat_keeps_a_job(database: Database, files: Files, store: DatabaseJobStore) -> None:
    queue_jobs(database, files)
    claim = take(store, EXPIRED)
    store.heartbeat(claim, LONG)
    assert store.claim("other", LONG, [TREE]) is None


def test_a_job_that_is_given_back_is_free_at_once_and_counts_as_no_loss(
    database: Database, files: Files, store: DatabaseJobStore
) -> None:
    queue_jobs(database, files)
    first = take(store)
    store.release(first)
    second = take(store)
    assert (second.token, second.losses) == (first.token + 1, 0)
    store.release(first)  # too late: nothing happens
    assert store.claim("other", LONG, [TREE]) is None


@pytest.mark.parametrize("write", ["heartbeat", "load", "finish", "fail"])
def test_deleting_the_subject_ends_its_job(
    database: Database, files: Files, store: DatabaseJobStore, write: str
) -> None:
    (job_id,) = queue_jobs(database, files)
    claim = take(store)
    assert delete_subject(database, job_id) == (StoredFile("diagnosis_models", files.put("diagnosis_models", MATRIX)),)
    arguments = {"heartbeat": (LONG,), "load": (), "finish": (make_result(),), "fail": ("job-failed", "why")}[write]
    with pytest.raises(LeaseLostError):
        getattr(store, write)(claim, *arguments)
    with database.session(read_only=True) as session:
        assert session.scalar(select(func.count()).select_from(JobRow)) == 0
    with suppress(LeaseLostError):
        store.release(claim)
    assert store.claim("other", LONG, [TREE]) is None


def test_a_file_stays_as_long_as_another_model_is_the_same(
    database: Database, files: Files, store: DatabaseJobStore
) -> None:
    ids = queue_jobs(database, files, 2)
    for _ in ids:
        store.finish(take(store), make_result())
    for job_id, stay in zip(ids, (True, False), strict=True):
        freed = delete_subject(database, job_id)
        assert [file.kind for file in freed] == ["diagnosis_models", "diagnosis_trees"]
        remove_unreferenced(database, files, freed)
        assert [files.has(file) for file in freed] == [stay] * 2
