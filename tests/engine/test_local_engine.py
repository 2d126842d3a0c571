"""What the engine of one machine adds to the contract: its end, and errors of its own."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from autoprog.engine import EngineHealth, LocalEngine
from autoprog.engine.slot import Slot
from autoprog.errors import EngineUnavailableError
from autoprog.work import Call, CallLimits, CallStatus, run_calls
from tests.engine import functions
from tests.engine.cluster import wait_until

LIMITS = CallLimits(time_s=60, memory_mb=256)


def never() -> bool:
    return False


def test_closing_kills_what_runs_and_says_so_to_who_waits(tmp_path: Path) -> None:
    engine, marker = LocalEngine(1), tmp_path / "marker"
    assert engine.health() == EngineHealth(reachable=True, slots=1)
    calls = [Call("hang", functions.begin_and_hang, (str(marker),)), Call("waits", functions.add, (1, 2))]
    raised: list[BaseException] = []

    def wait() -> None:
        try:
            list(run_calls(engine, calls, LIMITS, never))
        except EngineUnavailableError as error:
            raised.append(error)

    waiting = threading.Thread(target=wait)
    waiting.start()
    wait_until(marker.exists)
    engine.close()
    waiting.join(10)
    assert [str(error) for error in raised] == ["the engine was closed"]
    assert engine.health() == EngineHealth(reachable=False, slots=0)
    engine.close()  # again
    with pytest.raises(EngineUnavailableError, match="the engine was closed"):
        list(run_calls(engine, calls, LIMITS, never))


def test_an_error_of_the_engine_reaches_who_waits_and_the_slot_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError("no more processes")

    with LocalEngine(1) as engine:
        with monkeypatch.context() as patched:
            patched.setattr(engine._children, "run", fail)
            with pytest.raises(OSError, match="no more processes"):
                list(run_calls(engine, [Call("a", functions.add, (1, 2))], LIMITS, never))
        (outcome,) = run_calls(engine, [Call("a", functions.add, (1, 2))], LIMITS, never)
        assert (outcome.status, outcome.value) == (CallStatus.SUCCEEDED, 3)


def test_a_child_that_does_not_start_neither_blocks_calls_nor_the_end(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    start = Slot.start
    slots: list[Slot] = []

    def fail_once(slot: Slot) -> None:
        slots.append(slot)
        if len(slots) == 1:
            raise OSError("no more processes")
        start(slot)

    monkeypatch.setattr(Slot, "start", fail_once)
    calls = [Call(str(i), functions.add, (i, 1)) for i in range(4)]
    with LocalEngine(2) as engine:
        assert sorted(o.value for o in run_calls(engine, calls, LIMITS, never)) == [1, 2, 3, 4]
    assert len(slots) == 2
    assert "a child process was not started" in caplog.text


def test_nothing_of_the_cluster_is_loaded_with_the_engine() -> None:
    """Dask takes a second to import, which a search on one machine would begin later."""
    with LocalEngine(1) as engine:
        (outcome,) = run_calls(engine, [Call("a", functions.is_loaded, ("distributed",))], LIMITS, never)
    assert outcome.value is False
