"""A process with an engine of its own that runs a call at each line it is sent, and says what came of it."""

from __future__ import annotations

import sys

from autoprog.engine import LocalEngine
from autoprog.work import Call, CallLimits, run_calls
from tests.engine import functions


def main() -> None:
    with LocalEngine(1) as engine:
        for number, _ in enumerate(sys.stdin):
            call = Call(str(number), functions.add, (number, 0))
            (outcome,) = run_calls(engine, [call], CallLimits(time_s=60, memory_mb=512), lambda: False)
            print(outcome.status, outcome.value, flush=True)


if __name__ == "__main__":
    main()
