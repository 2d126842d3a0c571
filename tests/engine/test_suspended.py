"""A process that was suspended, with all that is in it, goes on."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

_ASLEEP_S = 4


def test_an_engine_outlives_its_suspension() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.engine.suspended"],
        cwd=Path(__file__).parents[2],
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
        time.sleep(_ASLEEP_S)
        process.send_signal(signal.SIGCONT)
        print(file=process.stdin, flush=True)
        assert process.stdout.readline() == "succeeded 1\n"
        process.stdin.close()
        assert process.wait(60) == 0
