"""Evaluating configurations fold by fold: slots stay busy, and a configuration without a chance stops early.

Batches are added while earlier ones are under way. The earlier configuration goes first, but a slot that would wait for
the last fold of one batch, or for what its race says, works on the next.

What becomes of a configuration is decided by its folds in their order, whatever the order in which they end and
however many ran at once: the first fold that fails makes it a failure, and it is raced out at the first fold after
which it is lost. Folds beyond that, begun because a slot was free, are dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
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
    is_out_of_bag,
    summarise,
)
from autoprog.evaluation.along import common_place, list_settings
from autoprog.search.ports import Call, CallLimits, CallOutcome, CallQueue, CallStatus, CohortRef, Dispatcher
from autoprog.search.work import evaluate_folds
from autoprog.space import Configuration, Space

_STATUS = {
    CallStatus.TIMEOUT: Status.TIMEOUT,
    CallStatus.MEMORY: Status.MEMORY,
    CallStatus.CRASHED: Status.CRASHED,
    CallStatus.FAILED: Status.INVALID,
    CallStatus.CANCELLED: Status.CANCELLED,
}

# Folds that take less together are sent as one call: a call costs 3 ms.
_CALL_S = 0.1
# Folds are alike: an evaluation whose first ones would take so much longer than its limit, were all like them, has
# timed out (the very first one also loads the cohort); and a call may take so many times its folds' share of the
# limit, or so many seconds.
_PROJECTION, _PROJECTION_OF_ONE, _SHARES, _MIN_CALL_S = 1.25, 2.0, 2.0, 2.0
# What the folds must have computed to tell a pace.
_MIN_SAYING_S = 0.1
# A call without a limit of its own.
_DAY_S = 86_400.0


Judge = Callable[[int, FoldResult], float]
"""What the fold of a number counts for."""


def _score(_number: int, result: FoldResult) -> float:
    return result.score


@dataclass
class _Progress:
    """What is known of one configuration.

    Attributes
    ----------
    number : int
        Of the evaluation.
    batch : int
        Number of its batch.
    configuration : Configuration
        The pipeline.
    race : Race or None
        What it races against.
    judge : callable
        What a fold of it counts for in the race.
    results : dict of int to FoldResult
        By fold.
    failure : tuple of (int, CallOutcome) or None
        The first fold that failed, and how.
    pending : dict of str to tuple of int
        Folds of the calls on their way, by the call's key.
    waiting : list of int
        Folds that were not asked for, ascending.
    seconds : float
        That its folds took by the clock.
    processor_s : float
        That they computed, which is what limits are of.
    out_of_bag : bool
        Whether one fit gives all folds.
    limit_s : float or None
        Processor seconds of all folds together; None for those of the stream.
    """

    number: int
    batch: int
    configuration: Configuration
    race: Race | None
    summarise_model: Judge
    results: dict[int, FoldResult] = field(default_factory=dict)
    failure: tuple[int, CallOutcome] | None = None
    pending: dict[str, tuple[int, ...]] = field(default_factory=dict)
    waiting: list[int] = field(default_factory=list)
    seconds: float = 0.0
    processor_s: float = 0.0
    out_of_bag: bool = False
    limit_s: float | None = None


class EvaluationStream:
    """Evaluates the configurations that are added to it.

    Parameters
    ----------
    ref : CohortRef
        Where the patients lie.
    cohort : Cohort
        All patients.
    plan : Plan
        Folds and metric.
    limits : CallLimits
        Of one evaluation, all its folds together.
    """

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
        summarise_model: Judge | None = None,
    ) -> None:
        """Evaluate a batch after those that were added before; while `run` is read, too.

        Parameters
        ----------
        batch : int
            Its number.
        configurations : mapping of int to Configuration
            What to evaluate, by the number of the evaluation; the numbers ascend from batch to batch.
        race : Race or None
            What the batch races against.
        limits : mapping of int to float, optional
            Processor seconds of those that have a limit of their own, infinite for none.
        judge : callable (int, FoldResult) -> float, optional
            From the number of a fold and what it says to what it counts for in the race, in the unit of the score; the
            score by default.
        """
        for number, configuration in sorted(configurations.items()):
            self._open[number] = _Progress(
                number,
                batch,
                configuration,
                race,
                summarise_model or _score,
                waiting=list(range(self._plan.n_folds)),
                out_of_bag=is_out_of_bag(configuration, self._cohort),
                limit_s=(limits or {}).get(number),
            )

    def limit(self, time_s: float) -> None:
        """Let an evaluation, all its folds together, take so long from now on; what runs keeps its own limit."""
        self._limits = replace(self._limits, time_s=time_s)

    @property
    def slots(self) -> int:
        """Folds that ran at the same time when more were asked for last; 0 before `run`, and where nothing could."""
        return self._slots

    @property
    def pace(self) -> float:
        """Seconds of the clock for one that the folds computed; 1 before they say anything."""
        return self._seconds / self._processor_s if self._processor_s > _MIN_SAYING_S else 1.0

    def is_complete(self, batch: int) -> bool:
        """Whether every configuration of this batch and of those before it is decided."""
        return all(progress.batch > batch for progress in self._open.values())

    def run(self, dispatcher: Dispatcher, stop: Callable[[], bool]) -> Iterator[Evaluation]:
        """Tell of each evaluation as soon as it is decided, until none is open.

        Parameters
        ----------
        dispatcher : Dispatcher
            Runs the folds.
        stop : callable () -> bool
            Polled; when it turns true what is undecided is cancelled.

        Yields
        ------
        Evaluation
            One a configuration, in the order in which they are decided; the cancelled ones last.

        Raises
        ------
        EngineUnavailableError
            If no worker can be reached.
        """
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
        """Ask for more folds: two calls a slot, so that none waits; folds that a race may make needless, one.

        One configuration after another: what the end of the time cuts off is then little. Slots are counted each time,
        since workers may join a search that is under way.
        """
        self._slots = queue.slots
        slots = max(1, self._slots)
        while len(self._owner) < 2 * slots:
            waiting = [p for p in self._open.values() if p.waiting]
            if not waiting:
                return
            progress = min(waiting, key=lambda p: (self._is_ahead(p), p.number))
            if self._is_ahead(progress) and len(self._owner) >= slots:
                return
            self._ask(queue, progress)

    def _is_ahead(self, progress: _Progress) -> bool:
        """Whether the next fold would be begun before it is known to be needed."""
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
        queue.submit(Call(key, evaluate_folds, (self._ref, progress.configuration, self._plan, folds)), limits)
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
        progress.results.update(zip(folds, results, strict=False))
        if outcome.status is not CallStatus.SUCCEEDED:
            if progress.failure is None or folds[0] < progress.failure[0]:
                progress.failure = (folds[0], outcome)
        elif len(results) < len(folds):  # the next one raised: it says why when it is asked for first
            progress.waiting = sorted([*progress.waiting, *folds[len(results) :]])
        if progress.failure is not None:
            progress.waiting = [fold for fold in progress.waiting if fold < progress.failure[0]]

    def _verdict(self, progress: _Progress) -> Evaluation | None:
        """What the folds known so far, in their order, decide; None if they do not yet."""
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
                [self._gain(progress.summarise_model(fold, r)) for fold, r in enumerate(at_common_setting(results))]
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
        notes = summarise(r.notes for r in results)
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
        """The configuration at the setting that its folds share, and what they say of the others."""
        paths = [r.path for r in results if r.path is not None]
        axis = Space.full(self._cohort.n_causes).find_path(configuration) if paths else None
        if axis is None:
            return configuration, None
        settings = list_settings(paths)
        bound = dict(configuration.prediction.parameters)[axis.name]
        chosen = configuration.at("prediction", axis.name, settings[common_place(paths)].value)
        return chosen, EvaluatedPath(axis.name, bound, settings)
