"""What `Dispatcher` and `CallQueue` promise: over an engine in this process, a cluster of processes, and inline."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from autoprog.work import Call, CallLimits, CallOutcome, CallQueue, CallStatus, Dispatcher, run_calls
from tests.engine import functions
from tests.engine.cluster import Engine, wait_until
from tests.search.inline import InlineDispatcher

LIMITS = CallLimits(time_s=20, memory_mb=256)


def never() -> bool:
    return False


@pytest.fixture(params=["embedded", "cluster", "inline"])
def dispatcher(request: pytest.FixtureRequest) -> Dispatcher:
    if request.param == "inline":
        return InlineDispatcher(first_last=False)
    engine: Engine = request.getfixturevalue(request.param)
    return engine


def add(key: str) -> Call:
    return Call(key, functions.add, (1, 2))


def hang(marker: Path) -> Call:
    return Call(marker.name, functions.begin_and_hang, (str(marker),))


def assert_both_slots_are_free_soon(queue: CallQueue) -> None:
    start = time.monotonic()
    for n in range(2):
        queue.submit(Call(f"free {n}", functions.interval, (0.2,)), LIMITS)
    begun = [outcome.value[0] for outcome in queue.outcomes()]
    assert len(begun) == 2
    assert max(begun) - start < 5  # a call that was not ended would hold its slot until its limit


def test_values_come_back_under_their_keys(dispatcher: Dispatcher) -> None:
    with dispatcher.open(never) as queue:
        for n in range(12):
            queue.submit(Call(str(n), functions.add, (n, 1)), LIMITS)
        outcomes = list(queue.outcomes())
        assert list(queue.outcomes()) == []
    assert {o.key: o.value for o in outcomes} == {str(n): n + 1 for n in range(12)}
    assert all(o.status is CallStatus.SUCCEEDED and o.reason is None and o.duration_s > 0 for o in outcomes)


def test_a_queue_knows_how_many_calls_run_at_once(dispatcher: Dispatcher) -> None:
    with dispatcher.open(never) as queue:
        assert queue.slots == dispatcher.slots
        queue.submit(add("one"), LIMITS)
        assert [(o.value, queue.slots) for o in queue.outcomes()] == [(3, dispatcher.slots)]


def test_a_queue_without_calls_has_no_outcomes(dispatcher: Dispatcher) -> None:
    with dispatcher.open(never) as queue:
        assert list(queue.outcomes()) == []


def test_calls_submitted_between_two_outcomes_are_told_of_by_the_same_iterator(dispatcher: Dispatcher) -> None:
    """Each outcome asks for the next power of two, as racing asks for the next fold."""
    values = []
    with dispatcher.open(never) as queue:
        queue.submit(Call("1", functions.add, (1, 0)), LIMITS)
        for outcome in queue.outcomes():
            values.append(outcome.value)
            if outcome.value < 64:
                queue.submit(Call(str(2 * outcome.value), functions.add, (outcome.value, outcome.value)), LIMITS)
        queue.submit(add("later"), LIMITS)
        assert [o.key for o in queue.outcomes()] == ["later"]
    assert values == [1, 2, 4, 8, 16, 32, 64]


def test_calls_start_in_the_order_of_submission(dispatcher: Dispatcher) -> None:
    with dispatcher.open(never) as queue:
        for n in range(10):
            queue.submit(Call(f"{n:02}", functions.interval, (0.2,)), LIMITS)
        starts = {}
        for outcome in queue.outcomes():
            starts[outcome.key] = outcome.value[0]
            if outcome.key in {"02", "03"}:
                queue.submit(Call(f"1{outcome.key[1]}", functions.interval, (0.2,)), LIMITS)
    ends = sorted(starts.values())
    # On a busy machine a process may be late by as much as a call; it is never late by two.
    assert all(starts[key] <= ends[min(place + 2, 11)] for place, key in enumerate(sorted(starts)))
    assert len(starts) == 12


def test_a_key_is_never_used_twice(dispatcher: Dispatcher) -> None:
    with dispatcher.open(never) as queue:
        queue.submit(add("ended"), LIMITS)
        assert [o.key for o in queue.outcomes()] == ["ended"]
        queue.submit(add("withdrawn"), LIMITS)
        queue.withdraw("withdrawn")
        queue.submit(add("pending"), LIMITS)
        for key in ("ended", "withdrawn", "pending"):
            with pytest.raises(ValueError, match=f"a call was submitted as '{key}' before"):
                queue.submit(add(key), LIMITS)
        assert [o.key for o in queue.outcomes()] == ["pending"]
    with dispatcher.open(never) as queue:
        queue.submit(add("ended"), LIMITS)
        assert [o.key for o in queue.outcomes()] == ["ended"]


def test_withdrawing_what_is_not_pending_changes_nothing(dispatcher: Dispatcher) -> None:
    with dispatcher.open(never) as queue:
        queue.withdraw("unknown")
        queue.submit(add("ended"), LIMITS)
        queue.submit(add("other"), LIMITS)
        keys: list[str] = []
        for outcome in queue.outcomes():
            keys.append(outcome.key)
            queue.withdraw(outcome.key)
    assert sorted(keys) == ["ended", "other"]


def test_withdrawn_calls_that_wait_are_never_started(dispatcher: Dispatcher, tmp_path: Path) -> None:
    with dispatcher.open(never) as queue:
        for n in range(dispatcher.slots):
            queue.submit(Call(f"first {n}", functions.sleep, (0.2,)), LIMITS)
        for n in range(0, 4, 2):
            queue.submit(Call(str(n), functions.sleep, (0.2,)), LIMITS)
            queue.submit(Call(str(n + 1), functions.touch, (str(tmp_path / str(n)),)), LIMITS)
        queue.withdraw("1")
        keys: list[str] = []
        for outcome in queue.outcomes():
            if not keys:
                queue.withdraw("3")
            keys.append(outcome.key)
    assert sorted(keys) == ["0", "2", *(f"first {n}" for n in range(dispatcher.slots))]
    assert list(tmp_path.iterdir()) == []


def test_a_call_is_withdrawn_as_soon_as_it_is_submitted(dispatcher: Dispatcher, tmp_path: Path) -> None:
    with dispatcher.open(never) as queue:
        for n in range(20):
            queue.submit(hang(tmp_path / str(n)), LIMITS)
            queue.withdraw(str(n))
        queue.submit(add("good"), LIMITS)
        assert [o.value for o in queue.outcomes()] == [3]


def test_withdrawing_running_calls_kills_them(engine: Engine, tmp_path: Path) -> None:
    markers = [tmp_path / "a", tmp_path / "b"]
    with engine.open(never) as queue:
        for marker in markers:
            queue.submit(hang(marker), LIMITS)
        wait_until(lambda: all(marker.exists() for marker in markers))
        for marker in markers:
            queue.withdraw(marker.name)
        assert_both_slots_are_free_soon(queue)


def test_calls_run_while_nobody_waits_for_their_outcomes(engine: Engine, tmp_path: Path) -> None:
    with engine.open(never) as queue:
        queue.submit(Call("a", functions.touch, (str(tmp_path / "a"),)), LIMITS)
        wait_until((tmp_path / "a").exists)
        assert [o.key for o in queue.outcomes()] == ["a"]


def test_each_call_has_its_own_limits(engine: Engine) -> None:
    """Over and over in the same two children: a limit must not outlive its call, in either direction."""
    with engine.open(never) as queue:
        for n in range(4):
            queue.submit(Call(f"fits {n}", functions.allocate, (150,)), LIMITS)
            queue.submit(Call(f"is too large {n}", functions.allocate, (150,)), CallLimits(20, 100))
            queue.submit(Call(f"is slow {n}", functions.sleep, (0.3,)), LIMITS)
            queue.submit(Call(f"is too slow {n}", functions.sleep, (20,)), CallLimits(0.2, 256))
        ends = {o.key: (o.status, o.reason) for o in queue.outcomes()}
    for n in range(4):
        assert ends[f"fits {n}"] == ends[f"is slow {n}"] == (CallStatus.SUCCEEDED, None)
        assert ends[f"is too large {n}"] == (CallStatus.MEMORY, "needed more than its 100 MiB")
        assert ends[f"is too slow {n}"] == (CallStatus.TIMEOUT, "took longer than its 0.2 s")


def test_stop_cancels_what_is_pending_and_what_is_submitted_later(dispatcher: Dispatcher, tmp_path: Path) -> None:
    stopped: list[CallOutcome] = []
    with dispatcher.open(lambda: bool(stopped)) as queue:
        queue.submit(add("done"), LIMITS)
        outcomes = queue.outcomes()
        stopped.append(next(outcomes))
        for n in range(3):
            queue.submit(Call(str(n), functions.touch, (str(tmp_path / str(n)),)), LIMITS)
        queue.withdraw("1")
        ends = {}
        for outcome in outcomes:
            ends[outcome.key] = outcome.status
            if outcome.key == "2":
                queue.submit(add("3"), LIMITS)
        assert ends == dict.fromkeys("023", CallStatus.CANCELLED)
        queue.submit(add("4"), LIMITS)
        assert [(o.key, o.status) for o in queue.outcomes()] == [("4", CallStatus.CANCELLED)]
    assert [(o.key, o.value) for o in stopped] == [("done", 3)]
    assert list(tmp_path.iterdir()) == []


def test_stop_kills_what_runs_and_leaves_the_rest(engine: Engine, tmp_path: Path) -> None:
    markers = [tmp_path / str(n) for n in range(5)]
    calls = [add("done"), *map(hang, markers)]
    statuses: dict[str, CallStatus] = {}
    # What has ended counts once it is told: on a busy machine that may be after both slots have gone on.
    for o in run_calls(engine, calls, LIMITS, lambda: "done" in statuses and sum(map(Path.exists, markers)) == 2):
        statuses[o.key] = o.status
    assert statuses == {"done": CallStatus.SUCCEEDED} | dict.fromkeys("01234", CallStatus.CANCELLED)
    with engine.open(never) as queue:
        assert_both_slots_are_free_soon(queue)
    assert sum(marker.exists() for marker in markers) == 2


def test_a_queue_that_is_left_kills_what_it_began(engine: Engine, tmp_path: Path) -> None:
    markers = [tmp_path / str(n) for n in range(5)]
    with engine.open(never) as queue:
        for marker in markers:
            queue.submit(hang(marker), LIMITS)
        wait_until(lambda: sum(marker.exists() for marker in markers) == 2)
    with engine.open(never) as queue:
        assert_both_slots_are_free_soon(queue)
    assert sum(marker.exists() for marker in markers) == 2


def test_a_queue_that_is_left_takes_no_more_calls(dispatcher: Dispatcher) -> None:
    with dispatcher.open(never) as queue:
        queue.submit(add("a"), LIMITS)
    assert list(queue.outcomes()) == []
    with pytest.raises(RuntimeError, match="the queue is closed"):
        queue.submit(add("b"), LIMITS)


def test_two_queues_of_one_engine_do_not_mix(engine: Engine, tmp_path: Path) -> None:
    with engine.open(never) as one, engine.open(never) as two:
        one.submit(hang(tmp_path / "a"), LIMITS)
        two.submit(Call("a", functions.add, (2, 2)), LIMITS)
        assert [o.value for o in two.outcomes()] == [4]
        two.withdraw("a")
        wait_until((tmp_path / "a").exists)
        one.withdraw("a")
        one.submit(Call("b", functions.add, (3, 3)), LIMITS)
        assert [o.value for o in one.outcomes()] == [6]


def test_a_fixed_list_of_calls(dispatcher: Dispatcher) -> None:
    calls = [Call(str(n), functions.add, (n, 1)) for n in range(4)]
    assert {o.key: o.value for o in run_calls(dispatcher, calls, LIMITS, never)} == {str(n): n + 1 for n in range(4)}
    with pytest.raises(ValueError, match="submitted as '0' before"):
        list(run_calls(dispatcher, [calls[0], calls[0]], LIMITS, never))
