"""Whatever scheduler and workers send, nothing of it runs in the process that asks: the call fails, others go on."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from autoprog.engine.cluster import ClusterEngine, call_queue, transport
from autoprog.errors import EngineUnavailableError
from autoprog.work import Call, CallLimits, CallOutcome, CallStatus, run_calls
from tests.engine import functions, lying
from tests.engine.cluster import PATIENCE_S, ROOT, end_process, free_port, start_scheduler, start_worker, wait_until

pytestmark = pytest.mark.slow  # minutes: each lie breaks a connection, which is made again

LIMITS = CallLimits(time_s=20, memory_mb=256)
# Dask's own client, which the same lies own: else they would show nothing.
CONTROL = """
import os, sys
from contextlib import suppress
from distributed import Client
from autoprog.engine.cluster.configuration import configure_dask
from autoprog.engine.cluster.worker import supervise
from autoprog.work import CallLimits
configure_dask()
print(os.getpid(), flush=True)
with suppress(Exception):
    client = Client(sys.argv[1], timeout=30)
    client.ncores()
    client.submit(supervise, "task", sys.argv[2], b"", CallLimits(1, 1), key="task").result(timeout=30)
os._exit(0)
"""
_looked_up: list[tuple[str, object]] = []
_hooked: list[Any] = []


def note_pickles(event: str, arguments: tuple[object, ...]) -> None:
    """Note what a pickle names, outside of the main thread, where this process's own are read."""
    if event == "pickle.find_class" and threading.current_thread() is not threading.main_thread():
        _looked_up.append((threading.current_thread().name, arguments))


@pytest.fixture(autouse=True)
def _nothing_is_unpickled() -> Iterator[None]:
    if note_pickles not in _hooked:
        sys.addaudithook(note_pickles)
        _hooked.append(note_pickles)
    _looked_up.clear()
    yield
    assert _looked_up == []


def never() -> bool:
    return False


def run_one(engine: ClusterEngine, key: str) -> CallOutcome:
    (outcome,) = run_calls(engine, [Call(key, functions.add, (1, 2))], LIMITS, never)
    return outcome


def owned_by(address: str, folder: Path, key: str) -> bool:
    """Whether Dask's own client falls for a lie."""
    done = subprocess.run(
        [sys.executable, "-c", CONTROL, address, key], cwd=ROOT, stdout=subprocess.PIPE, timeout=120, check=True
    )
    return int(done.stdout.split()[0]) in lying.sprung(folder)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lies")


@pytest.fixture(scope="module")
def among_liars(folder: Path) -> Iterator[tuple[ClusterEngine, str]]:
    """An engine whose scheduler has a lying worker alone."""
    port = free_port()
    address = f"tcp://127.0.0.1:{port}"
    processes = [start_scheduler(port), lying.start("worker", address, folder)]
    with ClusterEngine(address, patience_s=PATIENCE_S) as engine:
        wait_until(lambda: engine.health().slots == 1)
        yield engine, address
    for process in reversed(processes):
        end_process(process)


@pytest.mark.ci
@pytest.mark.parametrize(
    "key", [*sorted(lying.RESULTS.keys() - {"warns", "raises", "answer is large"}), *lying.MESSAGES]
)
def test_a_workers_lie_is_refused(
    among_liars: tuple[ClusterEngine, str], folder: Path, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setattr(call_queue, "_FETCH_S", 3)
    engine, _ = among_liars
    outcome = run_one(engine, key)
    assert (outcome.status, outcome.value) in {(CallStatus.FAILED, None), (CallStatus.CRASHED, None)}
    assert outcome.reason is not None
    assert outcome.reason.startswith(("its answer is refused: ", "its answer was lost"))
    assert os.getpid() not in lying.sprung(folder)
    assert run_one(engine, "truth").value == 3


def test_what_a_worker_raises_is_not_read(among_liars: tuple[ClusterEngine, str], folder: Path) -> None:
    engine, _ = among_liars
    outcome = run_one(engine, "raises")
    assert (outcome.status, outcome.reason) == (CallStatus.CRASHED, "no worker could run it, or all that did died")
    assert os.getpid() not in lying.sprung(folder)


def test_what_a_worker_prints_or_warns_of_is_ignored(
    among_liars: tuple[ClusterEngine, str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    engine, _ = among_liars
    assert [run_one(engine, "warns").value, run_one(engine, "truth").value] == [3, 3]
    assert os.getpid() not in lying.sprung(folder)
    assert capsys.readouterr().out == ""


def test_an_answer_that_is_too_large_is_not_read(
    among_liars: tuple[ClusterEngine, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, _ = among_liars
    monkeypatch.setattr(transport, "MAX_MESSAGE_BYTES", 2 << 20)
    outcome = run_one(engine, "answer is large")
    assert outcome.status is CallStatus.FAILED
    assert outcome.reason is not None
    assert "at most 2,097,152 are read" in outcome.reason
    assert run_one(engine, "truth").value == 3


@pytest.mark.parametrize("key", ["result is an object", "message is serialised by hand", "raises", "warns"])
def test_a_workers_lie_owns_dasks_own_client(among_liars: tuple[ClusterEngine, str], folder: Path, key: str) -> None:
    assert owned_by(among_liars[1], folder, key)


def test_an_honest_worker_is_used_after_a_liar(folder: Path) -> None:
    port = free_port()
    address = f"tcp://127.0.0.1:{port}"
    processes = [start_scheduler(port), lying.start("worker", address, folder)]
    try:
        with ClusterEngine(address, patience_s=PATIENCE_S) as engine:
            wait_until(lambda: engine.health().slots == 1)
            assert run_one(engine, "result is an object").status is CallStatus.FAILED
            end_process(processes.pop())
            processes.append(start_worker(address))
            (outcome,) = run_calls(engine, [Call("sum", functions.add, (3, 4))], LIMITS, never)
            assert outcome.value == 7
    finally:
        for process in reversed(processes):
            end_process(process)


@pytest.fixture(scope="module")
def liar(folder: Path) -> Iterator[str]:
    """Address of a lying scheduler."""
    port = free_port()
    (folder / "lie").write_text("")
    process = lying.start("scheduler", str(port), folder)
    address = f"tcp://127.0.0.1:{port}"
    with ClusterEngine(address) as engine:
        wait_until(lambda: engine.health().slots == 1)
        assert run_one(engine, "truth").value == 3
    yield address
    end_process(process)


PLACES = ("ncores", "identity", "gather")
LIES = [*(f"{place}: {reply}" for place in PLACES for reply in lying.REPLIES), *(f"stream: {s}" for s in lying.STREAMS)]


@pytest.mark.parametrize("lie", LIES)
def test_a_schedulers_lie_is_refused(liar: str, folder: Path, lie: str) -> None:
    """It may stop the work, and nothing else."""
    (folder / "lie").write_text(lie)
    stopped = threading.Event()
    timer = threading.Timer(4.0, stopped.set)
    timer.start()
    with ClusterEngine(liar, patience_s=1.0) as engine:
        try:
            (outcome,) = run_calls(engine, [Call("sum", functions.add, (1, 2))], LIMITS, stopped.is_set)
        except EngineUnavailableError:
            outcome = CallOutcome("sum", CallStatus.CANCELLED)
        engine.health()
        timer.cancel()
    assert outcome.status in {CallStatus.CANCELLED, CallStatus.FAILED, CallStatus.CRASHED} or outcome.value == 3
    assert os.getpid() not in lying.sprung(folder)
    (folder / "lie").write_text("")
    with ClusterEngine(liar) as engine:
        assert run_one(engine, "truth").value == 3


@pytest.mark.parametrize(
    "lie", ["ncores: reply to be pickled", "gather: reply failed", "stream: erred bytes", "stream: to be pickled"]
)
def test_a_schedulers_lie_owns_dasks_own_client(liar: str, folder: Path, lie: str) -> None:
    (folder / "lie").write_text(lie)
    assert owned_by(liar, folder, "key")
