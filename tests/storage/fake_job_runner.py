"""A process that does jobs with the real runner, except that the work is done in its own threads.

It ends when no job is left. Every result names the process that made it.
"""

from __future__ import annotations

import os
import sys
import time

from sqlalchemy import func, select

from autoprog.jobs.ports import Job, JobResult, Work
from autoprog.jobs.runner import JobRunner
from autoprog.storage.database import Database
from autoprog.storage.files import Files
from autoprog.storage.job_store import DatabaseJobStore
from autoprog.storage.tables import JobRow
from autoprog.work import CallLimits
from tests.search.inline import InlineDispatcher
from tests.storage.jobs import TREE


def work(job: Job) -> JobResult:
    time.sleep(job.parameters["work_s"])
    print("worked", flush=True)
    return JobResult({"writer": os.getpid()}, {"diagnosis_trees": b"a tree"})


def main(database_url: str, files_url: str, lease_s: float) -> None:
    database = Database(database_url)
    store = DatabaseJobStore(database, Files(files_url))
    runner = JobRunner(
        store,
        InlineDispatcher(),
        {TREE: Work(work, CallLimits(60, 1024))},
        runner_id=f"runner-{os.getpid()}",
        lease_s=lease_s,
    )
    print("ready", flush=True)
    sys.stdin.readline()  # all begin together: a process takes longer to start than a job to be done
    while _open_jobs(database):
        if not runner.run_one():
            time.sleep(0.05)
    database.close()


def _open_jobs(database: Database) -> int:
    with database.session(read_only=True) as session:
        return session.scalar(select(func.count()).where(JobRow.finished_at.is_(None))) or 0


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]))
