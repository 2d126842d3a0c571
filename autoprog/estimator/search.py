"""One search in this process, on a temporary database; what it found can be continued."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from autoprog.app.documents import evaluation_document, search_document
from autoprog.app.temporary import TemporaryInstallation, open_engine
from autoprog.errors import SearchFailedError
from autoprog.estimator.archive import SearchArchive
from autoprog.estimator.tables import CohortTable
from autoprog.logs import log_warnings_only
from autoprog.model import PrognosticModel
from autoprog.progress import ProgressLine, open_progress
from autoprog.search.planning import plan_search
from autoprog.search.runner import Runner
from autoprog.search.settings import MAX_EVALUATIONS, SearchSettings
from autoprog.storage.database import Database, database_now
from autoprog.storage.leases import spent_s
from autoprog.storage.repositories import (
    CohortRepository,
    EvaluationRepository,
    KeyRepository,
    ModelRepository,
    SearchRepository,
)
from autoprog.storage.stored_files import store_file
from autoprog.storage.tables import EvaluationRow

MIN_TIME_S = 1.0
"""Shortest time of a search in seconds, however long the engine took to start."""

_POLL_S = 0.25
_LAST_WAIT_S = 3.0
_STOPPING = "stopping: what was found so far becomes the model; interrupt again to end at once without one"


@dataclass(frozen=True)
class SearchResult:
    """The result of a search; documents are as in the REST API."""

    model: PrognosticModel  # fitted on all patients
    cohort: dict[str, Any]
    search: dict[str, Any]
    settings: dict[str, Any]
    ensemble: dict[str, Any]
    rules: dict[str, Any]
    evaluations: list[dict[str, Any]]  # the best first
    warnings: tuple[str, ...]
    archive: SearchArchive


@dataclass(frozen=True)
class Effort:
    """How a search is run."""

    n_jobs: int | None
    verbose: int | None
    began: float  # when its time budget began, by the monotonic clock


def search(table: CohortTable, settings: SearchSettings, effort: Effort) -> SearchResult:
    """Search for a model; raises ValueError, InvalidInputError, SearchFailedError and KeyboardInterrupt."""
    planned, warnings = plan_search(settings, table.cohort)

    def queue(place: TemporaryInstallation) -> tuple[str, str]:
        content = table.stored()
        with place.database.session() as session:
            sha256 = store_file(place.database, place.files, session, "cohorts", content)
            owner = KeyRepository(session).ensure_owner("local").id
            stored = CohortRepository(session).add(
                owner, name=table.cohort.name, sha256=sha256, n_patients=table.cohort.n_patients, spec={}, document={}
            )
            document = _left(planned, effort).model_dump(mode="json")
            return owner, SearchRepository(session).add(owner, stored.id, settings=document).id

    return _Run(table, queue, warnings, effort).result()


def continue_search(archive: SearchArchive, time_s: float, evaluations: int | None, effort: Effort) -> SearchResult:
    """Go on with a search that has ended; raises as `search` does."""
    table = CohortTable.of(archive.source, archive.spec)

    def queue(place: TemporaryInstallation) -> tuple[str, str]:
        place.restore(archive.database)
        with place.database.session() as session:
            store_file(place.database, place.files, session, "cohorts", table.stored())
            searches = SearchRepository(session)
            settings = SearchSettings.model_validate(searches.get(archive.owner, archive.search_id).settings)
            more = MAX_EVALUATIONS if evaluations is None else searches.n_proposed(archive.search_id) + evaluations
            budget = settings.budget.model_copy(update={"time_s": time_s, "evaluations": min(more, MAX_EVALUATIONS)})
            document = _left(settings.model_copy(update={"budget": budget}), effort).model_dump(mode="json")
            return archive.owner, searches.add_continuation(archive.owner, archive.search_id, settings=document).id

    return _Run(table, queue, archive.planned_warnings, effort).result()


def _left(settings: SearchSettings, effort: Effort) -> SearchSettings:
    """The settings with the time that is left of the budget."""
    budget = settings.budget
    left_s = max(MIN_TIME_S, budget.time_s - (time.monotonic() - effort.began))
    return settings.model_copy(update={"budget": budget.model_copy(update={"time_s": left_s})})


class _Run:
    """A search in a thread, while the caller's thread shows its progress and takes interruptions."""

    def __init__(
        self,
        table: CohortTable,
        queue: Callable[[TemporaryInstallation], tuple[str, str]],
        warnings: tuple[str, ...],
        effort: Effort,
    ) -> None:
        self._table, self._queue, self._warnings, self._effort = table, queue, warnings, effort
        self._slots = _count_slots(effort.n_jobs)
        self._place = TemporaryInstallation()
        self._interrupted_s: float | None = None
        self._abandoned = False
        self._done = threading.Event()
        # Set by the thread as it comes to them.
        self._ids: tuple[str, str] | None = None
        self._runner: Runner | None = None
        self._end: SearchResult | BaseException | None = None

    def result(self) -> SearchResult:
        """Run the search; raises KeyboardInterrupt if it was interrupted before anything was found, or twice."""
        log_warnings_only()
        with open_progress(self._effort.verbose) as line:
            try:
                threading.Thread(target=self._work, name="autoprog search", daemon=True).start()
                self._follow(line)
            except KeyboardInterrupt:
                self._follow_to_model(line)
        self._clean()
        if isinstance(self._end, BaseException):
            if self._interrupted_s is not None and isinstance(self._end, SearchFailedError):
                raise KeyboardInterrupt from None
            raise self._end
        assert self._end is not None, "the thread has ended"  # noqa: S101
        return self._end

    def _follow_to_model(self, line: ProgressLine) -> None:
        """Wait for the model of what was found before the interruption; leave at once after another."""
        try:
            self._interrupted_s = time.monotonic() - self._effort.began
            line.note(_STOPPING)
            self._request_cancel()
            self._follow(line)
        except KeyboardInterrupt:
            self._abandoned = True
            if self._runner is not None:
                self._runner.stop()
            self._done.wait(_LAST_WAIT_S)
            raise

    def _follow(self, line: ProgressLine) -> None:
        # Not by `Thread.join`: a thread that is interrupted in it takes the other for dead.
        while not self._done.wait(_POLL_S):
            if self._ids is not None:
                line.update(*_progress(self._place.database, *self._ids))

    def _request_cancel(self) -> None:
        if self._ids is not None:
            with self._place.database.session() as session:
                if SearchRepository(session).get(*self._ids).finished_at is None:
                    SearchRepository(session).request_cancel(*self._ids)

    def _work(self) -> None:
        try:
            self._end = self._search()
        except BaseException as error:  # noqa: BLE001  raised again in the caller's thread
            self._end = error
        self._done.set()
        if self._abandoned:
            self._clean()

    def _clean(self) -> None:
        self._place.remove()

    def _search(self) -> SearchResult:
        engine, place = open_engine(self._slots), self._place
        place.database.create()
        ids = self._queue(place)
        self._runner = place.runner(engine)
        self._ids = ids
        if self._interrupted_s is not None:  # before there was anything to cancel
            self._request_cancel()
        self._runner.run_one()
        return self._found(*ids)

    def _found(self, owner: str, search_id: str) -> SearchResult:
        place = self._place
        with place.database.session(read_only=True) as session:
            row = SearchRepository(session).get(owner, search_id)
            if row.model_id is None:
                raise SearchFailedError(row.error["detail"] if row.error else f"the search {row.status}")
            model_sha256 = ModelRepository(session).get(owner, row.model_id).sha256
            cohort_sha256 = CohortRepository(session).get(owner, row.cohort_id).sha256
            tally = EvaluationRepository(session).tallies([row])[search_id]
            document = search_document(row, tally, database_now(session))
            ensemble, rules = dict(row.ensemble or {}), dict(row.rules or {})
            rows = EvaluationRepository(session).list_all(owner, search_id, sort="score")
        stopped: tuple[str, ...] = ()
        if self._interrupted_s is not None:
            stopped = (f"the search was interrupted after {self._interrupted_s:.0f} s",)
        archive = SearchArchive(
            place.archived(), self._table.source, dict(self._table.spec), owner, search_id, self._warnings
        )
        return SearchResult(
            PrognosticModel.from_bytes(place.files.get("models", model_sha256), lazily=True),
            {**self._table.document(), "sha256": cohort_sha256},
            _shown(document),
            dict(row.settings),
            ensemble,
            rules,
            [evaluation_document(each) for each in rows],
            (*self._warnings, *stopped, *row.warnings),
            archive,
        )


def _progress(database: Database, owner: str, search_id: str) -> tuple[str, float, float]:
    """The state of a search in words, and the seconds spent and allowed."""
    with database.session(read_only=True) as session:
        row = SearchRepository(session).get(owner, search_id)
        tally = EvaluationRepository(session).tallies([row])[search_id]
        simple = session.get(EvaluationRow, (search_id, 0))
        metric, budget_s = row.settings["metric"], row.settings["budget"]["time_s"]
        done_s = spent_s(row, database_now(session))
    text = f"{row.phase or row.status}: {sum(tally.counts.values())} pipelines"
    if tally.best_score is not None:
        text += f", best {metric} {tally.best_score:.3f}"
    if simple is not None and simple.score is not None:
        text += f", simple model {simple.score:.3f}"
    return text, done_s, budget_s


def _shown(document: dict[str, Any]) -> dict[str, Any]:
    """A search's document as JSON, without the settings and warnings that the result has beside it."""
    kept = {name: value for name, value in document.items() if name not in ("settings", "warnings")}
    return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in kept.items()}


def _count_slots(n_jobs: int | None) -> int:
    if n_jobs in (None, -1):
        return os.cpu_count() or 1
    if n_jobs is None or n_jobs < 1:
        msg = f"n_jobs is a number from 1, or -1 or None for one per core, not {n_jobs}"
        raise ValueError(msg)
    return n_jobs
