"""Several processes that do jobs on one database, some of them killed."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import func, select

from autoprog.storage.database import Database
from autoprog.storage.files import Files
from autoprog.storage.tables import DiagnosisModelRow, JobRow
from tests.conftest import LONG_BACKENDS
from tests.storage.jobs import queue_jobs

ROOT = Path(__file__).parents[2]
PATIENCE_S = 120.0

Crew = list[subprocess.Popen[bytes]]


def start(database: Database, folder: Path, lease_s: float) -> subprocess.Popen[bytes]:
    """Start a runner, which waits for a line of its input before it claims."""
    arguments = [database.url, str(folder / "files"), str(lease_s)]
    command = [sys.executable, "-m", "tests.storage.fake_job_runner", *arguments]
    return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def let_go(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    process.stdin.write(b"go\n")
    process.stdin.flush()


def await_ready(process: subprocess.Popen[bytes]) -> None:
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"


@contextmanager
def crew_of(n: int, database: Database, folder: Path, lease_s: float) -> Iterator[Crew]:
    crew = [start(database, folder, lease_s) for _ in range(n)]
    try:
        for process in crew:
            await_ready(process)
        for process in crew:
            let_go(process)
        yield crew
    finally:
        for process in crew:
            process.kill()
            process.communicate()


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def count(database: Database, status: str) -> int:
    with database.session(read_only=True) as session:
        return session.scalar(select(func.count()).where(JobRow.status == status)) or 0


def jobs_of(database: Database) -> list[JobRow]:
    with database.session(read_only=True) as session:
        return list(session.scalars(select(JobRow).order_by(JobRow.created_at, JobRow.id)))


def assert_complete(database: Database) -> None:
    with database.session(read_only=True) as session:
        for job in session.scalars(select(JobRow)):
            assert job.status == "succeeded", job.error
            assert session.get_one(DiagnosisModelRow, job.subject_id).tree == job.result


@pytest.mark.parametrize("backend", LONG_BACKENDS)
def test_two_runners_never_do_the_same_job(database: Database, tmp_path: Path) -> None:
    queue_jobs(database, Files(str(tmp_path / "files")), 12, work_s=0.02)
    with crew_of(2, database, tmp_path, lease_s=600) as crew:
        outputs = [process.communicate(timeout=PATIENCE_S)[0] for process in crew]
    assert sum(output.count(b"worked") for output in outputs) == 12
    assert_complete(database)
    assert {job.token for job in jobs_of(database)} == {1}


@pytest.mark.parametrize("backend", LONG_BACKENDS)
def test_every_job_is_done_once_under_three_random_kills(database: Database, tmp_path: Path) -> None:
    queue_jobs(database, Files(str(tmp_path / "files")), 20, work_s=0.3)
    rng = random.Random()
    with crew_of(4, database, tmp_path, lease_s=1.5) as crew:
        alive = list(crew)
        for kills in range(3):
            wait_for(lambda kills=kills: count(database, "succeeded") >= 2 * kills and count(database, "running") > 0)
            time.sleep(rng.uniform(0, 0.3))
            victim = alive.pop(rng.randrange(len(alive)))
            victim.kill()
        assert alive[0].communicate(timeout=PATIENCE_S) is not None
        assert alive[0].returncode == 0
    assert_complete(database)
    # A job that was taken over has a greater token, and one loss for each runner that died over it.
    jobs = jobs_of(database)
    assert all(job.token == 1 + job.losses for job in jobs)
    assert sum(job.losses for job in jobs) <= 3
