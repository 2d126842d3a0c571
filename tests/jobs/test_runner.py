"""The runner of jobs over the real store, with the work in this process."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from autoprog.errors import EngineUnavailableError, StoreUnavailableError
from autoprog.jobs.ports import Job, JobClaim, JobResult, Work
from autoprog.jobs.runner import JobRunner
from autoprog.jobs.work import read_file
from autoprog.storage.database import Database
from autoprog.storage.files import Files, StoredFile
from autoprog.storage.job_store import DatabaseJobStore
from autoprog.storage.repositories import DiagnosisModelRepository
from autoprog.storage.tables import JobRow
from autoprog.work import CallLimits, CallStatus
from tests.search.inline import InlineDispatcher
from tests.storage.jobs import TREE, echo, queue_jobs, read_job, read_subject

LIMITS = CallLimits(60, 1024)


@pytest.fixture
def store(database: Database, files: Files) -> DatabaseJobStore:
    return DatabaseJobStore(database, files)


def runner_of(
    store: DatabaseJobStore,
    dispatcher: InlineDispatcher | None = None,
    work: Callable[[Job], JobResult] = echo,
    lease_s: float = 60.0,
) -> JobRunner:
    return JobRunner(
        store, dispatcher or InlineDispatcher(), {TREE: Work(work, LIMITS)}, runner_id="one", lease_s=lease_s
    )


def expire(database: Database, job_id: str) -> None:
    with database.session() as session:
        job = session.get_one(JobRow, job_id)
        job.lease_until = job.created_at


def test_a_job_is_done_and_its_subject_told(database: Database, files: Files, store: DatabaseJobStore) -> None:
    (job_id,) = queue_jobs(database, files, depth=3)
    runner = runner_of(store)
    assert runner.run_one()
    assert read_job(database, job_id).status == "succeeded"
    assert read_subject(database, job_id).tree == {"depth": 3}
    assert not runner.run_one()


@pytest.mark.parametrize("status", [CallStatus.TIMEOUT, CallStatus.MEMORY, CallStatus.CRASHED])
def test_a_job_that_exceeds_its_limits_has_failed_and_says_how(
    database: Database, files: Files, store: DatabaseJobStore, status: CallStatus
) -> None:
    (job_id,) = queue_jobs(database, files)
    assert runner_of(store, InlineDispatcher(before=lambda _: status)).run_one()
    job = read_job(database, job_id)
    assert (job.status, job.error) == (
        "failed",
        {"code": "job-failed", "detail": f"{status}: as the test says"},
    )


def test_what_the_work_raises_is_the_jobs_failure(database: Database, files: Files, store: DatabaseJobStore) -> None:
    def work(job: Job) -> JobResult:
        raise ZeroDivisionError("no objects")

    (job_id,) = queue_jobs(database, files)
    assert runner_of(store, work=work).run_one()
    error = read_job(database, job_id).error
    assert error == {"code": "job-failed", "detail": "failed: ZeroDivisionError: no objects"}


def test_a_result_that_cannot_be_stored_is_the_servers_failure(
    database: Database, files: Files, store: DatabaseJobStore
) -> None:
    (job_id,) = queue_jobs(database, files)
    result = JobResult({"cost": float("nan")}, {"diagnosis_trees": b""})
    assert runner_of(store, work=lambda _: result).run_one()
    error = read_job(database, job_id).error
    assert error is not None
    assert error["code"] == "internal"
    assert "nan" not in error["detail"].lower()


def test_a_job_that_is_left_at_shutdown_is_free_at_once(
    database: Database, files: Files, store: DatabaseJobStore
) -> None:
    (job_id,) = queue_jobs(database, files)
    first: JobRunner

    def leave(_: int) -> None:
        first.stop()

    first = runner_of(store, InlineDispatcher(before=leave))
    assert not first.run_one()
    assert read_job(database, job_id).status == "running"
    assert runner_of(store).run_one()
    job = read_job(database, job_id)
    assert (job.status, job.token, job.losses) == ("succeeded", 2, 0)


def test_a_job_waits_for_an_engine_that_is_away(database: Database, files: Files, store: DatabaseJobStore) -> None:
    def away(_: int) -> None:
        raise EngineUnavailableError("nobody")

    (job_id,) = queue_jobs(database, files)
    assert not runner_of(store, InlineDispatcher(before=away)).run_one()
    assert runner_of(store).run_one()
    assert read_job(database, job_id).losses == 0


def test_a_job_is_done_again_after_its_database_was_away(
    database: Database, files: Files, store: DatabaseJobStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(claim: JobClaim, result: JobResult) -> None:
        raise StoreUnavailableError("deadlock detected")

    (job_id,) = queue_jobs(database, files)
    with monkeypatch.context() as patch:
        patch.setattr(store, "finish", away)
        assert not runner_of(store).run_one()
    job = read_job(database, job_id)
    assert (job.status, job.error, job.runner_id) == ("running", None, "one")
    expire(database, job_id)
    assert runner_of(store).run_one()
    job = read_job(database, job_id)
    assert (job.status, job.losses) == ("succeeded", 1)


def test_another_runner_takes_over_and_the_first_writes_nothing(
    database: Database, files: Files, store: DatabaseJobStore
) -> None:
    (job_id,) = queue_jobs(database, files, depth=3)

    def take_over(_: int) -> None:
        expire(database, job_id)
        assert store.claim("thief", 60, [TREE]) is not None

    assert runner_of(store, InlineDispatcher(before=take_over)).run_one()
    job = read_job(database, job_id)
    assert (job.status, job.runner_id, job.token) == ("running", "thief", 2)
    assert read_subject(database, job_id).tree is None


def test_the_lease_outlasts_the_work(database: Database, files: Files, store: DatabaseJobStore) -> None:
    (job_id,) = queue_jobs(database, files)
    seen: list[bool] = []

    def look(_: int) -> None:
        time.sleep(1.5)  # several leases
        seen.append(store.claim("thief", 60, [TREE]) is None)

    assert runner_of(store, InlineDispatcher(before=look), lease_s=0.6).run_one()
    assert seen == [True]
    assert read_job(database, job_id).token == 1


def test_deleting_the_subject_stops_the_work(database: Database, files: Files, store: DatabaseJobStore) -> None:
    (job_id,) = queue_jobs(database, files)
    model = read_subject(database, job_id)

    def delete(_: int) -> None:
        with database.session() as session:
            DiagnosisModelRepository(session).delete(model.owner_id, model.id)
        time.sleep(1)  # several heartbeats: the dispatcher is told to stop before the work begins

    done: list[Job] = []

    def work(job: Job) -> JobResult:
        done.append(job)
        return echo(job)

    assert runner_of(store, InlineDispatcher(before=delete), work, lease_s=0.6).run_one()
    assert done == []


def test_a_job_that_ends_its_runners_is_given_up(database: Database, files: Files, store: DatabaseJobStore) -> None:
    (job_id,) = queue_jobs(database, files)
    for _ in range(5):
        assert store.claim("doomed", 60, [TREE]) is not None
        expire(database, job_id)
    assert runner_of(store).run_one()
    assert read_job(database, job_id).error == {
        "code": "job-failed",
        "detail": "given up: 5 runners in a row ended while they worked on it",
    }


def test_a_missing_file_fails_the_job_by_name(database: Database, files: Files, store: DatabaseJobStore) -> None:
    def work(job: Job) -> JobResult:
        return JobResult({"bytes": len(read_file(job.files["model"]))}, {"diagnosis_trees": b""})

    present, absent = queue_jobs(database, files, 2)
    assert runner_of(store, work=work).run_one()
    assert read_job(database, present).result == {"bytes": 8}
    with database.session(read_only=True) as session:
        (kind, sha256) = session.get_one(JobRow, absent).payload["files"]["model"]
    files.delete(StoredFile(kind, sha256))
    assert runner_of(store, work=work).run_one()
    error = read_job(database, absent).error
    assert error is not None
    assert error["detail"].startswith("failed: ArtifactError: the file")


def test_the_runner_works_until_it_is_stopped(database: Database, files: Files, store: DatabaseJobStore) -> None:
    ids = queue_jobs(database, files, 3)
    runner = JobRunner(
        store, InlineDispatcher(), {TREE: Work(echo, LIMITS)}, runner_id="one", lease_s=60.0, poll_s=0.02
    )
    thread = threading.Thread(target=runner.run_forever)
    thread.start()
    try:
        deadline = time.monotonic() + 60
        while any(read_job(database, job_id).status != "succeeded" for job_id in ids):
            assert time.monotonic() < deadline
            time.sleep(0.01)
    finally:
        runner.stop()
        thread.join(20)
    assert not thread.is_alive()
