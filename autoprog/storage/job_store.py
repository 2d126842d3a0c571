"""The port `JobStore` on the database: leases and results of jobs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy.orm import Session

from autoprog.jobs import JobKind
from autoprog.jobs.ports import FileRef, Job, JobClaim, JobResult
from autoprog.storage.database import Database, database_now
from autoprog.storage.files import Files, StoredFile
from autoprog.storage.job_results import hand_over
from autoprog.storage.leases import end_lease, give_back, lock_job, read_job, take_next
from autoprog.storage.stored_files import store_files
from autoprog.storage.tables import JobRow, JobStatus


class DatabaseJobStore:
    """Durable storage of jobs.

    Parameters
    ----------
    database : Database
        The database of the rows.
    files : Files
        The files that jobs read and make.
    most_running : int or None
        Maximum number of an owner's jobs that run at a time; None for no limit.
    """

    def __init__(self, database: Database, files: Files, *, most_running: int | None = None) -> None:
        self._database = database
        self._files = files
        self._most_running = most_running

    def claim(self, runner_id: str, lease_s: float, kinds: Sequence[JobKind]) -> JobClaim | None:
        """Lease the next job of these kinds, queued or expired; None if there is none or no room is left."""
        if not (self._files.has_room() and self._database.has_room()):
            return None
        with self._database.session() as session:
            taken = take_next(session, JobRow, runner_id, lease_s, kinds=kinds, most_running=self._most_running)
        return None if taken is None else JobClaim(taken.id, taken.token, taken.losses)

    def heartbeat(self, claim: JobClaim, lease_s: float) -> None:
        """Extend the lease. Raises LeaseLostError, also if the job was deleted."""
        with self._database.session() as session:
            job = lock_job(session, claim.job_id, claim.token)
            job.lease_until = database_now(session) + timedelta(seconds=lease_s)

    def release(self, claim: JobClaim) -> None:
        """Let any runner take the job at once; does nothing if the lease is lost."""
        with self._database.session() as session:
            give_back(session, claim.job_id, claim.token)

    def load(self, claim: JobClaim) -> Job:
        """Read the job's input. Raises LeaseLostError."""
        with self._database.session(read_only=True) as session:
            row = read_job(session, claim.job_id, claim.token)
        files = {name: StoredFile(*place) for name, place in row.payload["files"].items()}
        return Job(
            kind=JobKind(row.kind),
            parameters=row.payload["parameters"],
            files={name: FileRef(self._files.url(*file), file.sha256) for name, file in files.items()},
        )

    def finish(self, claim: JobClaim, result: JobResult) -> None:
        """Store the result, write it to the job's subject and mark the job as succeeded. Raises LeaseLostError."""
        with self._database.session() as session:
            stored = store_files(self._database, self._files, session, result.files)
            # Lock the subject before the job, as a deletion does, to avoid a deadlock.
            hand_over(session, read_job(session, claim.job_id, claim.token), result.document, stored)
            job = lock_job(session, claim.job_id, claim.token)
            job.result = dict(result.document)
            _end(session, job, JobStatus.SUCCEEDED)

    def fail(self, claim: JobClaim, code: str, detail: str) -> None:
        """Mark the job as failed. Raises LeaseLostError."""
        with self._database.session() as session:
            job = lock_job(session, claim.job_id, claim.token)
            job.error = {"code": code, "detail": detail}
            _end(session, job, JobStatus.FAILED)


def _end(session: Session, job: JobRow, status: JobStatus) -> None:
    job.status = status
    end_lease(session, job)
