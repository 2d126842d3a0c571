"""What a typical search spends its time on: evaluating, proposing, isolating, delivering.

    python -m benchmarks.search [--time-s 60] [--slots 2]

Runs one search on the bundled Cleveland cohort over the whole space with the default settings. Bars: proposing takes at
most a tenth of the evaluation time; an isolated evaluation costs at most 10 ms on top of its fit
(`benchmarks/isolation.py` measures that on its own).
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import structlog

from autoprog.cohort import cleveland, read_cohort, to_parquet
from autoprog.engine import LocalEngine
from autoprog.optimizer import make_optimizer
from autoprog.search import planning
from autoprog.search.runner import Runner
from autoprog.search.settings import SearchSettings
from autoprog.storage.database import Database
from autoprog.storage.files import Files
from autoprog.storage.repositories import CohortRepository, EvaluationRepository, KeyRepository, SearchRepository
from autoprog.storage.store import DatabaseStore
from autoprog.work import Call, CallLimits, run_calls


class Stopwatch:
    """Makes optimizers whose proposals are timed."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    def make(self, *arguments: Any) -> Any:
        optimizer = make_optimizer(*arguments)
        propose = optimizer.propose

        def timed(*args: Any) -> Any:
            start = time.perf_counter()
            proposal = propose(*args)
            self.seconds.append(time.perf_counter() - start)
            return proposal

        optimizer.propose = timed  # type: ignore[method-assign]
        return optimizer


def run(time_s: float, slots: int, folder: Path) -> dict[str, Any]:
    """One search; the figures of where its time went."""
    content, spec = cleveland()
    cohort = read_cohort(content, spec).cohort
    database, files = Database(f"sqlite:///{folder / 'bench.db'}"), Files(str(folder / "files"))
    database.migrate()
    sha256 = files.put("cohorts", to_parquet(cohort))
    settings = SearchSettings.model_validate({"folds": 5, "budget": {"time_s": time_s, "evaluations": 10_000}})
    with database.session() as session:
        owner = KeyRepository(session).ensure_owner("bench").id
        stored = CohortRepository(session).add(
            owner, name="c", sha256=sha256, n_patients=cohort.n_patients, spec={}, document={}
        )
        search = SearchRepository(session).add(owner, stored.id, settings=settings.model_dump(mode="json"))
    watch = Stopwatch()
    planning.make_optimizer = watch.make
    with LocalEngine(slots) as engine:
        list(run_calls(engine, [Call("warm", len, ((),))], CallLimits(60, 1024), lambda: False))
        Runner(DatabaseStore(database, files), engine, runner_id="bench").run_one()
    with database.session(read_only=True) as session:
        row = SearchRepository(session).get(owner, search.id)
        evaluations = EvaluationRepository(session).list_all(owner, search.id)
        assert row.started_at is not None
        assert row.finished_at is not None
        wall_s = (row.finished_at - row.started_at).total_seconds()
    evaluating_s = sum(e.duration_s for e in evaluations)
    proposing_s = sum(watch.seconds)
    return {
        "status": row.status,
        "evaluations": len(evaluations),
        "wall_s": round(wall_s, 2),
        "budget_s": time_s,
        "slots": slots,
        "evaluating_s": round(evaluating_s, 2),
        "proposing_s": round(proposing_s, 2),
        "slowest_proposal_s": round(max(watch.seconds), 3),
        "proposing_over_evaluating": round(proposing_s / evaluating_s, 4),
        "slots_busy": round(evaluating_s / (slots * wall_s), 3),
        "versions": {name: version(name) for name in ("autoprog", "scikit-learn", "torch", "gpytorch", "distributed")},
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--time-s", type=float, default=60.0)
    parser.add_argument("--slots", type=int, default=2)
    asked = parser.parse_args()
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))  # standard output is the figures'
    with tempfile.TemporaryDirectory() as name:
        print(json.dumps(run(asked.time_s, asked.slots, Path(name)), indent=2))
