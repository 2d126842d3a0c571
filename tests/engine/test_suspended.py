"""A process that was suspended, with all that is in it, goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

_TTL_S = 1  # after which a scheduler takes a worker for dead; five minutes unless told otherwise


def test_an_engine_outlives_its_suspension() -> None:
    environment = {**os.environ, "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": f"{_TTL_S}s"}
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.engine.suspended"],
        cwd=Path(__file__).parents[2],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with process.stdin, process.stdout:
        print(file=process.stdin, flush=True)
        assert process.stdout.readline() == "succeeded 0\n"
        process.send_signal(signal.SIGSTOP)
        time.sleep(4 * _TTL_S)
        process.send_signal(signal.SIGCONT)
        time.sleep(2 * _TTL_S)  # the scheduler looks for dead workers
        print(file=process.stdin, flush=True)
        assert process.stdout.readline() == "succeeded 1\n"
        process.stdin.close()
        assert process.wait(60) == 0
