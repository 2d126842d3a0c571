"""Write the results of jobs to the resources that they are about.

A result of any other kind of job stays in the job's row, where the resource's service reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from autoprog.errors import LeaseLostError
from autoprog.jobs import JobKind
from autoprog.storage.files import Kind
from autoprog.storage.tables import DiagnosisModelRow, JobRow
from autoprog.storage.test_selection_tables import SelectionProblemRow

Digests = Mapping[Kind, str]


def hand_over(session: Session, job: JobRow, document: Mapping[str, Any], stored: Digests) -> None:
    """Write a job's result and its files' digests to the job's resource; raises LeaseLostError if that was deleted."""
    if (write := _WRITERS.get(JobKind(job.kind))) is not None:
        write(session, job.subject_id, document, stored)


def _write_tree(session: Session, model_id: str, document: Mapping[str, Any], stored: Digests) -> None:
    query = select(DiagnosisModelRow).where(DiagnosisModelRow.id == model_id).with_for_update()
    model = session.scalars(query).one_or_none()
    if model is None:
        msg = f"diagnosis model {model_id} was deleted"
        raise LeaseLostError(msg)
    model.tree = dict(document)
    model.tree_sha256 = stored["diagnosis_trees"]


def _write_classifiers(session: Session, problem_id: str, document: Mapping[str, Any], stored: Digests) -> None:
    query = select(SelectionProblemRow).where(SelectionProblemRow.id == problem_id).with_for_update()
    problem = session.scalars(query).one_or_none()
    if problem is None:
        msg = f"test selection problem {problem_id} was deleted"
        raise LeaseLostError(msg)
    problem.training = dict(document)
    problem.arms_sha256 = stored["test_selection_arms"]
    problem.table_sha256 = stored["test_selection_tables"]


_WRITERS: Mapping[JobKind, Callable[[Session, str, Mapping[str, Any], Digests], None]] = {
    JobKind.DIAGNOSIS_TREE: _write_tree,
    JobKind.TEST_SELECTION_TRAINING: _write_classifiers,
}
