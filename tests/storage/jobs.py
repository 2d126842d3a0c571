"""What the tests of jobs queue and read."""

from __future__ import annotations

from autoprog.jobs import JobKind
from autoprog.jobs.ports import Job, JobResult
from autoprog.storage.database import Database
from autoprog.storage.files import Files, StoredFile
from autoprog.storage.repositories import DiagnosisModelRepository, JobRepository
from autoprog.storage.tables import DiagnosisModelRow, JobRow
from tests.storage.support import add_owner

TREE = JobKind.DIAGNOSIS_TREE
MATRIX = b"a matrix"


def add_diagnosis_model(database: Database, files: Files, owner: str = "ward-3") -> DiagnosisModelRow:
    """A model without a tree; its file holds no more than a few letters."""
    sha256 = files.put("diagnosis_models", MATRIX)
    with database.session() as session:
        owner_id = add_owner(session, owner)
        return DiagnosisModelRepository(session).add(owner_id, name="m", sha256=sha256, document={"n_objects": 4})


def queue_jobs(database: Database, files: Files, n: int = 1, **parameters: object) -> list[str]:
    """Identifiers of new jobs, oldest first, each about a model of its own."""
    ids = []
    for _ in range(n):
        model = add_diagnosis_model(database, files)
        with database.session() as session:
            reads = {"model": StoredFile("diagnosis_models", model.sha256)}
            row = JobRepository(session).add(model.owner_id, TREE, model.id, parameters=parameters, files=reads)
            ids.append(row.id)
    return ids


def read_job(database: Database, job_id: str) -> JobRow:
    with database.session(read_only=True) as session:
        return session.get_one(JobRow, job_id)


def read_subject(database: Database, job_id: str) -> DiagnosisModelRow:
    with database.session(read_only=True) as session:
        return session.get_one(DiagnosisModelRow, session.get_one(JobRow, job_id).subject_id)


def make_result(note: str = "done", tree: bytes = b"a tree") -> JobResult:
    return JobResult({"note": note}, {"diagnosis_trees": tree})


def echo(job: Job) -> JobResult:
    """The work of a job that tells what it was told."""
    return JobResult(dict(job.parameters), {"diagnosis_trees": b"a tree"})
