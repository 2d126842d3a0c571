"""A process with an engine of its own that runs a call at each line it is sent, and says what came of it."""

from __future__ import annotations

import sys

from autoprog.engine import DaskEngine
from autoprog.work import Call, CallLimits, run_calls


def main() -> None:
    with DaskEngine.embedded(1) as engine:
        for number, _ in enumerate(sys.stdin):
            call = Call(str(number), abs, (-number,))
            (outcome,) = run_calls(engine, [call], CallLimits(time_s=60, memory_mb=512), lambda: False)
            print(outcome.status, outcome.value, flush=True)


if __name__ == "__main__":
    main()
