"""Kinds of jobs: trees of diagnosis, test selection, explanations of ensembles, each with its limits."""

from __future__ import annotations

import hashlib
import math
import warnings
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import fsspec
import numpy as np

from autoprog.catalogue import DiagnosticTest
from autoprog.cohort import from_parquet
from autoprog.csmd import (
    PredictionTable,
    problem_from_json,
    replay,
    trace_frontier,
    train_arms,
)
from autoprog.diagnosis import grow_tree, model_from_bytes, tree_report, tree_to_bytes
from autoprog.errors import ArtifactError
from autoprog.evaluation import Plan
from autoprog.jobs import JobKind
from autoprog.jobs.ports import FileKind, FileRef, Job, JobResult, Work
from autoprog.search.explaining import explain_ensemble
from autoprog.space import Configuration
from autoprog.work import CallLimits


def read_file(ref: FileRef) -> bytes:
    """Read a stored file; raises ArtifactError if it is missing or its digest differs."""
    try:
        with fsspec.open(ref.url, "rb") as file:
            content: bytes = file.read()
    except FileNotFoundError:
        raise ArtifactError(f"the file {ref.sha256[:12]} is missing") from None
    if hashlib.sha256(content).hexdigest() != ref.sha256:
        raise ArtifactError(f"the file {ref.sha256[:12]} was altered after it was stored")
    return content


def build_diagnosis_tree(job: Job) -> JobResult:
    """Grow the tree of the model in the job's file `model`."""
    tree = grow_tree(model_from_bytes(read_file(job.files["model"])))
    return JobResult(asdict(tree_report(tree)), {"diagnosis_trees": tree_to_bytes(tree)})


def train_classifiers(job: Job) -> JobResult:
    """Train a classifier for each arm of a problem; the parameters are the problem's document."""
    asked = job.parameters
    problem = problem_from_json(asked)
    cohort = from_parquet(read_file(job.files["cohort"]))
    configuration = Configuration.from_json(asked["configuration"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the notes hold what matters
        trained = train_arms(
            cohort,
            problem.arms,
            configuration,
            folds=asked["folds"],
            threshold=asked["threshold"],
            seed=asked["seed"] % 2**32,
        )
    predictions = trained.predictions
    errors = (predictions != trained.truth[:, None]).mean(axis=0)
    document = {
        "n_patients": cohort.n_patients,
        "features": [feature.name for feature in trained.classifiers.features],
        "errors": {arm.id: float(error) for arm, error in zip(problem.arms, errors, strict=True)},
        "notes": list(trained.notes),
    }
    table = PredictionTable(predictions, trained.truth)
    files: dict[FileKind, bytes] = {
        "test_selection_arms": trained.classifiers.to_bytes(),
        "test_selection_tables": table.to_bytes(),
    }
    return JobResult(document, files)


def replay_table(job: Job) -> JobResult:
    """Run a problem's policy from the start over the table in the job's file `table`."""
    problem, asked = problem_from_json(job.parameters["problem"]), job.parameters["replay"]
    table = PredictionTable.from_bytes(read_file(job.files["table"]))
    done = replay(
        problem,
        table.predictions,
        table.truth,
        rounds=asked["rounds"],
        repetitions=asked["repetitions"],
        order=asked["order"],
        rng=np.random.default_rng(asked["seed"]),
    )
    return JobResult(done.to_json(problem.arms))


def trace_test_frontier(job: Job) -> JobResult:
    """Score a search's best pipeline on groups of tests."""
    asked = job.parameters
    tests = [DiagnosticTest.from_json(test) for test in asked["tests"]]
    cohort = from_parquet(read_file(job.files["cohort"]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # as when the search evaluated the pipeline
        frontier = trace_frontier(
            cohort, tests, build_plan(asked["plan"]), Configuration.from_json(asked["configuration"])
        )
    document: dict[str, Any] = asdict(frontier)
    return JobResult({name: _finite(value) for name, value in document.items()})


def explain_search(job: Job) -> JobResult:
    """Measure what the inputs of a search's ensemble are worth."""
    asked = job.parameters
    cohort = from_parquet(read_file(job.files["cohort"]))
    return JobResult(_finite(explain_ensemble(cohort, asked, build_plan(asked["plan"])).to_json()))


def build_plan(document: Mapping[str, Any]) -> Plan:
    """Make a search's plan from JSON."""
    thresholds = document["thresholds"]
    limits = None if thresholds is None else (thresholds[0], thresholds[1])
    return Plan(**{**document, "thresholds": limits, "times": tuple(document["times"])})


def _finite(value: Any) -> Any:  # noqa: ANN401  any part of a document
    """Replace NaN and infinities, which are no JSON, by None: such a score is undefined."""
    if isinstance(value, dict):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


WORK: Mapping[JobKind, Work] = {
    JobKind.DIAGNOSIS_TREE: Work(build_diagnosis_tree, CallLimits(time_s=1800, memory_mb=4096)),
    JobKind.TEST_SELECTION_TRAINING: Work(train_classifiers, CallLimits(time_s=4 * 3600, memory_mb=4096)),
    JobKind.TEST_SELECTION_REPLAY: Work(replay_table, CallLimits(time_s=4 * 3600, memory_mb=4096)),
    JobKind.EXPLANATION: Work(explain_search, CallLimits(time_s=4 * 3600, memory_mb=4096)),
    JobKind.TEST_FRONTIER: Work(trace_test_frontier, CallLimits(time_s=4 * 3600, memory_mb=4096)),
}
