"""Grow the tree of a diagnosis model that is too large for a request."""

from __future__ import annotations

from dataclasses import asdict

from autoprog.diagnosis import grow_tree, model_from_bytes, tree_report, tree_to_bytes
from autoprog.jobs.files import read_file
from autoprog.jobs.ports import Job, JobResult


def build_diagnosis_tree(job: Job) -> JobResult:
    """Grow the tree of the model in the job's file `model`."""
    tree = grow_tree(model_from_bytes(read_file(job.files["model"])))
    return JobResult(asdict(tree_report(tree)), {"diagnosis_trees": tree_to_bytes(tree)})
