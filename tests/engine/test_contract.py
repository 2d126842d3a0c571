"""What the engine makes of one call, in this process and on a cluster: limits, isolation, how an end is told."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autoprog.cohort import to_parquet
from autoprog.engine import EngineHealth
from autoprog.space import Configuration, Step, TableShape, build_pipeline
from autoprog.work import Call, CallLimits, CallOutcome, CallStatus, run_calls
from tests import hostile
from tests.cohorts import mixed_cohort
from tests.engine import functions
from tests.engine.cluster import Engine

LIMITS = CallLimits(time_s=20, memory_mb=256)
SHORT = CallLimits(time_s=0.5, memory_mb=256)


def never() -> bool:
    return False


def run_one(engine: Engine, function: Callable[..., Any], *arguments: Any, limits: CallLimits = LIMITS) -> CallOutcome:
    (outcome,) = run_calls(engine, [Call("one", function, arguments)], limits, never)
    assert outcome.key == "one"
    return outcome


def test_values_come_back_under_their_keys(engine: Engine) -> None:
    calls = [Call(str(n), functions.add, (n, 1)) for n in range(12)]
    outcomes = list(run_calls(engine, calls, LIMITS, never))
    assert {o.key: o.value for o in outcomes} == {str(n): n + 1 for n in range(12)}
    assert all(o.status is CallStatus.SUCCEEDED and o.reason is None and o.duration_s > 0 for o in outcomes)


def test_as_many_calls_run_at_once_as_there_are_slots(engine: Engine) -> None:
    assert engine.slots == 2
    assert engine.health() == EngineHealth(reachable=True, slots=2)
    calls = [Call(str(n), functions.interval, (0.3,)) for n in range(5)]
    intervals = [o.value for o in run_calls(engine, calls, LIMITS, never)]
    assert max(sum(start <= begun < end for start, end in intervals) for begun, _ in intervals) == 2


def test_a_large_value_comes_back_whole(engine: Engine) -> None:
    assert run_one(engine, functions.megabytes, 10).value == functions.megabytes(10)


def test_children_use_one_thread_and_have_the_plug_ins(engine: Engine) -> None:
    assert run_one(engine, functions.threads).value == {"pools": [1], "torch": 1, "omp": "1"}
    assert run_one(engine, functions.loaded).value == ["xgboost", "lightgbm", "torch", "tests.hostile"]


@pytest.mark.parametrize(
    ("kind", "text", "reason"),
    [
        ("ValueError", "3 columns expected\nsecond line", "ValueError: 3 columns expected"),
        ("ValueError", "could not convert 'Smith' to float", "ValueError: could not convert '...' to float"),
        ("ValueError", "unseen labels: ['O''Brien', 3]", "ValueError: unseen labels: [...]"),
        ("ValueError", "creatinine 63.71 is out of range", "ValueError: creatinine ... is out of range"),
        ("ValueError", "unseen rows: [[1 2]\n [3 4]] of 2", "ValueError: unseen rows: [...] of 2"),
        ("RuntimeError", "can't do it, won't do it", "RuntimeError: can't do it, won't do it"),
        ("SystemExit", "", "SystemExit"),
    ],
)
def test_an_exception_is_told_in_one_line_without_values(engine: Engine, kind: str, text: str, reason: str) -> None:
    outcome = run_one(engine, functions.raise_error, kind, text)
    assert (outcome.status, outcome.reason, outcome.value) == (CallStatus.FAILED, reason, None)


def test_a_long_reason_is_cut(engine: Engine) -> None:
    reason = run_one(engine, functions.raise_error, "ValueError", "x" * 1000).reason
    assert reason is not None
    assert len(reason) == 300


def test_a_value_that_is_no_data_fails(engine: Engine) -> None:
    outcome = run_one(engine, functions.no_data)
    assert (outcome.status, outcome.reason) == (
        CallStatus.FAILED,
        "TypeError: lock is not data that a call can return",
    )


def test_a_function_that_does_not_say_what_it_returns_is_not_sent(engine: Engine) -> None:
    with pytest.raises(TypeError, match="does not declare what it returns"):
        run_one(engine, abs, -1)
    assert run_one(engine, functions.add, 1, 2).value == 3


def test_a_value_of_another_type_than_declared_fails(engine: Engine) -> None:
    outcome = run_one(engine, functions.another_type)
    assert (outcome.status, outcome.value) == (CallStatus.FAILED, None)
    assert outcome.reason == "its answer is refused: value is not of type int"


@pytest.mark.parametrize("function", [functions.sleep, hostile.sleep_holding_the_lock])
def test_a_hang_is_killed_and_its_slot_free_within_a_second(engine: Engine, function: Callable[..., Any]) -> None:
    """In the best of three rounds: other tests run beside this one."""
    arguments = (1000,) if function is functions.sleep else ()
    calls = [Call("1", function, arguments), Call("2", function, arguments)]
    hung_s, free_s = [], []
    for _ in range(3):
        outcomes = list(run_calls(engine, calls, SHORT, never))
        assert {o.status for o in outcomes} == {CallStatus.TIMEOUT}
        assert {o.reason for o in outcomes} == {"took longer than its 0.5 s"}
        hung_s.append(max(o.duration_s for o in outcomes))
        assert min(o.duration_s for o in outcomes) > 0.4
        start = time.monotonic()
        assert run_one(engine, functions.add, 1, 2).value == 3
        free_s.append(time.monotonic() - start)
    assert min(hung_s) < 1.5
    assert min(free_s) < 1


def test_time_is_what_a_call_computes_and_not_what_it_waits_for_its_turn(engine: Engine) -> None:
    """Two seconds of the clock, of which it computes a fifth."""
    outcome = run_one(engine, functions.compute_now_and_then, 2.0, 0.2, limits=SHORT)
    assert outcome.status is CallStatus.SUCCEEDED
    assert outcome.duration_s > 4 * SHORT.time_s
    assert 0.05 < outcome.processor_s < SHORT.time_s


def test_a_call_that_computes_too_long_is_killed(engine: Engine) -> None:
    outcome = run_one(engine, functions.compute_now_and_then, 100.0, 1.0, limits=SHORT)
    assert outcome.status is CallStatus.TIMEOUT
    assert SHORT.time_s < outcome.processor_s < SHORT.time_s + 1


@pytest.mark.parametrize(
    "function",
    [
        hostile.allocate_for_ever,
        functions.allocate_bytearrays,
        functions.allocate_torch,
        functions.allocate_shared,
        functions.raise_from_memory_error,
        functions.abort_when_nearly_full,
    ],
)
def test_want_of_memory_is_told_and_the_child_replaced(engine: Engine, function: Callable[..., Any]) -> None:
    """Within a second; on a machine that others use, in one of five times."""
    replaced_s: list[float] = []
    while len(replaced_s) < 5 and (not replaced_s or replaced_s[-1] >= 1):
        before = {run_one(engine, functions.process).value}
        outcome = run_one(engine, function)
        assert (outcome.status, outcome.reason) == (CallStatus.MEMORY, "needed more than its 256 MiB")
        start = time.monotonic()
        assert run_one(engine, functions.process).value not in before
        replaced_s.append(time.monotonic() - start)
    assert replaced_s[-1] < 1


def test_what_is_within_the_limit_may_be_allocated_again_and_again(engine: Engine) -> None:
    calls = [Call(str(n), functions.allocate, (200,)) for n in range(6)]
    assert {o.value for o in run_calls(engine, calls, LIMITS, never)} == {200 << 17}


def test_what_libraries_reserve_does_not_count_against_a_call(engine: Engine) -> None:
    """A gibibyte by Arrow at its first use, and buffers of OpenBLAS for which it would wait for ever."""
    for _ in range(2):  # both children are fresh
        run_one(engine, functions.end, 1)
    content = to_parquet(mixed_cohort())
    calls = [Call(str(n), functions.read_and_multiply, (content,)) for n in range(4)]
    assert {o.value for o in run_calls(engine, calls, CallLimits(20, 32), never)} == {500.0}


def test_modules_of_a_call_are_imported_before_its_limits_count(engine: Engine) -> None:
    """Torch takes over a second of the processor and some 60 MiB; a missing module is left to the call."""
    tight = CallLimits(time_s=0.5, memory_mb=16)
    calls = [Call("a", functions.loaded, (), ("no_such_module", "torch")), Call("b", functions.loaded, (), ("torch",))]
    for outcome in run_calls(engine, calls, tight, lambda: False):
        assert outcome.status is CallStatus.SUCCEEDED, outcome.reason
        assert "torch" in outcome.value
        assert outcome.processor_s < 0.1


def test_what_one_child_had_to_load_later_ones_find_loaded(engine: Engine) -> None:
    run_one(engine, functions.end, 3)  # a child that has loaded nothing yet
    (outcome,) = run_calls(engine, [Call("a", functions.loaded, (), ("torch",))], LIMITS, never)
    assert "torch" in outcome.value
    until = time.monotonic() + 60
    found: set[str] = set()
    while "torch" not in found and time.monotonic() < until:
        run_one(engine, functions.end, 3)
        found = run_one(engine, functions.loaded).value
    assert "torch" in found


@pytest.mark.parametrize(
    ("function", "arguments", "reason"),
    [
        (functions.end, (3,), "its process ended with exit code 3"),
        (functions.end, (0,), "its process ended with exit code 0"),
        (functions.abort, (), "its process was killed by SIGABRT"),
        (functions.read_null, (), "its process was killed by SIGSEGV"),
    ],
)
def test_a_crash_is_an_outcome(
    engine: Engine, function: Callable[..., Any], arguments: tuple[Any, ...], reason: str
) -> None:
    calls = [Call("crash", function, arguments), Call("good", functions.add, (1, 2))]
    outcomes = {o.key: o for o in run_calls(engine, calls, LIMITS, never)}
    assert (outcomes["crash"].status, outcomes["crash"].reason) == (CallStatus.CRASHED, reason)
    assert outcomes["good"].value == 3


@pytest.mark.parametrize(
    ("algorithm", "time_s", "status"),
    [("sleeps_forever", 1.5, CallStatus.TIMEOUT), ("allocates_forever", 20, CallStatus.MEMORY)],
)
def test_a_registered_learner_that_misbehaves_is_killed_in_its_fit(
    engine: Engine, algorithm: str, time_s: float, status: CallStatus
) -> None:
    configuration = Configuration(Step("median"), Step("none"), Step(algorithm), Step("none"))
    calls = [Call("hostile", fit, (configuration,)), Call("good", functions.add, (1, 2))]
    outcomes = {o.key: o for o in run_calls(engine, calls, CallLimits(time_s, 256), never)}
    assert outcomes["hostile"].status is status
    assert outcomes["good"].value == 3


def fit(configuration: Configuration) -> np.ndarray:
    cohort = mixed_cohort()
    pipeline = build_pipeline(configuration, cohort.features, TableShape.of(cohort, 2), seed=0)
    risks: np.ndarray = pipeline.fit(cohort.X, cohort.y).predict_proba(cohort.X)
    return risks
