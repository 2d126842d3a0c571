"""One fold of one configuration in a child process, under the limits of a default search.

`benchmarks/large.py` and `benchmarks/event_times.py` ask.

Children import this module by its name. They are forked, as the engine's are, from a server that has loaded the
libraries.
"""

from __future__ import annotations

import re
import time
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from autoprog.cohort import Cohort, from_parquet
from autoprog.engine.child import MIB, _use_one_thread, data_limit
from autoprog.errors import InvalidInputError
from autoprog.evaluation import Plan, evaluate_fold
from autoprog.search.settings import MAX_EVALUATION_S, EvaluationLimits
from autoprog.space import STAGES, Configuration, Space

LIMITS = EvaluationLimits()
PLAN = Plan("auc_roc", 5, 1, 0)
BAR_S = MAX_EVALUATION_S / PLAN.n_folds
PATIENCE_S = 20 * BAR_S


def in_a_child(path: Path, configuration: Configuration, plan: Plan = PLAN) -> dict[str, Any]:
    """The figures of one fold.

    Parameters
    ----------
    path : Path
        The stored cohort.
    configuration : Configuration
        What to evaluate.
    plan : Plan
        Folds and metric.

    Returns
    -------
    dict
        Ready for JSON.
    """
    context = get_context("forkserver")
    context.set_forkserver_preload(["autoprog.engine.preload"])
    here, there = context.Pipe(duplex=False)
    child = context.Process(target=_measure, args=(there, path, configuration, plan))
    child.start()
    there.close()
    try:
        if not here.poll(PATIENCE_S):
            return {"status": "timeout", "notes": f"not ended after {PATIENCE_S:g} s of the clock"}
        figures: dict[str, Any] = here.recv()
    except EOFError:
        child.join()
        return {"status": "crashed", "notes": f"exit code {child.exitcode}"}
    finally:
        child.kill()
        child.join()
    return figures


def _measure(answer: Connection, path: Path, configuration: Configuration, plan: Plan) -> None:
    _use_one_thread()
    before = _peak_bytes()
    with data_limit(LIMITS.memory_mb * MIB):
        start = time.process_time()
        cohort = from_parquet(path.read_bytes())
        plan.fold(cohort, 0)
        read_s = time.process_time() - start
        if (why := why_masked(cohort, configuration, plan)) is not None:
            answer.send({"status": "masked", "notes": why})
            return
        start, cpu = time.perf_counter(), time.process_time()
        try:
            result = evaluate_fold(configuration, cohort, plan, 0)
        except Exception as error:  # noqa: BLE001  a figure too
            figures: dict[str, Any] = {"status": "failed", "notes": f"{type(error).__name__}: {error}"}
        else:
            figures = {"status": "succeeded", "score": round(result.score, 4), "notes": "; ".join(result.notes)}
        figures |= {
            "cpu_s": round(time.process_time() - cpu, 2),
            "wall_s": round(time.perf_counter() - start, 2),
            "memory_mb": round((_peak_bytes() - before) / MIB),
            "read_cpu_s": round(read_s, 2),
        }
    answer.send(figures)


def why_masked(cohort: Cohort, configuration: Configuration, plan: Plan = PLAN) -> str | None:
    """Which guard of the table, or what of the cohort, keeps a search from this pipeline; None where nothing does."""
    alone = Space.subset({stage: [configuration.step(stage).algorithm] for stage in STAGES})
    try:
        alone.valid_kinds(plan.shape(cohort))
    except InvalidInputError as error:
        return "; ".join(fault.detail for fault in error.faults)
    return None


def _peak_bytes() -> int:
    """Most resident memory that this process had; `ru_maxrss` would count that of the server it was forked from too."""
    status = Path("/proc/self/status").read_text()
    found = re.search(r"VmHWM:\s+(\d+)", status)
    assert found is not None
    return 1024 * int(found.group(1))
