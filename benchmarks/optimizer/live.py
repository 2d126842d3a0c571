"""The same without a surrogate: every evaluation is made, by the search's own batch evaluation, and kept.

A quarter of the patients, or of a large cohort all that the search does not use, are set aside by the seed. What a
search would have delivered is fitted to its own patients and scored on those: what remains of its score tells how
much of it was luck. Methods that evaluate the same configuration on the same split share the evaluation.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from threadpoolctl import threadpool_limits

from autoprog.cohort import Cohort, stratified_rows, to_parquet
from autoprog.engine import LocalEngine
from autoprog.evaluation import Evaluation, Plan, Status, fit_pipeline
from autoprog.performance import METRICS
from autoprog.search.evaluation_stream import EvaluationStream
from autoprog.search.ports import CohortRef
from autoprog.space import Configuration
from autoprog.work import CallLimits
from benchmarks.optimizer.methods import METHODS
from benchmarks.optimizer.problem import Problem
from benchmarks.optimizer.runs import fingerprint_with, run, shared_design, taught, whole_batches
from benchmarks.optimizer.shards import Run, Shard
from training.prior.cohorts import FOLDS, whole
from training.prior.pools import LIMIT_S, MEMORY_MB, SLOTS

OUTER = (25, 50)

_OUTER_SHARE, _MAX_OUTER = 0.25, 5_000


@dataclass(frozen=True)
class LivePlan:
    """What is to be run live."""

    methods: tuple[str, ...]
    seeds: tuple[int, ...]
    budget: int
    batch: int
    table: str
    data: Path
    pools: Path
    folder: Path
    redo_outdated: bool = False


class _Kept:
    """Evaluations and outer scores of one split, in a file of JSON lines that only grows."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.evaluations: dict[str, dict[str, Any]] = {}
        self.outer: dict[str, float | None] = {}
        path.parent.mkdir(parents=True, exist_ok=True)
        text = path.read_text() if path.exists() else ""
        lines = text[: text.rfind("\n") + 1]
        if lines != text:  # the last line was cut off in the middle
            path.write_text(lines)
        for line in lines.splitlines():
            self._take(json.loads(line))

    def add(self, record: dict[str, Any]) -> None:
        self._take(record)
        with self._path.open("a") as file:
            file.write(json.dumps(record, separators=(",", ":")) + "\n")

    def _take(self, record: dict[str, Any]) -> None:
        if "outer" in record:
            self.outer[record["key"]] = record["outer"]
        else:
            self.evaluations[record["key"]] = record


class _Split:
    """One cohort's patients, divided by a seed, and the evaluations on them."""

    def __init__(self, name: str, seed: int, plan: LivePlan, engine: LocalEngine, scratch: Path) -> None:
        cohort, size = whole(name, plan.data)
        self._searched, self._outer = _divided(cohort, size, [seed, zlib.crc32(name.encode())])
        self.plan = Plan("auc_roc", FOLDS, 1, seed)
        self.problem = Problem(self.plan.shape(self._searched))
        self._kept = _Kept(plan.folder / "evaluations" / f"{name}-split{seed}.jsonl")
        self._engine = engine
        content = to_parquet(self._searched)
        path = scratch / f"{name}-{seed}.parquet"
        path.write_bytes(content)
        self._ref = CohortRef(path.as_uri(), hashlib.sha256(content).hexdigest())
        self.fingerprint = hashlib.sha256(content + repr((self.plan, LIMIT_S)).encode()).hexdigest()[:16]

    def evaluate(self, first: int, batch: int, configurations: Sequence[Configuration]) -> list[Evaluation]:
        """Numbered from `first`, in the order of `configurations`."""
        new = {c.key: c for c in configurations if c.key not in self._kept.evaluations}
        for evaluation in self._made(list(new.values()), batch):
            self._kept.add(
                {
                    "key": evaluation.configuration.key,
                    "status": evaluation.status.value,
                    "fold_scores": [round(float(s), 6) for s in evaluation.fold_scores],
                    "seconds": round(evaluation.duration_s, 3),
                }
            )
        return [self._answer(first + i, batch, c) for i, c in enumerate(configurations)]

    def outer_score(self, configuration: Configuration) -> float | None:
        """Of the configuration, fitted to all patients of the search; None where that fails, as its folds did not."""
        if configuration.key not in self._kept.outer:
            try:
                score = round(self._fitted_score(configuration), 6)
            except ValueError as error:
                print(f"{configuration} fails on all patients: {error}", file=sys.stderr, flush=True)
                score = None
            self._kept.add({"key": configuration.key, "outer": score})
        return self._kept.outer[configuration.key]

    def _fitted_score(self, configuration: Configuration) -> float:
        with threadpool_limits(1):
            rows = np.arange(self._searched.n_patients)
            fitted = fit_pipeline(configuration, self._searched, rows, self.plan, self.plan.fold_seed(0))
            risks = fitted.predict_proba(self._outer.X)[:, 1]
        return float(METRICS["auc_roc"].score(self._outer.y, risks))

    def _made(self, configurations: Sequence[Configuration], batch: int) -> Iterable[Evaluation]:
        if not configurations:
            return ()
        limits = CallLimits(LIMIT_S, MEMORY_MB)
        stream = EvaluationStream(ref=self._ref, cohort=self._searched, plan=self.plan, limits=limits)
        stream.add(batch, dict(enumerate(configurations)), race=None)
        return stream.run(self._engine, lambda: False)

    def _answer(self, number: int, batch: int, configuration: Configuration) -> Evaluation:
        kept = self._kept.evaluations[configuration.key]
        status, folds = Status(kept["status"]), tuple(kept["fold_scores"])
        score = float(np.mean(folds)) if status is Status.SUCCEEDED else None
        return Evaluation(number, batch, configuration, status, score, folds, duration_s=kept["seconds"])


def _divided(cohort: Cohort, size: int, seed: list[int]) -> tuple[Cohort, Cohort]:
    """The patients of the search, and those that are set aside."""
    rng = np.random.default_rng(seed)
    n = cohort.n_patients
    rows = stratified_rows(cohort.y, n, min(size, round((1 - _OUTER_SHARE) * n)), rng)
    rest = np.setdiff1d(np.arange(n), rows)
    if len(rest) > _MAX_OUTER:
        rest = rest[stratified_rows(cohort.y[rest], len(rest), _MAX_OUTER, rng)]
    return _of(cohort, rows), _of(cohort, rest)


def _of(cohort: Cohort, rows: np.ndarray) -> Cohort:
    return replace(cohort, X=cohort.X[rows], y=cohort.y[rows])


def make(cohorts: Sequence[str], plan: LivePlan) -> None:
    """Run what of the plan has not been run; tells of each run on standard error.

    Parameters
    ----------
    cohorts : sequence of str
        Keys of `COHORTS`.
    plan : LivePlan
        Methods, seeds, budget and folders.
    """
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as scratch, LocalEngine(SLOTS) as engine:
        for seed in plan.seeds:
            for name in cohorts:
                split = _Split(name, seed, plan, engine, Path(scratch))
                for method in plan.methods:
                    done = _one(name, seed, method, plan, split)
                    print(f"split {seed}, {name}, {method}: {done}", file=sys.stderr, flush=True)


def _one(name: str, seed: int, method: str, plan: LivePlan, split: _Split) -> str:
    entry = METHODS[method]
    fingerprint = entry.fingerprint()
    is_own = plan.table == "own"
    # The pool's patients are more, or others; what is learnt from them is what is valid here.
    known = taught(entry, plan.table, name, plan.pools, split.problem)
    first = entry.first(known) if is_own else shared_design(name, split.problem, seed)
    of_split = fingerprint_with(split.fingerprint, known)
    shard = Shard(plan.table, plan.batch, name, f"split{seed}", method, of_split, fingerprint, None, None, None)
    if (kept := shard.kept(plan.folder)) is not None:
        is_same = kept.method_fingerprint == fingerprint or not plan.redo_outdated
        if is_same and kept.fingerprint == of_split and kept.runs[0].budget >= plan.budget:
            return "was there"
    with threadpool_limits(1):
        record, evaluations = run(
            entry, split.problem, split.evaluate, first, known, batch=plan.batch, budget=plan.budget, seed=seed
        )
    reached = [at for at in whole_batches(OUTER, plan.batch) if at <= plan.budget and record.has_pick_at(at)]
    outer = {str(at): _outer(record, evaluations, at, split) for at in reached}
    replace(shard, runs=(replace(record, outer=outer),)).write(plan.folder)
    return f"{len(record)} evaluations"


def _outer(record: Run, evaluations: Sequence[Evaluation], at: int, split: _Split) -> float | None:
    number = record.pick_at(at)
    return None if number < 0 else split.outer_score(evaluations[number].configuration)
