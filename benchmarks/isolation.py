"""What an isolated call costs on top of its function: pickling, and the way to the child process and back.

Run as `python -m benchmarks.isolation [OUT.json]`. Embedded engine, one slot, which a thread serves; a function's own
time is measured inside the child. The bar is 10 ms at the median, for a fit asked for alone, for each of a batch of
eight, and for an empty call. The last figures are how soon the slot works again after its call was killed at its limit,
and from the moment that a call was withdrawn.
"""

from __future__ import annotations

import json
import platform
import statistics
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from autoprog.engine import LocalEngine
from autoprog.work import Call, CallLimits, CallStatus, run_calls

BAR_MS = 10.0
N_RUNS = 100
BATCH = 8
FIT = (2000, 20, 0)
N_KILLS = 10
LIMITS = CallLimits(time_s=60, memory_mb=1024)


def nothing() -> None:
    """Return at once."""


def fit(n: int, d: int, seed: int) -> np.ndarray:
    """Fit a small model and return n risks."""
    X, y = make_classification(n, d, random_state=seed)
    risks: np.ndarray = LogisticRegression().fit(X, y).predict_proba(X)[:, 1]
    return risks


def sleep(seconds: float) -> None:
    """Outlast the limit."""
    time.sleep(seconds)


def overheads_ms(engine: LocalEngine, function: Callable[..., Any], arguments: tuple[Any, ...], n: int) -> list[float]:
    """Milliseconds a call from asking for n of them to having their outcomes, less those of the functions."""
    overheads = []
    for _ in range(N_RUNS):
        start = time.perf_counter()
        outcomes = list(run_calls(engine, [Call(str(i), function, arguments) for i in range(n)], LIMITS, lambda: False))
        elapsed = time.perf_counter() - start
        overheads.append(1000 * (elapsed - sum(outcome.duration_s for outcome in outcomes)) / n)
    return overheads


def recoveries_ms(engine: LocalEngine) -> list[float]:
    """Milliseconds from the outcome of a call that was killed to that of the next one in its slot."""
    recoveries = []
    for _ in range(N_KILLS):
        (outcome,) = run_calls(engine, [Call("hang", sleep, (60.0,))], CallLimits(0.2, 1024), lambda: False)
        assert outcome.status is CallStatus.TIMEOUT
        start = time.perf_counter()
        list(run_calls(engine, [Call("next", nothing)], LIMITS, lambda: False))
        recoveries.append(1000 * (time.perf_counter() - start))
    return recoveries


def withdrawals_ms(engine: LocalEngine) -> list[float]:
    """Milliseconds from the withdrawal of a running call to the outcome of the next one in its slot."""
    withdrawals = []
    with engine.open(lambda: False) as queue:
        for n in range(N_KILLS):
            queue.submit(Call(f"hang {n}", sleep, (60.0,)), LIMITS)
            time.sleep(0.3)
            start = time.perf_counter()
            queue.withdraw(f"hang {n}")
            queue.submit(Call(f"next {n}", nothing), LIMITS)
            list(queue.outcomes())
            withdrawals.append(1000 * (time.perf_counter() - start))
    return withdrawals


def summary(milliseconds: list[float]) -> dict[str, float]:
    """Median, 95th percentile and maximum."""
    return {
        "median": round(statistics.median(milliseconds), 2),
        "p95": round(statistics.quantiles(milliseconds, n=20)[-1], 2),
        "max": round(max(milliseconds), 2),
    }


def measure() -> dict[str, Any]:
    """All figures with the versions that they were taken with."""
    start = time.perf_counter()
    with LocalEngine(1, [f"benchmarks.{Path(__file__).stem}"]) as engine:
        list(run_calls(engine, [Call("first", nothing)], LIMITS, lambda: False))
        ready = time.perf_counter() - start
        single_fit = overheads_ms(engine, fit, FIT, 1)
        batch = overheads_ms(engine, fit, FIT, BATCH)
        empty = overheads_ms(engine, nothing, (), 1)
        recovery = recoveries_ms(engine)
        withdrawal = withdrawals_ms(engine)
    return {
        "bar_ms": BAR_MS,
        "passed": max(map(statistics.median, (single_fit, batch, empty))) <= BAR_MS,
        "ready_s": round(ready, 2),
        "overhead_ms": {"fit": summary(single_fit), "fit_in_batch": summary(batch), "empty": summary(empty)},
        "slot_after_kill_ms": summary(recovery),
        "slot_after_withdrawal_ms": summary(withdrawal),
        "runs": N_RUNS,
        "kills": N_KILLS,
        "versions": {
            "python": platform.python_version(),
            "pebble": version("pebble"),
            "numpy": np.__version__,
        },
    }


if __name__ == "__main__":
    from benchmarks import isolation  # the children import this module by its name, and have no main module

    figures = isolation.measure()
    text = json.dumps(figures, indent=2)
    print(text)
    if sys.argv[1:]:
        Path(sys.argv[1]).write_text(text + "\n")
    sys.exit(not figures["passed"])
