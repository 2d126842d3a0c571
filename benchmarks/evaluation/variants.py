"""The ways to evaluate a list of configurations that `benchmarks/evaluation` compares, and what each records.

Children import this module by its name for the functions that replace the search's own: they do the same, and measure
what the shared prefixes save.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar
from unittest.mock import patch

import numpy as np
from sklearn.model_selection import cross_val_score

from autoprog.cohort import Cohort
from autoprog.engine import LocalEngine
from autoprog.evaluation import Evaluation, FoldResult, History, Plan, PrefixMemory, Race
from autoprog.performance import make_metric
from autoprog.search import tasks
from autoprog.search.evaluation_stream import EvaluationStream
from autoprog.search.loop import BATCHES_UNDER_WAY
from autoprog.search.ports import CohortRef
from autoprog.space import Configuration, build_pipeline
from autoprog.work import Call, CallLimits, CallOutcome, CallQueue, CallStatus, run_calls

RIVAL = "cross_val_score"
SLOTS = 2


@dataclass(frozen=True)
class Variant:
    """One way of the engine: with or without shared prefixes and racing."""

    prefixes: bool
    racing: bool


VARIANTS = {
    "engine": Variant(prefixes=False, racing=False),
    "prefixes": Variant(prefixes=True, racing=False),
    "prefixes_racing": Variant(prefixes=True, racing=True),
}


@dataclass(frozen=True)
class Task:
    """What every variant does for one cohort."""

    ref: CohortRef
    cohort: Cohort
    plan: Plan
    configurations: Sequence[Configuration]
    limits: CallLimits
    batch_size: int


@dataclass
class Work:
    """What the calls that returned did.

    Attributes
    ----------
    cpu_s : float
        Seconds on a core: far less than the clock's where others use the machine.
    asked, found : int
        Stages that the memory of prefixes was asked for, and that it had.
    saved_s : float
        Seconds that fitting the found ones had taken, less those of finding them.
    spent_s : float
        Seconds that keeping the others took.
    """

    cpu_s: float = 0.0
    asked: int = 0
    found: int = 0
    saved_s: float = 0.0
    spent_s: float = 0.0

    def add(self, other: Work) -> None:
        for name, value in asdict(other).items():
            setattr(self, name, getattr(self, name) + value)


class MeteredMemory(PrefixMemory):
    """A memory of prefixes that knows what each stage cost when it was fitted.

    Clones of a pipeline copy its memory, so that what it did is counted on the class.
    """

    done: ClassVar[Work]

    def cache(self, function: Callable[..., Any], ignore: object = None) -> Callable[..., Any]:
        def fit(*arguments: Any, **others: Any) -> Any:
            start = time.perf_counter()
            X, transformer = function(*arguments, **others)
            transformer.fitted_in_s_ = time.perf_counter() - start
            fitted.append(transformer.fitted_in_s_)
            return X, transformer

        def remembering(*arguments: Any, **others: Any) -> Any:
            fitted.clear()
            start = time.perf_counter()
            result = remember(*arguments, **others)
            seconds = time.perf_counter() - start
            self.done.asked += 1
            if fitted:
                self.done.spent_s += seconds - fitted[0]
            else:
                self.done.found += 1
                self.done.saved_s += result[1].fitted_in_s_ - seconds
            return result

        fitted: list[float] = []
        remember = super().cache(fit, ignore)
        return remembering


def folds_with_prefixes(*arguments: Any) -> tuple[tuple[FoldResult, ...], Work]:
    """As `tasks.evaluate_folds`, and what it took."""
    start = time.process_time()
    MeteredMemory.done = Work()
    with patch.object(tasks, "PrefixMemory", MeteredMemory):
        results = tasks.evaluate_folds(*arguments)
    MeteredMemory.done.cpu_s = time.process_time() - start
    return results, MeteredMemory.done


def folds_alone(*arguments: Any) -> tuple[tuple[FoldResult, ...], Work]:
    """As `tasks.evaluate_folds` where children share no folder, and what it took."""
    start = time.process_time()
    with patch.object(tasks, "_scratch", []):
        results = tasks.evaluate_folds(*arguments)
    return results, Work(time.process_time() - start)


def cross_validated(ref: CohortRef, configuration: Configuration, plan: Plan) -> tuple[list[float], Work]:
    """The rival: the same pipeline on the same folds by scikit-learn, and what it took."""
    start = time.process_time()
    cohort = plan.sample(tasks.load_cohort(ref))
    pipeline = build_pipeline(configuration, cohort.features, plan.shape(cohort), plan.fold_seed(0))
    folds = [plan.fold(cohort, number) for number in range(plan.n_folds)]
    metric = make_metric(plan.metric, plan.thresholds)
    scores: np.ndarray = cross_val_score(
        pipeline,
        cohort.X,
        cohort.y,
        scoring=lambda fitted, X, y: metric.score(y, fitted.predict_proba(X)[:, 1]),
        cv=[(fold.train, fold.test) for fold in folds],
        n_jobs=1,
        error_score="raise",
    )
    if not np.isfinite(scores).all():
        msg = "a fold has no score"
        raise ValueError(msg)
    return scores.tolist(), Work(time.process_time() - start)


@dataclass
class Watched:
    """An engine whose calls run a function that also tells what it took; keeps count.

    Attributes
    ----------
    engine : LocalEngine
        Runs the calls.
    function : callable
        Run in place of the one that is asked for.
    work : Work
        Of the calls that returned.
    calls : int
        That ended; those that were withdrawn while they ran are not known.
    busy_s, returned_s : float
        Clock seconds of the calls that ended, and of those that returned.
    """

    engine: LocalEngine
    function: Callable[..., tuple[Any, Work]]
    work: Work = field(default_factory=Work)
    calls: int = 0
    busy_s: float = 0.0
    returned_s: float = 0.0

    def load_result(self, outcome: CallOutcome) -> CallOutcome:
        """The outcome as the function that was asked for would have had it."""
        self.calls += 1
        self.busy_s += outcome.duration_s
        if outcome.status is not CallStatus.SUCCEEDED:
            return outcome
        self.returned_s += outcome.duration_s
        value, done = outcome.value
        self.work.add(done)
        return replace(outcome, value=value)

    def figures(self) -> dict[str, Any]:
        """What was counted."""
        return {
            "calls": self.calls,
            "busy_s": self.busy_s,
            "returned_s": self.returned_s,
            "work": asdict(self.work),
        }

    @property
    def slots(self) -> int:
        return self.engine.slots

    @contextmanager
    def open(self, stop: Callable[[], bool]) -> Iterator[WatchedQueue]:
        with self.engine.open(stop) as queue:
            yield WatchedQueue(self, queue)


@dataclass
class WatchedQueue:
    """A queue of a watched engine."""

    owner: Watched
    queue: CallQueue

    @property
    def slots(self) -> int:
        return self.queue.slots

    def submit(self, call: Call, limits: CallLimits) -> None:
        self.queue.submit(replace(call, function=self.owner.function), limits)

    def withdraw(self, key: str) -> None:
        self.queue.withdraw(key)

    def outcomes(self) -> Iterator[CallOutcome]:
        yield from map(self.owner.load_result, self.queue.outcomes())


def run_rival(task: Task) -> dict[str, Any]:
    """One configuration after another in one process, which is killed at the limit and replaced.

    Its clock is the sum of what the function itself took, so that it does not pay for its isolation.
    """
    calls = [
        Call(str(number), cross_validated, (task.ref, configuration, task.plan))
        for number, configuration in enumerate(task.configurations)
    ]
    records = {}
    elapsed = 0.0
    with LocalEngine(1, [__name__]) as engine:
        _warm_up(engine, task, 1)
        watched = Watched(engine, cross_validated)
        for outcome in run_calls(watched, calls, task.limits, lambda: False):
            elapsed += outcome.duration_s
            scores = outcome.value if outcome.status is CallStatus.SUCCEEDED else []
            status = "invalid" if outcome.status is CallStatus.FAILED else outcome.status.value
            records[outcome.key] = _record(status, scores, outcome.duration_s, elapsed, outcome.reason)
    return {"slots": 1, "wall_s": elapsed, **watched.figures(), "records": records}


def run_variant(task: Task, variant: Variant) -> dict[str, Any]:
    """The engine with two slots and two batches under way, as a search evaluates."""
    metric = make_metric(task.plan.metric, task.plan.thresholds)
    evaluations: list[Evaluation] = []
    records = {}
    batches = deque(enumerate(_batches(task)))
    stream = EvaluationStream(ref=task.ref, cohort=task.cohort, plan=task.plan, limits=task.limits)

    def replenish() -> None:
        while batches and stream.is_complete(batches[0][0] - BATCHES_UNDER_WAY):
            batch, configurations = batches.popleft()
            known = [e for e in evaluations if e.batch <= batch - BATCHES_UNDER_WAY]
            history = History(metric, tuple(sorted(known, key=lambda e: e.number)), task.plan.repeats)
            stream.add(batch, configurations, Race.of(history) if variant.racing else None)

    with LocalEngine(SLOTS, [__name__]) as engine:
        _warm_up(engine, task, 4 * SLOTS)
        watched = Watched(engine, folds_with_prefixes if variant.prefixes else folds_alone)
        start = time.perf_counter()
        replenish()
        for evaluation in stream.run(watched, lambda: False):
            evaluations.append(evaluation)
            records[str(evaluation.number)] = _record_of(evaluation, time.perf_counter() - start)
            replenish()
        wall_s = time.perf_counter() - start
    return {"slots": SLOTS, "wall_s": wall_s, **watched.figures(), "records": records}


def _batches(task: Task) -> Iterator[dict[int, Configuration]]:
    numbered = list(enumerate(task.configurations))
    for first in range(0, len(numbered), task.batch_size):
        yield dict(numbered[first : first + task.batch_size])


def _warm_up(engine: LocalEngine, task: Task, n: int) -> None:
    """Have the children up and the cohort read before the clock starts."""
    calls = [Call(str(i), _ready, (task.ref,)) for i in range(n)]
    assert all(o.status is CallStatus.SUCCEEDED for o in run_calls(engine, calls, CallLimits(60, 1024), lambda: False))


def _ready(ref: CohortRef) -> None:
    tasks.load_cohort(ref)
    time.sleep(0.1)


def _record_of(evaluation: Evaluation, ended_s: float) -> dict[str, Any]:
    reason = evaluation.reason if evaluation.score is None else None
    return _record(evaluation.status.value, evaluation.fold_scores, evaluation.duration_s, ended_s, reason)


def _record(status: str, scores: Sequence[float], seconds: float, ended_s: float, reason: str | None) -> dict[str, Any]:
    record: dict[str, Any] = {
        "status": status,
        "fold_scores": [float(score) for score in scores],
        "seconds": round(seconds, 4),
        "ended_s": round(ended_s, 4),
    }
    return record | ({"reason": reason} if reason else {})
