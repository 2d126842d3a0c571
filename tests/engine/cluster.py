"""A Dask scheduler and our workers as processes of their own, on free loopback ports."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from autoprog.engine import LocalEngine
from autoprog.engine.cluster import ClusterEngine

ROOT = Path(__file__).parents[2]
PATIENCE_S = 60.0  # of a machine that others use; nothing here takes long alone
WORKER = """
import sys
from autoprog.engine.cluster import worker_main
sys.exit(worker_main({!r}, {}, {!r}, host='127.0.0.1'))
"""
Engine = LocalEngine | ClusterEngine


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def start_scheduler(port: int) -> subprocess.Popen[bytes]:
    options = ["--host", "127.0.0.1", "--port", str(port), "--no-dashboard"]
    return subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_scheduler", *options], cwd=ROOT, stderr=subprocess.DEVNULL
    )


def start_worker(address: str, slots: int = 1) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", WORKER.format(address, slots, ["tests.hostile"])], cwd=ROOT)


def wait_until(condition: Callable[[], bool], seconds: float = PATIENCE_S) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s"
        time.sleep(0.05)


def descendants(pid: int) -> list[psutil.Process]:
    return psutil.Process(pid).children(recursive=True)


def assert_all_gone(processes: list[psutil.Process], seconds: float = PATIENCE_S) -> None:
    assert processes
    wait_until(lambda: not any(_lives(process) for process in processes), seconds)


def _lives(process: psutil.Process) -> bool:
    """A zombie has ended; when it is reaped is its new parent's business."""
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def end_process(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(PATIENCE_S)
    finally:
        process.kill()
