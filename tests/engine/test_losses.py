"""What is left, and what goes on, when a process of the engine dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from multiprocessing import Pipe
from pathlib import Path

import psutil
import pytest

from autoprog.engine import EngineHealth, LocalEngine
from autoprog.engine.cluster import ClusterEngine
from autoprog.engine.watch import Watch
from autoprog.errors import EngineUnavailableError
from autoprog.work import Call, CallLimits, CallOutcome, CallStatus, run_calls
from tests.engine import functions
from tests.engine.cluster import (
    PATIENCE_S,
    ROOT,
    WORKER,
    assert_all_gone,
    descendants,
    end_process,
    free_port,
    start_scheduler,
    start_worker,
    wait_until,
)

LIMITS = CallLimits(time_s=60, memory_mb=256)

# Without a main guard, as a user would write it.
SCRIPT = """
import sys
from autoprog.engine import LocalEngine
from autoprog.engine.cluster import ClusterEngine
from autoprog.work import run_calls
from autoprog.work import Call, CallLimits
from tests.engine.functions import add, begin_and_hang

engine = eval(sys.argv[1])
limits = CallLimits(60, 256)
print([o.value for o in run_calls(engine, [Call("sum", add, (1, 2))], limits, lambda: False)], flush=True)
if sys.argv[2:]:
    list(run_calls(engine, [Call(marker, begin_and_hang, (marker,)) for marker in sys.argv[2:]], limits, lambda: False))
"""
EMBEDDED = "LocalEngine(2, ['tests.hostile'])"


def never() -> bool:
    return False


def start_script(folder: Path, engine: str, *markers: Path) -> subprocess.Popen[bytes]:
    script = folder / "script.py"
    script.write_text(SCRIPT)
    return subprocess.Popen(
        [sys.executable, script, engine, *markers],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def test_no_child_is_left_5_s_after_its_parent_is_killed(tmp_path: Path) -> None:
    markers = [tmp_path / "a", tmp_path / "b"]
    with start_script(tmp_path, EMBEDDED, *markers) as process:
        wait_until(lambda: all(marker.exists() for marker in markers))
        children = descendants(process.pid)
        hanging = {int(marker.read_text()) for marker in markers}
        assert hanging <= {child.pid for child in children}
        process.kill()
        assert_all_gone(children, 5)
        assert process.communicate()[0] == b"[3]\n"


def test_a_script_that_never_closes_its_engine_ends(tmp_path: Path) -> None:
    with start_script(tmp_path, EMBEDDED) as process:
        out, _ = process.communicate(timeout=60)
        assert (process.returncode, out) == (0, b"[3]\n")


def test_a_plug_in_that_cannot_be_imported_is_named() -> None:
    with (
        LocalEngine(1, ["tests.no_such_plug_in"]) as engine,
        pytest.raises(
            EngineUnavailableError, match=r"plug-in tests\.no_such_plug_in cannot be imported: ModuleNotFound"
        ),
    ):
        list(run_calls(engine, [Call("a", functions.process)], LIMITS, never))


def test_why_a_child_did_not_start_is_known_to_a_call_that_comes_later() -> None:
    announced, announce = Pipe(duplex=False)
    announce.send((1, 0, 0.0))  # of an earlier call
    announce.send("plug-in x cannot be imported")
    assert Watch(announced, LIMITS).failed_start() == "plug-in x cannot be imported"


def test_an_engine_without_a_scheduler_is_unavailable() -> None:
    with ClusterEngine(f"tcp://127.0.0.1:{free_port()}", patience_s=0.5) as engine:
        assert engine.health() == EngineHealth(reachable=False, slots=0)
        with pytest.raises(EngineUnavailableError, match=r"no worker could be reached for 0\.5 s"):
            list(run_calls(engine, [Call("a", functions.process)], LIMITS, never))
        outcomes = list(run_calls(engine, [Call("a", functions.process)], LIMITS, lambda: True))
        assert [o.status for o in outcomes] == [CallStatus.CANCELLED]


@pytest.fixture
def processes() -> Iterator[list[subprocess.Popen[bytes]]]:
    started: list[subprocess.Popen[bytes]] = []
    yield started
    for process in reversed(started):
        end_process(process)
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()


@pytest.mark.parametrize(("number", "exit_code"), [(signal.SIGKILL, -signal.SIGKILL), (signal.SIGTERM, 0)])
def test_the_calls_of_a_worker_that_dies_run_elsewhere(
    cluster: ClusterEngine,
    scheduler: str,
    processes: list[subprocess.Popen[bytes]],
    tmp_path: Path,
    number: signal.Signals,
    exit_code: int,
) -> None:
    doomed, marker = start_worker(scheduler), tmp_path / "marker"
    processes.append(doomed)
    wait_until(lambda: cluster.slots == 3)
    children: list[psutil.Process] = []

    def kill_once_it_hangs() -> bool:
        if marker.exists() and not children:
            children.extend(descendants(doomed.pid))
            doomed.send_signal(number)
        return False

    calls = [Call(str(n), functions.hang_under, (doomed.pid, str(marker))) for n in range(6)]
    outcomes = list(run_calls(cluster, calls, LIMITS, kill_once_it_hangs))
    assert {o.key: o.value for o in outcomes} == dict.fromkeys("012345", "elsewhere")
    assert doomed.wait(PATIENCE_S) == exit_code
    assert_all_gone(children)
    wait_until(lambda: cluster.slots == 2)


def test_a_queue_that_is_open_sees_workers_come(
    processes: list[subprocess.Popen[bytes]],
) -> None:
    """A search that is begun before there is a worker runs on all that join it."""
    port = free_port()
    address = f"tcp://127.0.0.1:{port}"
    processes.append(start_scheduler(port))
    with ClusterEngine(address, patience_s=60) as engine:
        wait_until(lambda: engine.health().reachable)
        with engine.open(never) as queue:
            queue.submit(Call("first", functions.sleep, (0.1,)), LIMITS)
            assert queue.slots == 0
            processes.append(start_worker(address, slots=2))
            seen = []
            for outcome in queue.outcomes():
                seen.append(queue.slots)
                if len(processes) == 2:
                    processes.append(start_worker(address))
                if queue.slots < 3 and len(seen) < 600:
                    queue.submit(Call(f"{outcome.key}+", functions.sleep, (0.1,)), LIMITS)
    assert seen[0] == 2
    assert seen[-1] == 3


def test_a_busy_scheduler_is_waited_for_where_its_answer_counts(processes: list[subprocess.Popen[bytes]]) -> None:
    port = free_port()
    address = f"tcp://127.0.0.1:{port}"
    scheduler = start_scheduler(port)
    processes += [scheduler, start_worker(address)]
    with ClusterEngine(address, patience_s=60) as engine:
        wait_until(lambda: engine.health().slots == 1)
        scheduler.send_signal(signal.SIGSTOP)
        answers = threading.Timer(6.0, scheduler.send_signal, [signal.SIGCONT])
        answers.start()
        try:
            assert engine.health() == EngineHealth(reachable=False, slots=0)  # after two seconds
            assert engine.slots == 1
        finally:
            answers.cancel()
            scheduler.send_signal(signal.SIGCONT)


def test_what_a_killed_client_began_is_killed(
    cluster: ClusterEngine, scheduler: str, processes: list[subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    markers = [tmp_path / "a", tmp_path / "b"]
    client = start_script(tmp_path, f"ClusterEngine({scheduler!r})", *markers)
    processes.append(client)
    wait_until(lambda: all(marker.exists() for marker in markers))
    hanging = [psutil.Process(int(marker.read_text())) for marker in markers]
    client.kill()
    assert_all_gone(hanging)
    (outcome,) = run_calls(cluster, [Call("sum", functions.add, (1, 2))], LIMITS, never)
    assert outcome.value == 3


def test_a_run_outlives_the_scheduler(processes: list[subprocess.Popen[bytes]], tmp_path: Path) -> None:
    port = free_port()
    address = f"tcp://127.0.0.1:{port}"
    scheduler = start_scheduler(port)
    processes += [scheduler]
    marker = tmp_path / "marker"
    with ClusterEngine(address, patience_s=30) as engine:
        wait_until(lambda: engine.health().reachable)
        assert engine.slots == 0
        worker = start_worker(address)
        processes.append(worker)
        children: list[psutil.Process] = []

        def restart_once_it_hangs() -> bool:
            if marker.exists() and not children:
                children.extend(descendants(worker.pid))
                end_process(scheduler)
                processes.append(start_scheduler(port))
            return False

        calls = [Call("a", functions.hang_the_first_time, (str(marker),)), Call("b", functions.add, (1, 2))]
        outcomes: list[CallOutcome] = list(run_calls(engine, calls, LIMITS, restart_once_it_hangs))
        assert {o.key: o.value for o in outcomes} == {"a": "again", "b": 3}
        assert worker.poll() is None  # it joined the new scheduler
        assert_all_gone([child for child in children if child.pid == int(marker.read_text())])
        wait_until(lambda: len(descendants(worker.pid)) <= len(children))
    end_process(processes[-1])
    time.sleep(3)  # it looks for the next one
    assert worker.poll() is None
    worker.terminate()
    assert worker.wait(PATIENCE_S) == 0


def test_a_worker_without_a_scheduler_ends(processes: list[subprocess.Popen[bytes]]) -> None:
    patience = "import autoprog.engine.cluster.worker as worker\nworker._PATIENCE_S = 1\n"
    code = patience + WORKER.format(f"tcp://127.0.0.1:{free_port()}", 1, [])
    processes.append(subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stderr=subprocess.PIPE))
    assert b"cannot be reached" in processes[0].communicate(timeout=PATIENCE_S)[1]
    assert processes[0].returncode == 1


def test_an_outcome_that_its_client_can_no_longer_read_is_sought_again(
    processes: list[subprocess.Popen[bytes]],
) -> None:
    port = free_port()
    address = f"tcp://127.0.0.1:{port}"
    processes += [start_scheduler(port), start_worker(address)]
    with ClusterEngine(address, patience_s=PATIENCE_S) as engine:
        wait_until(lambda: engine.health().slots == 1)
        with engine.open(never) as queue:
            queue.submit(Call("a", functions.add, (1, 2)), LIMITS)
            ended = queue._ended.get(timeout=PATIENCE_S)
            assert queue._client is not None
            queue._client.close()  # as it does itself when its scheduler does not come back within two seconds
            assert queue._outcome(*ended) is None
            assert [outcome.value for outcome in queue.outcomes()] == [3]
