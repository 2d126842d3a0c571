"""What becomes of a configuration does not depend on the order in which its folds end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from autoprog.evaluation import Evaluation, FoldResult, Plan, Race, Status
from autoprog.search import evaluation_stream
from autoprog.search.evaluation_stream import EvaluationStream
from autoprog.search.ports import CohortRef
from autoprog.space import Configuration, Step
from autoprog.work import Call, CallLimits, CallOutcome, CallStatus
from tests.cohorts import cleveland_cohort

PLAN = Plan("auc_roc", folds=5, repeats=2, seed=0)
RACE = Race((0.9,) * 10, variance=0.001, df=100, folds=5)


def configuration(alpha: float) -> Configuration:
    return Configuration(Step.of("median"), Step.of("none"), Step.of("ridge", {"alpha": alpha}), Step.of("none"))


class ShuffledDispatcher:
    """Ends calls in a random order, after random times."""

    def __init__(self, slots: int, seed: int, forced: Callable[[str], CallStatus | None] = lambda _: None) -> None:
        self.slots = slots
        self._rng = np.random.default_rng(seed)
        self._forced = forced
        self.run: list[str] = []
        self.limits_s: list[float] = []
        self.duration_s: float | None = None
        self.join: dict[int, int] = {}
        self.most_pending = 0

    @contextmanager
    def open(self, stop: Callable[[], bool]) -> Iterator[ShuffledDispatcher]:
        self._pending: dict[str, tuple[Call, CallLimits]] = {}
        yield self

    def submit(self, call: Call, limits: CallLimits) -> None:
        assert call.key not in self._pending
        self._pending[call.key] = call, limits

    def withdraw(self, key: str) -> None:
        self._pending.pop(key, None)

    def outcomes(self) -> Iterator[CallOutcome]:
        while self._pending:
            self.most_pending = max(self.most_pending, len(self._pending))
            self.slots = self.join.get(len(self.run), self.slots)
            started = list(self._pending)[: max(1, self.slots)]  # the others wait
            call, limits = self._pending.pop(started[self._rng.integers(len(started))])
            self.run.append(call.key)
            self.limits_s.append(limits.time_s)
            duration = self.duration_s or float(self._rng.choice([0.01, 0.5]))
            assert limits.time_s > 0
            if status := self._forced(call.key):
                yield CallOutcome(call.key, status, reason="forced", duration_s=duration, processor_s=duration)
                continue
            try:
                value = call.function(*call.arguments)
                yield CallOutcome(call.key, CallStatus.SUCCEEDED, value, duration_s=duration, processor_s=duration)
            except ValueError as error:
                reason = str(error)
                yield CallOutcome(call.key, CallStatus.FAILED, reason=reason, duration_s=duration, processor_s=duration)


@pytest.fixture
def scores(monkeypatch: pytest.MonkeyPatch) -> dict[float, list[float | None]]:
    """Fold scores of each configuration, by its alpha; None raises."""
    table: dict[float, list[float | None]] = {}

    def evaluate_folds(_ref: object, c: Configuration, plan: Plan, folds: tuple[int, ...]) -> tuple[FoldResult, ...]:
        row = table[float(dict(c.prediction.parameters)["alpha"])]
        results: list[FoldResult] = []
        for fold in folds:
            score = row[fold]
            if score is None:
                if not results:
                    raise ValueError(f"fold {fold}")
                break
            n = len(plan.fold(cleveland_cohort(), fold).test)
            results.append(FoldResult(score, np.full(n, fold / 10, dtype=np.float32), (f"note {fold % 2}",)))
        return tuple(results)

    monkeypatch.setattr(evaluation_stream, "evaluate_folds", evaluate_folds)
    return table


def evaluate(
    table: dict[float, Any], dispatcher: ShuffledDispatcher, race: Race | None = RACE, time_s: float = 60
) -> list[Evaluation]:
    stream = stream_of(time_s)
    stream.add(3, {i: configuration(alpha) for i, alpha in enumerate(table)}, race)
    return sorted(stream.run(dispatcher, lambda: False), key=lambda e: e.number)


def stream_of(time_s: float = 60) -> EvaluationStream:
    ref, limits = CohortRef("file:///none", "0"), CallLimits(time_s, 1024)
    return EvaluationStream(ref=ref, cohort=cleveland_cohort(), plan=PLAN, limits=limits)


def facts(evaluations: list[Evaluation]) -> list[tuple[object, ...]]:
    return [(e.number, e.status, e.score, e.fold_scores, e.reason, e.n_patients) for e in evaluations]


@pytest.mark.parametrize("seed", range(30))
def test_order_and_slots_change_nothing(scores: dict[float, list[float | None]], seed: int) -> None:
    rng = np.random.default_rng(seed)
    for alpha in range(5):
        row = [float(x) for x in rng.normal(rng.choice([0.75, 0.85, 0.9]), 0.03, 10)]
        scores[float(alpha)] = [None if rng.random() < 0.04 else x for x in row]
    first, *others = (facts(evaluate(scores, ShuffledDispatcher(slots, seed + 100 * slots))) for slots in (1, 2, 3, 8))
    assert all(other == first for other in others)
    for row, (_, status, score, fold_scores, *_) in zip(scores.values(), first, strict=True):
        # The definition, fold by fold.
        gains: list[float] = []
        expected = Status.SUCCEEDED
        for x in row:
            if x is None:
                expected = Status.INVALID
                break
            gains.append(x)
            if RACE.is_lost(gains):
                expected = Status.RACED_OUT
                break
        assert status is expected
        assert fold_scores == (() if expected is Status.INVALID else tuple(gains))
        assert (score is None) == (expected is not Status.SUCCEEDED)
        if score is not None:
            assert score == pytest.approx(np.mean(gains))


@pytest.mark.parametrize("lie", [(), ("too", "many"), (FoldResult(0.5, np.zeros(3, np.float32)),)])
def test_results_that_are_not_of_the_folds_are_refused(
    monkeypatch: pytest.MonkeyPatch, lie: tuple[FoldResult, ...]
) -> None:
    """As a worker may send them that somebody has taken over."""
    monkeypatch.setattr(evaluation_stream, "evaluate_folds", lambda *_: lie)
    (evaluation,) = evaluate({1.0: []}, ShuffledDispatcher(2, 0))
    assert (evaluation.status, evaluation.reason) == (
        Status.INVALID,
        "its answer is refused: it is not of this cohort's folds",
    )


def test_a_race_is_decided_by_what_a_fold_counts_for(scores: dict[float, list[float | None]]) -> None:
    """One is lost by its scores but not by its judge, the other the other way round; scores stay their own."""
    scores.update({1.0: [0.5] * 10, 2.0: [0.9] * 10})
    stream = stream_of()
    alike = {i: configuration(alpha) for i, alpha in enumerate(scores)}
    stream.add(0, alike, RACE, fold_scores=lambda results: [1.4 - result.score for result in results])
    weak, strong = sorted(stream.run(ShuffledDispatcher(2, 0), lambda: False), key=lambda e: e.number)
    assert (weak.status, weak.score) == (Status.SUCCEEDED, 0.5)
    assert (strong.status, set(strong.fold_scores)) == (Status.RACED_OUT, {0.9})


@pytest.mark.parametrize("seed", range(5))
def test_workers_that_join_are_given_folds_and_change_nothing(
    scores: dict[float, list[float | None]], seed: int
) -> None:
    """No worker at first, eight slots after three folds, one less later."""
    rng = np.random.default_rng(seed)
    scores |= {float(alpha): rng.normal(0.85, 0.05, 10).tolist() for alpha in range(6)}
    alone, joined = ShuffledDispatcher(1, seed), ShuffledDispatcher(0, seed)
    joined.join = {3: 8, 30: 7}
    stream = stream_of()
    stream.add(3, {i: configuration(alpha) for i, alpha in enumerate(scores)}, RACE)
    found = list(stream.run(joined, lambda: False))
    assert facts(sorted(found, key=lambda e: e.number)) == facts(evaluate(scores, alone))
    assert alone.most_pending == 2
    assert joined.most_pending >= 8
    assert stream.slots == joined.slots


def test_a_lost_configuration_costs_few_folds(scores: dict[float, list[float | None]]) -> None:
    scores |= {0.0: [0.5] * 10, 1.0: [0.9] * 10}
    dispatcher = ShuffledDispatcher(1, 0)
    lost, kept = evaluate(scores, dispatcher)
    assert (lost.status, kept.status) == (Status.RACED_OUT, Status.SUCCEEDED)
    assert [key for key in dispatcher.run if key.startswith("0/")] == ["0/0", "0/1"]
    assert lost.reason is not None
    assert lost.reason.startswith("no chance against the best one after 2 of 10 folds")
    (again, _) = evaluate(scores, ShuffledDispatcher(1, 0), race=None)
    assert again.status is Status.SUCCEEDED


def test_risks_are_put_in_place_and_notes_counted(scores: dict[float, list[float | None]]) -> None:
    scores[0.0] = [0.9] * 10
    (evaluation,) = evaluate(scores, ShuffledDispatcher(2, 1))
    assert evaluation.risks is not None
    for fold in range(5):
        rows = PLAN.fold(cleveland_cohort(), fold).test
        np.testing.assert_array_equal(evaluation.risks[rows], np.float32(fold / 10))
    assert evaluation.reason == "note 0 (5 of 10 folds); note 1 (5 of 10 folds)"


@pytest.mark.parametrize(("time_s", "reason"), [(0.4, "took longer than its 0.4 s"), (2.0, "2 of 10 folds took ")])
def test_the_time_limit_is_for_all_folds_together(
    scores: dict[float, list[float | None]], time_s: float, reason: str
) -> None:
    scores[0.0] = [0.9] * 10
    dispatcher = ShuffledDispatcher(1, 0)
    dispatcher.duration_s = 0.35 if time_s > 1 else 0.5
    (evaluation,) = evaluate(scores, dispatcher, time_s=time_s)
    assert evaluation.status is Status.TIMEOUT
    assert evaluation.reason is not None
    assert evaluation.reason.startswith(reason)
    assert evaluation.score is None


def test_calls_may_take_twice_their_share_of_the_limit(scores: dict[float, list[float | None]]) -> None:
    scores[0.0] = [0.9] * 10
    dispatcher = ShuffledDispatcher(1, 0)
    dispatcher.duration_s = 1.0
    evaluate(scores, dispatcher, time_s=50)
    assert dispatcher.limits_s == [10.0] * 10


def test_a_limit_may_come_when_the_first_is_decided(scores: dict[float, list[float | None]]) -> None:
    """Ten folds of a second each: the first may take a minute, and then an evaluation may take 5 s."""
    scores |= {0.0: [0.9] * 10, 1.0: [0.8] * 10}
    dispatcher = ShuffledDispatcher(1, 0)
    dispatcher.duration_s = 1.0
    stream = stream_of(60)
    stream.add(0, {0: configuration(0.0)}, race=None)
    found = []
    for evaluation in stream.run(dispatcher, lambda: False):
        found.append((evaluation.number, evaluation.status))
        if evaluation.number == 0:
            stream.limit(5.0)
            stream.add(1, {1: configuration(1.0)}, race=None)
    assert found == [(0, Status.SUCCEEDED), (1, Status.TIMEOUT)]


@pytest.mark.parametrize("status", [CallStatus.TIMEOUT, CallStatus.MEMORY, CallStatus.CRASHED])
def test_one_fold_that_is_killed_ends_its_configuration_alone(
    scores: dict[float, list[float | None]], status: CallStatus
) -> None:
    scores |= {0.0: [0.9] * 10, 1.0: [0.9] * 10}
    dispatcher = ShuffledDispatcher(2, 3, lambda key: status if key == "1/0" else None)
    first, second = evaluate(scores, dispatcher)
    assert first.status is Status.SUCCEEDED
    assert second.status.value == status.value
    assert second.reason == ("a fold forced" if status is CallStatus.TIMEOUT else "forced")


def test_a_slot_that_would_wait_works_on_a_later_batch(scores: dict[float, list[float | None]]) -> None:
    scores |= {float(alpha): [0.9] * 10 for alpha in range(4)}
    stream, dispatcher = stream_of(), ShuffledDispatcher(4, 0)
    dispatcher.duration_s = 0.5
    for batch in range(2):
        stream.add(batch, {i: configuration(i) for i in (2 * batch, 2 * batch + 1)}, RACE)
    evaluations = list(stream.run(dispatcher, lambda: False))
    assert sorted((e.number, e.batch) for e in evaluations) == [(0, 0), (1, 0), (2, 1), (3, 1)]
    # Of two that race no more than one fold each is begun after their second, so that four slots need the others.
    assert {key.split("/")[0] for key in dispatcher.run[:8]} > {"0", "1"}


def test_a_batch_may_follow_while_another_is_under_way(scores: dict[float, list[float | None]]) -> None:
    scores |= {float(alpha): [0.9] * 10 for alpha in range(6)}
    stream = stream_of()
    stream.add(0, {0: configuration(0), 1: configuration(1)}, None)
    decided: list[Evaluation] = []
    for evaluation in stream.run(ShuffledDispatcher(3, 1), lambda: False):
        decided.append(evaluation)
        batch = len(decided) // 2
        if len(decided) in (1, 3):
            stream.add(batch + 1, {2 * batch + 2: configuration(2 * batch + 2), 2 * batch + 3: configuration(2)}, None)
        complete = [sum(e.batch <= b for e in decided) == 2 * b + 2 for b in range(3)]
        assert [stream.is_complete(b) for b in range(min(batch, 2) + 1)] == complete[: batch + 1]
    assert [(e.number, e.batch) for e in sorted(decided, key=lambda e: e.number)] == [(i, i // 2) for i in range(6)]
    assert all(e.status is Status.SUCCEEDED for e in decided)


def test_what_is_undecided_when_the_time_is_over_is_cancelled(scores: dict[float, list[float | None]]) -> None:
    scores |= {float(alpha): [0.9] * 10 for alpha in range(4)}
    stream, dispatcher = stream_of(), ShuffledDispatcher(1, 0)
    dispatcher.duration_s = 0.5
    for batch in range(2):
        stream.add(batch, {i: configuration(i) for i in (2 * batch, 2 * batch + 1)}, None)
    evaluations = list(stream.run(dispatcher, lambda: len(dispatcher.run) > 10))
    assert [e.number for e in evaluations if e.status is Status.SUCCEEDED] == [0]
    assert {e.number for e in evaluations if e.status is Status.CANCELLED} == {1, 2, 3}
