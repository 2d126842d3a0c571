"""Searches as a service runs them, one after another on one engine, with everything at hand that they saw."""

from __future__ import annotations

import hashlib
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from autoprog.cohort import Cohort, to_parquet
from autoprog.endpoints import make_endpoint
from autoprog.engine import LocalEngine
from autoprog.ensemble import Candidates
from autoprog.evaluation import History, Plan
from autoprog.optimizer import Start
from autoprog.search.delivery import deliver
from autoprog.search.loop import Exploration
from autoprog.search.planning import plan_search
from autoprog.search.ports import Claim, CohortRef, Phase, SearchResult
from autoprog.search.settings import SearchSettings
from autoprog.storage.database import Database
from autoprog.storage.files import Files
from autoprog.storage.repositories import CohortRepository, KeyRepository, SearchRepository
from autoprog.storage.store import DatabaseStore
from autoprog.work import Call, CallLimits, CallOutcome, Dispatcher, Signals, run_calls

_DAY_S = 86_400.0


class _TimedStore(DatabaseStore):
    """Remembers when each phase began."""

    began: dict[Phase, float]

    def record_phase(self, claim: Claim, phase: Phase) -> None:
        self.began = {**getattr(self, "began", {}), phase: time.monotonic()}
        super().record_phase(claim, phase)


@dataclass(frozen=True)
class Search:
    """A search that has ended.

    Attributes
    ----------
    result : SearchResult
        What it delivers.
    history : History
        What the model was made from.
    plan : Plan
        How that was evaluated.
    candidates : Candidates
        What an ensemble is chosen from.
    start : Start or None
        What it began with; None where it was to begin with nothing.
    total_s, validation_s : float
        From the start to the delivered model; of that the honest score and the intervals.
    """

    result: SearchResult
    history: History
    plan: Plan
    candidates: Candidates
    start: Start | None
    total_s: float
    validation_s: float


class Laboratory:
    """Runs searches.

    Parameters
    ----------
    engine : Dispatcher
        Runs evaluations.
    """

    def __init__(self, engine: Dispatcher) -> None:
        self.engine = engine

    def search(self, cohort: Cohort, settings: dict[str, Any]) -> Search:
        """One search from its queue to its model, on a database of its own."""
        asked, _ = plan_search(SearchSettings.model_validate(settings), cohort)
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            database, files = Database(f"sqlite:///{folder / 'search.db'}"), Files(str(folder / "files"))
            try:
                database.migrate()
                store = _TimedStore(database, files)
                _queue(database, files, cohort, asked)
                return self._run(store, cohort)
            finally:
                database.close()

    def _run(self, store: _TimedStore, cohort: Cohort) -> Search:
        start = time.monotonic()
        claim = store.claim("laboratory", _DAY_S)
        assert claim is not None
        state, signals = store.load(claim), Signals(threading.Event())
        exploration = Exploration(store, self.engine, claim, state, cohort=cohort, signals=signals)
        exploration.run()
        result = deliver(store, self.engine, claim, state, cohort=cohort, exploration=exploration, signals=signals)
        store.finish(claim, result, cancelled=False)
        total_s = time.monotonic() - start
        history, plan, _ = exploration.outcome()
        posterior = exploration.posterior(history, np.random.default_rng(state.settings.seed))
        cohort = plan.sample(cohort)
        _, candidates = exploration.choose_ensemble(history, make_endpoint(cohort, plan.times))
        candidates = replace(candidates, posterior=posterior)  # that other rules ask for
        validation_s = store.began[Phase.RULES] - store.began[Phase.VALIDATION]
        return Search(result, history, plan, candidates, exploration.state.start, total_s, validation_s)

    @contextmanager
    def stored(self, content: bytes) -> Iterator[CohortRef]:
        """A cohort's Parquet file where the engine's children can read it."""
        with tempfile.TemporaryDirectory() as name:
            path = Path(name) / "cohort.parquet"
            path.write_bytes(content)
            yield CohortRef(path.as_uri(), hashlib.sha256(content).hexdigest())

    def calls(self, calls: list[Call], limits: CallLimits) -> dict[str, CallOutcome]:
        """Outcomes of some calls by key."""
        return {outcome.key: outcome for outcome in run_calls(self.engine, calls, limits, lambda: False)}


@contextmanager
def laboratory(slots: int) -> Iterator[Laboratory]:
    """Open one whose children have loaded their libraries."""
    with LocalEngine(slots) as engine:
        list(run_calls(engine, [Call(str(i), len, ((),)) for i in range(slots)], CallLimits(60, 1024), lambda: False))
        yield Laboratory(engine)


def _queue(database: Database, files: Files, cohort: Cohort, settings: SearchSettings) -> None:
    sha256 = files.put("cohorts", to_parquet(cohort))
    with database.session() as session:
        owner = KeyRepository(session).ensure_owner("laboratory").id
        stored = CohortRepository(session).add(
            owner, name=cohort.name, sha256=sha256, n_patients=len(cohort.y), spec={}, document={}
        )
        SearchRepository(session).add(owner, stored.id, settings=settings.model_dump(mode="json"))
