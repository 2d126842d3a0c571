"""The same among the evaluations of a pool: no surrogate stands for a score, and none has to be made.

Every choice is one of the pool's pipelines that has not been chosen yet, the one with the greatest expected
improvement; what it scored was evaluated on real patients. The search for candidates and the pick have no part in it,
and the score is at once the truth: what is compared is what the surrogates make of a history. All begin with the
simple pipeline.
"""

from __future__ import annotations

import hashlib
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from functools import cached_property, partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import torch
from threadpoolctl import threadpool_limits

from autoprog.evaluation import Evaluation
from autoprog.optimizer import Start
from autoprog.optimizer.neighbourhood import Neighbourhood
from autoprog.optimizer.structured import StructuredOptimizer
from autoprog.space import Configuration
from benchmarks.optimizer.method import Method
from benchmarks.optimizer.methods import METHODS, Entry
from benchmarks.optimizer.ours import Ours
from benchmarks.optimizer.problem import Problem
from benchmarks.optimizer.runs import fingerprint_with, recorded, taught
from benchmarks.optimizer.shards import Run, Shard
from training.prior.pools import Pool, read

# In the place of a surrogate's name.
_EVALUATED = "evaluated"


@dataclass(frozen=True)
class ReplayPlan:
    """What is to be replayed."""

    methods: tuple[str, ...]
    seeds: tuple[int, ...]
    budget: int
    pools: Path
    folder: Path
    workers: int


class Entries:
    """What a method may choose from.

    Parameters
    ----------
    pool : Pool
        Its entries; the first is the simple pipeline's.
    """

    def __init__(self, pool: Pool) -> None:
        self.configurations = [e.configuration for e in pool.entries]
        self._evaluations = {e.configuration: e for e in pool.history}

    def draw(self, size: int, seen: set[Configuration], rng: np.random.Generator) -> tuple[Configuration, ...]:
        """At random, without those that were seen."""
        left = [c for c in self.configurations if c not in seen]
        return tuple(left[i] for i in rng.permutation(len(left))[:size])

    def answer(self, number: int, configuration: Configuration) -> Evaluation:
        """What was evaluated then."""
        return replace(self._evaluations[configuration], number=number, batch=number)


class _NoOthers(Neighbourhood):
    """Candidates are the entries, and nothing is near them."""

    def __init__(self, entries: Entries) -> None:
        self._entries = entries

    def candidates(
        self, best: Sequence[Configuration], rng: np.random.Generator, *, is_local: bool = False
    ) -> list[Configuration]:
        del best, rng, is_local
        return self._entries.configurations

    def around(self, anchors: Sequence[Configuration], each: int, rng: np.random.Generator) -> list[Configuration]:
        del anchors, each, rng
        return []


class _Among(StructuredOptimizer):
    """The search's own optimizer; its first design is drawn from the entries too."""

    def __init__(self, entries: Entries, *arguments: object) -> None:
        super().__init__(*arguments)  # type: ignore[arg-type]
        self._entries = entries

    @cached_property
    def _neighbourhood(self) -> Neighbourhood:
        return _NoOthers(self._entries)

    def _design(
        self, size: int, _known: set[Configuration], seen: set[Configuration], rng: np.random.Generator
    ) -> tuple[Configuration, ...]:
        return self._entries.draw(size, seen, rng)


class _Chance:
    """One entry after another."""

    def __init__(self, entries: Entries, seed: int) -> None:
        self._entries, self._rng = entries, np.random.default_rng(seed)
        self._seen: set[Configuration] = set()

    def ask(self, size: int) -> Sequence[Configuration]:
        return self._entries.draw(size, self._seen, self._rng)

    def tell(self, evaluations: Sequence[Evaluation]) -> None:
        self._seen |= {e.configuration for e in evaluations}

    def pick(self) -> int | None:
        return None


def _started(entry: Entry, entries: Entries, problem: Problem, seed: int, known: Start) -> Method:
    if entry.is_ours:
        return Ours(problem, seed, 0, known, make=partial(_Among, entries), **entry.options)
    if entry.place == "benchmarks.optimizer.method:RandomSearch":
        return _Chance(entries, seed)
    from benchmarks.optimizer.flat_replay import FlatAmong  # noqa: PLC0415  botorch is a package of the benchmarks alone

    return FlatAmong(entries, problem, seed)


def replay(pool: Pool, entry: Entry, known: Start, seed: int, budget: int) -> Run:
    """One run of a method among the entries of a pool.

    Parameters
    ----------
    pool : Pool
        The evaluations.
    entry : Entry
        The method; one of `methods.REPLAYED`.
    known : Start
        What it knows beforehand; a portfolio is no entry of the pool, and is left out.
    seed : int
        Of the method.
    budget : int
        Evaluations in all, at most the entries.

    Returns
    -------
    Run
        Whose truth is what was observed.
    """
    entries = Entries(pool)
    method = _started(entry, entries, Problem(pool.shape), seed, replace(known, portfolio=()))
    evaluations = [entries.answer(0, entries.configurations[0])]
    method.tell(evaluations)
    seconds = [0.0]
    while len(evaluations) < min(budget, len(pool.entries)):
        start = time.process_time()
        (chosen,) = method.ask(1)
        evaluations.append(entries.answer(len(evaluations), chosen))
        method.tell(evaluations[-1:])
        seconds.append(time.process_time() - start)
    run = recorded(evaluations, seconds, {}, seed, budget)
    return replace(run, truth=run.observed)


def make(cohorts: Sequence[str], plan: ReplayPlan) -> None:
    """Replay what of the plan has not been; tells of each method and cohort on standard error.

    Parameters
    ----------
    cohorts : sequence of str
        Which have a pool.
    plan : ReplayPlan
        Methods, seeds, budget and folders.
    """
    with ProcessPoolExecutor(plan.workers, mp_context=get_context("spawn")) as executor:
        futures = [executor.submit(_execute, name, method, plan) for name in cohorts for method in plan.methods]
        for future in as_completed(futures):
            print(future.result(), file=sys.stderr, flush=True)


def _execute(name: str, method: str, plan: ReplayPlan) -> str:
    torch.set_num_threads(1)
    with threadpool_limits(1):
        pool, entry = read(name, plan.pools), METHODS[method]
        known = taught(entry, "own", name, plan.pools, Problem(pool.shape))
        shard = _shard(pool, method, known)
        kept = shard.kept(plan.folder)
        if kept is not None and kept.fingerprint == shard.fingerprint:
            shard = kept if kept.method_fingerprint == shard.method_fingerprint else shard
        made = 0
        for seed in plan.seeds:
            if shard.has(seed, plan.budget):
                continue
            shard = shard.followed_by(replay(pool, entry, known, seed, plan.budget))
            shard.write(plan.folder)
            made += 1
    return f"{name}, {method}: {made} runs, {len(shard.runs) - made} were there"


def _shard(pool: Pool, method: str, known: Start) -> Shard:
    scores = [e.score for e in pool.history.succeeded]
    digest = hashlib.sha256(repr(pool.entries).encode()).hexdigest()[:16]
    return Shard(
        "own",
        1,
        pool.name,
        _EVALUATED,
        method,
        fingerprint_with(digest, replace(known, portfolio=())),
        METHODS[method].fingerprint(),
        float(np.median(scores)),
        max(scores),
        float(np.mean([e.seconds for e in pool.entries])),
    )
