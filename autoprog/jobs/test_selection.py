"""Jobs of test selection that take longer than a request: training, long replays, frontiers."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from autoprog.cohort import from_parquet
from autoprog.csmd import (
    DiagnosticTest,
    PredictionTable,
    problem_from_json,
    replay,
    trace_frontier,
    train_arms,
)
from autoprog.evaluation import Plan
from autoprog.jobs.files import read_file
from autoprog.jobs.ports import FileKind, Job, JobResult
from autoprog.space import Configuration


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
    tests = [DiagnosticTest(t["name"], t["cost"], tuple(t["features"])) for t in asked["tests"]]
    cohort = from_parquet(read_file(job.files["cohort"]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # as when the search evaluated the pipeline
        frontier = trace_frontier(
            cohort, tests, build_plan(asked["plan"]), Configuration.from_json(asked["configuration"])
        )
    document: dict[str, Any] = asdict(frontier)
    return JobResult({name: _finite(value) for name, value in document.items()})


def build_plan(document: Mapping[str, Any]) -> Plan:
    """Make a search's plan from JSON."""
    low, high = document["thresholds"]
    return Plan(**{**document, "thresholds": (low, high), "times": tuple(document["times"])})


def _finite(value: Any) -> Any:  # noqa: ANN401  any part of a document
    """Replace NaN and infinities, which are no JSON, by None: such a score is undefined."""
    if isinstance(value, dict):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
