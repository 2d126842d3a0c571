"""One search in this process, on a temporary database."""

from __future__ import annotations

import os
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from autoprog.cohort import Cohort, to_parquet
from autoprog.engine import DaskEngine
from autoprog.errors import SearchFailedError
from autoprog.logs import log_warnings_only
from autoprog.model import PrognosticModel
from autoprog.search.planning import plan_search
from autoprog.search.runner import Runner
from autoprog.search.settings import SearchSettings
from autoprog.storage.database import Database
from autoprog.storage.files import Files
from autoprog.storage.repositories import (
    CohortRepository,
    EvaluationRepository,
    KeyRepository,
    ModelRepository,
    SearchRepository,
)
from autoprog.storage.store import DatabaseStore
from autoprog.storage.stored_files import store_file

# By slots and process: a forked process must not use its parent's.
_engines: dict[tuple[int, int], DaskEngine] = {}
_making = threading.Lock()

MIN_TIME_S = 1.0
"""Shortest time of a search in seconds, however long the engine took to start."""


class SearchResult(NamedTuple):
    """The result of a search."""

    model: PrognosticModel  # fitted on all patients
    ensemble: dict[str, Any]  # as in the REST API, like `rules`
    rules: dict[str, Any]
    leaderboard: pd.DataFrame  # all evaluations, the best first
    warnings: tuple[str, ...]


def search(cohort: Cohort, settings: SearchSettings, n_jobs: int | None, began: float) -> SearchResult:
    """Search for a model; raises ValueError, InvalidInputError and SearchFailedError."""
    # The time budget began at `began`, by the monotonic clock.
    log_warnings_only()
    planned, warnings = plan_search(settings, cohort)
    engine = _engine(_slots(n_jobs))
    budget = planned.budget
    left_s = max(MIN_TIME_S, budget.time_s - (time.monotonic() - began))
    planned = planned.model_copy(update={"budget": budget.model_copy(update={"time_s": left_s})})
    with tempfile.TemporaryDirectory(prefix="autoprog-") as name:
        folder = Path(name)
        database, files = Database(f"sqlite:///{folder / 'search.db'}"), Files(str(folder / "files"))
        try:
            database.migrate()
            owner, search_id = _queued(database, files, cohort, planned)
            Runner(DatabaseStore(database, files), engine, runner_id="estimator", teaches=False).run_one()
            found = _found(database, files, owner, search_id)
            return found._replace(warnings=(*warnings, *found.warnings))
        finally:
            database.close()


def close_engines() -> None:
    """End the processes that searches ran in; a later search starts new ones."""
    with _making:
        for engine in _engines.values():
            engine.close()
        _engines.clear()


def _slots(n_jobs: int | None) -> int:
    if n_jobs in (None, -1):
        return os.cpu_count() or 1
    if n_jobs is None or n_jobs < 1:
        msg = f"n_jobs is a number from 1, or -1 or None for one a core, not {n_jobs}"
        raise ValueError(msg)
    return n_jobs


def _engine(slots: int) -> DaskEngine:
    """Return the process's engine with this number of slots; it serves all later searches."""
    with _making:
        place = slots, os.getpid()
        if place not in _engines:
            _engines[place] = DaskEngine.embedded(slots)
        return _engines[place]


def _queued(database: Database, files: Files, cohort: Cohort, settings: SearchSettings) -> tuple[str, str]:
    """Queue a search and return the identifiers of its owner and of the search."""
    content = to_parquet(cohort)
    with database.session() as session:
        sha256 = store_file(database, files, session, "cohorts", content)
        owner = KeyRepository(session).ensure_owner("local").id
        stored = CohortRepository(session).add(
            owner, name=cohort.name, sha256=sha256, n_patients=cohort.n_patients, spec={}, document={}
        )
        document = settings.model_dump(mode="json")
        return owner, SearchRepository(session).add(owner, stored.id, settings=document).id


def _found(database: Database, files: Files, owner: str, search_id: str) -> SearchResult:
    with database.session(read_only=True) as session:
        row = SearchRepository(session).get(owner, search_id)
        if row.model_id is None:
            raise SearchFailedError(row.error["detail"] if row.error else f"the search {row.status}")
        sha256 = ModelRepository(session).get(owner, row.model_id).sha256
        return SearchResult(
            PrognosticModel.from_bytes(files.get("models", sha256)),
            dict(row.ensemble or {}),
            dict(row.rules or {}),
            _leaderboard(EvaluationRepository(session), owner, search_id),
            tuple(row.warnings),
        )


def _leaderboard(repository: EvaluationRepository, owner: str, search_id: str) -> pd.DataFrame:
    items: list[dict[str, Any]] = []
    for row in repository.list_all(owner, search_id, sort="score"):
        steps = {stage: step["algorithm"] for stage, step in row.configuration.items()}
        parameters = {stage: step["parameters"] for stage, step in row.configuration.items()}
        scores = {"status": row.status, "score": row.score, "duration_s": row.duration_s}
        items.append({**scores, **steps, "parameters": parameters, "reason": row.reason})
    return pd.DataFrame(items)
