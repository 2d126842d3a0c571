"""The runs: every method on every landscape, from one shared first design or each at its own best."""

from __future__ import annotations

import hashlib
import json
import sys
import time
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch
from joblib import parallel_config
from threadpoolctl import threadpool_limits

from autoprog.evaluation import Evaluation
from autoprog.optimizer import Start
from autoprog.space import Configuration
from benchmarks.optimizer.landscape import Landscape, landscape
from benchmarks.optimizer.methods import METHODS, Entry
from benchmarks.optimizer.problem import Problem
from benchmarks.optimizer.shards import Run, Shard
from benchmarks.optimizer.transfer import learnt
from training.prior.pools import read

TABLES = ("shared", "own")
FIRST_DESIGN = 10
PICKS = (10, 15, 20, 25, 30, 40, 50, 75, 100, 150, 200)
"""Evaluations after which a method's pick is recorded, rounded up to whole batches."""


def whole_batches(numbers: Sequence[int], batch: int) -> tuple[int, ...]:
    """Numbers of evaluations, rounded up to multiples of the batch, each once."""
    return tuple(dict.fromkeys(-(-n // batch) * batch for n in numbers))


Evaluate = Callable[[int, int, Sequence[Configuration]], list[Evaluation]]


@dataclass(frozen=True)
class Task:
    """Runs of a method on a landscape, one per seed."""

    table: str
    batch: int
    cohort: str
    surrogate: str
    method: str
    seeds: tuple[int, ...]
    budget: int
    pools: Path
    shards: Path
    redo_stale: bool = False


def run(
    entry: Entry,
    problem: Problem,
    evaluate: Evaluate,
    first: Sequence[Configuration],
    known: Start,
    *,
    batch: int,
    budget: int,
    seed: int,
) -> tuple[Run, list[Evaluation]]:
    """One run of a method.

    Parameters
    ----------
    entry : Entry
        The method.
    problem : Problem
        The space.
    evaluate : callable (first number, batch, configurations) -> list of Evaluation
        Answers a batch.
    first : sequence of Configuration
        What is evaluated before the method is asked; may be empty.
    known : Start
        What the method knows beforehand.
    batch : int
        Configurations that are asked for at once; after a first design that ends within a batch, as many as fill it.
    budget : int
        Evaluations in all.
    seed : int
        Of the method.

    Returns
    -------
    Run
        Without the truth, which only a landscape knows.
    list of Evaluation
        In order of proposal.
    """
    method = entry.start(problem, seed, budget, known)
    evaluations: list[Evaluation] = []
    proposer_s: list[float] = []
    picks: dict[str, int | None] = {}
    recorded_at = whole_batches(PICKS, batch)
    batches = 0

    def tell(configurations: Sequence[Configuration], asked_s: float) -> None:
        answers = evaluate(len(evaluations), batches, configurations)
        start = time.process_time()
        method.tell(answers)
        each = (asked_s + time.process_time() - start) / len(answers)
        evaluations.extend(answers)
        proposer_s.extend([each] * len(answers))
        if len(evaluations) in recorded_at:
            picks[str(len(evaluations))] = method.pick()

    for begin in range(0, min(len(first), budget), batch):
        tell(first[begin : min(begin + batch, budget)], 0.0)
        batches += 1
    while len(evaluations) < budget:
        start = time.process_time()
        configurations = method.ask(min(batch - len(evaluations) % batch, budget - len(evaluations)))
        asked_s = time.process_time() - start
        if not configurations:
            break
        tell(configurations, asked_s)
        batches += 1
    return recorded(evaluations, proposer_s, picks, seed, budget), evaluations


def recorded(
    evaluations: Sequence[Evaluation],
    proposer_s: Sequence[float],
    picks: dict[str, int | None],
    seed: int,
    budget: int,
) -> Run:
    digest = hashlib.sha256("".join(e.configuration.key for e in evaluations).encode()).hexdigest()[:16]
    return Run(
        seed,
        budget,
        digest,
        observed=[None if e.score is None else round(e.score, 6) for e in evaluations],
        truth=[],
        seconds=[round(e.duration_s, 3) for e in evaluations],
        proposer_s=[round(s, 4) for s in proposer_s],
        statuses=dict(Counter(e.status.value for e in evaluations)),
        picks=picks,
    )


def execute(task: Task) -> str:
    """Do what of a task is not done, and keep it after every run.

    Parameters
    ----------
    task : Task
        What to do.

    Returns
    -------
    str
        What was done, in words.
    """
    torch.set_num_threads(1)
    # A process each: SMAC's forest would start threads for every prediction, at twice its time.
    with threadpool_limits(1), parallel_config(backend="sequential"):
        surface = _landscape(task.cohort, task.surrogate, task.pools)
        entry = METHODS[task.method]
        shard, earlier = _resumed(_empty(task, surface), task)
        name = f"{task.table} b{task.batch} {task.cohort} {task.surrogate} {task.method}"
        if not surface.is_faithful:
            return f"{name}: left out, held-out rank correlation {surface.correlation:.2f}"
        made = 0
        for seed in task.seeds:
            if shard.has(seed, task.budget):
                continue
            record = _one(task, entry, surface, seed)
            if any(r.seed == seed and r.is_repeated_by(record) for r in earlier):
                shard = replace(shard, runs=earlier)
            earlier = ()
            shard = shard.followed_by(record)
            shard.write(task.shards)
            made += 1
        return f"{name}: {made} runs, {len(shard.runs) - made} were there"


def _empty(task: Task, surface: Landscape) -> Shard:
    entry = METHODS[task.method]
    known = taught(entry, task.table, task.cohort, task.pools, surface.problem)
    return Shard(
        task.table,
        task.batch,
        task.cohort,
        task.surrogate,
        task.method,
        fingerprint_with(surface.fingerprint, known),
        entry.fingerprint(),
        surface.median,
        surface.best,
        surface.mean_seconds,
    )


def _resumed(shard: Shard, task: Task) -> tuple[Shard, tuple[Run, ...]]:
    """With the runs that were kept before of the same landscape and method; and those of an earlier version of it.

    Runs of two versions are put into one shard only if the first that is made anew repeats an earlier one.
    """
    kept = shard.kept(task.shards)
    if kept is None or kept.fingerprint != shard.fingerprint:
        return shard, ()
    if kept.method_fingerprint == shard.method_fingerprint or (_covers(kept, task) and not task.redo_stale):
        return kept, ()
    return shard, kept.runs


def _covers(kept: Shard, task: Task) -> bool:
    return all(kept.has(seed, task.budget) for seed in task.seeds)


def _one(task: Task, entry: Entry, surface: Landscape, seed: int) -> Run:
    known = taught(entry, task.table, task.cohort, task.pools, surface.problem)
    first = entry.first(known) if task.table == "own" else shared_design(task.cohort, surface.problem, seed)
    record, evaluations = run(
        entry,
        surface.problem,
        lambda number, batch, configurations: surface.evaluate(number, batch, configurations, seed),
        first,
        known,
        batch=task.batch,
        budget=task.budget,
        seed=seed,
    )
    truth = surface.truth([e.configuration for e in evaluations])
    return replace(record, truth=[None if np.isnan(t) else round(float(t), 6) for t in truth])


def shared_design(cohort: str, problem: Problem, seed: int) -> Sequence[Configuration]:
    """The first design that all methods share."""
    return problem.first_design(FIRST_DESIGN, np.random.default_rng([seed, zlib.crc32(cohort.encode())]))


def taught(entry: Entry, table: str, cohort: str, pools: Path, problem: Problem) -> Start:
    """What a method knows of a cohort before its first evaluation."""
    return entry.lessons(learnt(cohort, pools, problem), table) if entry.learns_in(table) else Start()


def fingerprint_with(fingerprint: str, known: Start) -> str:
    """With what the search knew beforehand, as far as it is more than a machine's rounding."""
    if known == Start():
        return fingerprint
    text = json.dumps(_rounded(known.to_json()), sort_keys=True)
    return f"{fingerprint}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def _rounded(document: Any) -> Any:
    if isinstance(document, dict):
        return {name: _rounded(value) for name, value in document.items()}
    if isinstance(document, list):
        return [_rounded(value) for value in document]
    return round(document, 6) + 0.0 if isinstance(document, float) else document  # no negative nought


@lru_cache(maxsize=4)
def _landscape(cohort: str, surrogate: str, pools: Path) -> Landscape:
    return landscape(read(cohort, pools), surrogate)


def execute_all(tasks: Sequence[Task], workers: int) -> None:
    """Do all tasks, a process each at a time; tells of each on standard error."""
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as executor:
        futures = {executor.submit(execute, task): task for task in tasks}
        for done, future in enumerate(as_completed(futures), 1):
            print(f"{done} of {len(tasks)}: {future.result()}", file=sys.stderr, flush=True)
