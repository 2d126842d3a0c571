"""Evaluation of configurations fold by fold: slots stay busy, and a configuration without a chance stops early.

A configuration's folds decide in their order, however many ran at once and in whatever order they ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from autoprog.cohort import Cohort
from autoprog.evaluation import (
    MIN_FOLDS,
    CrossValidation,
    EvaluatedPath,
    Evaluation,
    FoldResult,
    Plan,
    Race,
    Status,
    at_common_setting,
    is_of_fold,
    is_out_of_bag,
    summarise,
)
from autoprog.evaluation.cross_validation import common_place, list_settings
from autoprog.search.ports import CohortRef
from autoprog.search.tasks import evaluate_folds
from autoprog.space import Configuration, Space, list_modules
from autoprog.work import Call, CallLimits, CallOutcome, CallQueue, CallStatus, Dispatcher

_STATUS = {
    CallStatus.TIMEOUT: Status.TIMEOUT,
    CallStatus.MEMORY: Status.MEMORY,
    CallStatus.CRASHED: Status.CRASHED,
    CallStatus.FAILED: Status.INVALID,
    CallStatus.CANCELLED: Status.CANCELLED,
}

# Folds that take less together are sent as one call, as a call costs 3 ms.
_CALL_S = 0.1
# Folds are alike: an evaluation times out when its projected time is so many times its limit, more after one fold,
# which also loads the cohort. A call may take so many times its folds' share of the limit, or so many seconds.
_PROJECTION, _PROJECTION_OF_ONE, _SHARES, _MIN_CALL_S = 1.25, 2.0, 2.0, 2.0
# Computed seconds from which a pace is estimated.
_MIN_SAYING_S = 0.1
# The longest time limit of a call.
_DAY_S = 86_400.0


Judge = Callable[[Sequence[FoldResult]], Sequence[float]]
"""Map from the results of a configuration's first folds, in order, to their scores in the race."""


def _own_scores(results: Sequence[FoldResult]) -> list[float]:
    return [result.score for result in results]


@dataclass
class _Progress:
    """Progress of one configuration."""

    number: int  # of the evaluation
    batch: int
    configuration: Configuration
    race: Race | None
    fold_scores: Judge  # scores of folds in the race
    results: dict[int, FoldResult] = field(default_factory=dict)  # by fold
    failure: tuple[int, CallOutcome] | None = None  # the first fold that failed, and its outcome
    pending: dict[str, tuple[int, ...]] = field(default_factory=dict)  # folds of calls under way, by key
    waiting: list[int] = field(default_factory=list)  # folds not requested yet, ascending
    seconds: float = 0.0  # wall-clock
    processor_s: float = 0.0  # computed; the limits apply to these
    out_of_bag: bool = False  # one fit gives all folds
    limit_s: float | None = None  # processor seconds of all folds; None for the stream's limit


class EvaluationStream:
    """Stream of evaluations; `limits` apply to all folds of one evaluation together."""

    def __init__(self, *, ref: CohortRef, cohort: Cohort, plan: Plan, limits: CallLimits) -> None:
        self._ref = ref
        self._cohort = plan.sample(cohort)
        self._plan = plan
        self._limits = limits
        self._gain = plan.metric_for(self._cohort).gain
        self._slots = 0
        self._seconds = self._processor_s = 0.0
        self._open: dict[int, _Progress] = {}
        self._owner: dict[str, _Progress] = {}

    def add(
        self,
        batch: int,
        configurations: Mapping[int, Configuration],
        race: Race | None,
        limits: Mapping[int, float] | None = None,
        fold_scores: Judge | None = None,
    ) -> None:
        """Add a batch, before or during `run`; `limits` are processor seconds by evaluation, infinite for no limit."""
        # Numbers ascend from batch to batch.
        for number, configuration in sorted(configurations.items()):
            self._open[number] = _Progress(
                number,
                batch,
                configuration,
                race,
                fold_scores or _own_scores,
                waiting=list(range(self._plan.n_folds)),
                out_of_bag=is_out_of_bag(configuration, self._cohort),
                limit_s=(limits or {}).get(number),
            )

    def limit(self, time_s: float) -> None:
        """Set the time limit of evaluations, all folds together; running calls keep theirs."""
        self._limits = replace(self._limits, time_s=time_s)

    @property
    def slots(self) -> int:
        """Folds that ran at the same time at the last count; 0 before `run` and without a worker."""
        return self._slots

    @property
    def pace(self) -> float:
        """Wall-clock seconds per computed second of the folds; 0 until they have computed enough."""
        return self._seconds / self._processor_s if self._processor_s > _MIN_SAYING_S else 0.0

    def is_complete(self, batch: int) -> bool:
        """Whether every configuration of this batch and of those before it is decided."""
        return all(progress.batch > batch for progress in self._open.values())

    def run(self, dispatcher: Dispatcher, stop: Callable[[], bool]) -> Iterator[Evaluation]:
        """Yield each evaluation when it is decided; when `stop` turns true, the others are cancelled and come last."""
        with dispatcher.open(stop) as queue:
            self._fill(queue)
            for outcome in queue.outcomes():
                progress = self._owner.pop(outcome.key)
                if outcome.status is CallStatus.CANCELLED:
                    continue
                self._learn(progress, outcome)
                if (evaluation := self._verdict(progress)) is not None:
                    del self._open[progress.number]
                    for key in progress.pending:
                        queue.withdraw(key)
                        del self._owner[key]
                    yield evaluation
                if not stop():
                    self._fill(queue)
        while self._open:
            _, progress = self._open.popitem()
            yield self._evaluation(progress, Status.CANCELLED, (), None)

    def _fill(self, queue: CallQueue) -> None:
        """Request folds: two calls a slot, so that none waits, but one for folds that a race may make needless."""
        self._slots = queue.slots  # counted each time, as workers may join
        slots = max(1, self._slots)
        while len(self._owner) < 2 * slots:
            waiting = [p for p in self._open.values() if p.waiting]
            if not waiting:
                return
            # The earliest configuration goes first: when time runs out, little work is lost.
            progress = min(waiting, key=lambda p: (self._is_ahead(p), p.number))
            if self._is_ahead(progress) and len(self._owner) >= slots:
                return
            self._ask(queue, progress)

    def _is_ahead(self, progress: _Progress) -> bool:
        """Whether the next fold would start before it is known to be needed."""
        asked = len(progress.results) + sum(map(len, progress.pending.values()))
        return progress.race is not None and bool(progress.pending) and asked >= MIN_FOLDS

    def _ask(self, queue: CallQueue, progress: _Progress) -> None:
        size = self._plan.n_folds if progress.out_of_bag else 1
        if progress.results and not progress.out_of_bag:
            size = max(1, int(_CALL_S / max(progress.seconds / len(progress.results), 1e-6)))
        folds, progress.waiting = tuple(progress.waiting[:size]), progress.waiting[size:]
        key = f"{progress.number}/{folds[0]}"
        limit_s = self._evaluation_limit(progress)
        share_s = limit_s * len(folds) / self._plan.n_folds
        time_s = min(max(_SHARES * share_s, _MIN_CALL_S), max(limit_s - progress.processor_s, 0.1), _DAY_S)
        limits = CallLimits(time_s, self._limits.memory_mb)
        arguments = (self._ref, progress.configuration, self._plan, folds)
        queue.submit(Call(key, evaluate_folds, arguments, list_modules(progress.configuration)), limits)
        progress.pending[key] = folds
        self._owner[key] = progress

    def _evaluation_limit(self, progress: _Progress) -> float:
        return self._limits.time_s if progress.limit_s is None else progress.limit_s

    def _learn(self, progress: _Progress, outcome: CallOutcome) -> None:
        folds = progress.pending.pop(outcome.key)
        progress.seconds += outcome.duration_s
        progress.processor_s += outcome.processor_s
        self._seconds += outcome.duration_s
        self._processor_s += outcome.processor_s
        results: tuple[FoldResult, ...] = outcome.value if outcome.status is CallStatus.SUCCEEDED else ()
        if outcome.status is CallStatus.SUCCEEDED and not self._are_of(folds, results):
            reason = "its answer is refused: it is not of this cohort's folds"
            outcome, results = replace(outcome, status=CallStatus.FAILED, value=None, reason=reason), ()
        progress.results.update(zip(folds, results, strict=False))
        if outcome.status is not CallStatus.SUCCEEDED:
            if progress.failure is None or folds[0] < progress.failure[0]:
                progress.failure = (folds[0], outcome)
        elif len(results) < len(folds):  # the next fold raised; requested first, it gives the reason
            progress.waiting = sorted([*progress.waiting, *folds[len(results) :]])
        if progress.failure is not None:
            progress.waiting = [fold for fold in progress.waiting if fold < progress.failure[0]]

    def _are_of(self, folds: tuple[int, ...], results: tuple[FoldResult, ...]) -> bool:
        """Return whether there is a result, and each has the size of its fold."""
        pairs = zip(results, folds, strict=False)
        return 0 < len(results) <= len(folds) and all(is_of_fold(r, self._cohort, self._plan, n) for r, n in pairs)

    def _verdict(self, progress: _Progress) -> Evaluation | None:
        """Decide the evaluation by the folds known so far, in their order; None if they do not decide yet."""
        # Folds beyond the deciding one, begun because a slot was free, are dropped.
        results: list[FoldResult] = []
        for number in range(self._plan.n_folds):
            if progress.failure is not None and progress.failure[0] == number:
                outcome = progress.failure[1]
                reason = outcome.reason if outcome.status is not CallStatus.TIMEOUT else f"a fold {outcome.reason}"
                return self._evaluation(progress, _STATUS[outcome.status], (), reason)
            if number not in progress.results:
                break
            results.append(progress.results[number])
            if progress.race is not None and progress.race.is_lost(
                [self._gain(score) for score in progress.fold_scores(at_common_setting(results))]
            ):
                reason = f"no chance against the best one after {len(results)} of {self._plan.n_folds} folds"
                return self._evaluation(progress, Status.RACED_OUT, tuple(results), reason)
        if len(results) == self._plan.n_folds:
            return self._evaluation(progress, Status.SUCCEEDED, tuple(results), None)
        return self._timeout(progress)

    def _timeout(self, progress: _Progress) -> Evaluation | None:
        limit_s, n_folds = self._evaluation_limit(progress), self._plan.n_folds
        reason = f"took longer than its {limit_s:g} s"
        if progress.processor_s <= limit_s:
            done = len(progress.results)
            projected_s = progress.processor_s / done * n_folds if done else 0.0
            if projected_s <= (_PROJECTION_OF_ONE if done == 1 else _PROJECTION) * limit_s:
                return None
            taken = f"{done} of {n_folds} folds took {progress.processor_s:.1f} s"
            reason = f"{taken}: all are expected to take {projected_s:.0f}"
        return self._evaluation(progress, Status.TIMEOUT, (), reason)

    def _evaluation(
        self, progress: _Progress, status: Status, results: tuple[FoldResult, ...], reason: str | None
    ) -> Evaluation:
        complete = CrossValidation.of(results, self._cohort, self._plan) if status is Status.SUCCEEDED else None
        notes = summarise(r.notes for r in at_common_setting(results))
        configuration, path = self._at_chosen(progress.configuration, results)
        return Evaluation(
            progress.number,
            progress.batch,
            configuration,
            status,
            score=complete.score if complete else None,
            fold_scores=tuple(r.score for r in at_common_setting(results)),
            risks=complete.risks if complete else None,
            duration_s=progress.seconds,
            reason="; ".join(filter(None, (reason, notes))) or None,
            n_patients=self._cohort.n_rows,
            path=path,
            out_of_bag=progress.out_of_bag,
            competing=complete.competing if complete else None,
        )

    def _at_chosen(
        self, configuration: Configuration, results: tuple[FoldResult, ...]
    ) -> tuple[Configuration, EvaluatedPath | None]:
        """Configuration at the setting that its folds share, and the scores of the others."""
        paths = [r.path for r in results if r.path is not None]
        axis = Space.full(self._cohort.n_causes).find_path(configuration) if paths else None
        if axis is None:
            return configuration, None
        settings = list_settings(paths)
        bound = dict(configuration.prediction.parameters)[axis.name]
        chosen = configuration.at("prediction", axis.name, settings[common_place(paths)].value)
        return chosen, EvaluatedPath(axis.name, bound, settings)
