"""Jobs on the real engine: in a child process, beside the searches, under limits that end them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from autoprog.app.service import Service
from autoprog.diagnosis import build_model, grow_tree, model_from_bytes, model_to_bytes, tree_from_bytes
from autoprog.engine import LocalEngine
from autoprog.jobs.ports import Work
from autoprog.jobs.runner import JobRunner
from autoprog.jobs.work import WORK
from autoprog.settings import Settings
from autoprog.storage.database import Database
from autoprog.storage.files import Files, StoredFile
from autoprog.storage.job_store import DatabaseJobStore
from autoprog.storage.repositories import DiagnosisModelRepository, JobRepository
from autoprog.work import CallLimits
from tests.jobs.work import hang
from tests.storage.jobs import TREE, queue_jobs, read_job, read_subject
from tests.storage.support import add_owner

PATIENCE_S = 60.0


@pytest.fixture(scope="module")
def engine() -> Iterator[LocalEngine]:
    with LocalEngine(1) as made:
        yield made


def queue_tree(database: Database, files: Files) -> tuple[str, bytes]:
    """A job that builds the tree of a random model, and the model's file."""
    content = model_to_bytes(build_model(np.random.default_rng(0).integers(0, 2, (60, 20))))
    sha256 = files.put("diagnosis_models", content)
    with database.session() as session:
        owner_id = add_owner(session)
        model = DiagnosisModelRepository(session).add(owner_id, name="m", sha256=sha256, document={})
        reads = {"model": StoredFile("diagnosis_models", sha256)}
        return JobRepository(session).add(owner_id, TREE, model.id, files=reads).id, content


def await_end(database: Database, job_id: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while read_job(database, job_id).finished_at is None:
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize("backend", ["sqlite"])
def test_work_that_hangs_is_killed_and_the_next_job_goes_on(
    database: Database, files: Files, engine: LocalEngine
) -> None:
    (hung,) = queue_jobs(database, files)
    store = DatabaseJobStore(database, files)
    limits = CallLimits(time_s=1, memory_mb=1024)
    assert JobRunner(store, engine, {TREE: Work(hang, limits)}, runner_id="one").run_one()
    error = read_job(database, hung).error
    assert error is not None
    assert error["detail"].startswith("timeout: ")
    tree, content = queue_tree(database, files)
    assert JobRunner(store, engine, WORK, runner_id="one").run_one()
    subject = read_subject(database, tree)
    assert subject.tree_sha256 is not None
    model = model_from_bytes(content)
    built = tree_from_bytes(model, files.get("diagnosis_trees", subject.tree_sha256))
    np.testing.assert_array_equal(built.query, grow_tree(model).query)


@pytest.mark.parametrize("backend", ["sqlite"])
def test_a_job_whose_runner_stops_is_ended_at_once(database: Database, files: Files, engine: LocalEngine) -> None:
    (job_id,) = queue_jobs(database, files)
    work = {TREE: Work(hang, CallLimits(time_s=600, memory_mb=1024))}
    runner = JobRunner(DatabaseJobStore(database, files), engine, work, runner_id="one")
    thread = threading.Thread(target=runner.run_forever)
    thread.start()
    deadline = time.monotonic() + PATIENCE_S
    while read_job(database, job_id).status != "running":
        assert time.monotonic() < deadline
        time.sleep(0.02)
    runner.stop()
    thread.join(PATIENCE_S)
    assert not thread.is_alive()
    job = read_job(database, job_id)
    assert (job.status, job.runner_id) == ("running", None)


class _BusyForHours:
    """A runner of searches that has begun one."""

    def __init__(self) -> None:
        self._stopped = threading.Event()

    def run_forever(self) -> None:
        self._stopped.wait(3600)

    def stop(self) -> None:
        self._stopped.set()


def test_a_job_waits_for_no_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Service, "runner", lambda _: _BusyForHours())
    service = Service(Settings(data_dir=tmp_path, workers=1))
    try:
        service.database.migrate()
        job_id, _ = queue_tree(service.database, service.files)
        with service.running():
            await_end(service.database, job_id)
        assert read_job(service.database, job_id).status == "succeeded"
    finally:
        service.close()
