"""A database with a cohort in it, and searches on that cohort."""

from __future__ import annotations

from typing import Any

from autoprog.cohort import Cohort, to_parquet
from autoprog.model import PrognosticModel
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
from autoprog.storage.tables import SearchRow
from autoprog.work import Dispatcher


class Bench:
    """Queues searches, runs them and looks at what came of them.

    Parameters
    ----------
    database : Database
        Migrated.
    files : Files
        Beside it.
    cohort : Cohort
        The patients.
    """

    def __init__(self, database: Database, files: Files, cohort: Cohort) -> None:
        self.database, self.files, self.store = database, files, DatabaseStore(database, files)
        sha256 = files.put("cohorts", to_parquet(cohort))
        with database.session() as session:
            self.owner = KeyRepository(session).ensure_owner("tester").id
            self.cohort = (
                CohortRepository(session)
                .add(self.owner, name="c", sha256=sha256, n_patients=cohort.n_patients, spec={}, document={})
                .id
            )

    def queue(self, **settings: Any) -> str:
        asked = SearchSettings.model_validate({"folds": 3, "repeats": 1, **settings})
        with self.database.session() as session:
            return SearchRepository(session).add(self.owner, self.cohort, settings=asked.model_dump(mode="json")).id

    def runner(self, dispatcher: Dispatcher, name: str = "one") -> Runner:
        return Runner(self.store, dispatcher, runner_id=name)

    def search(self, search_id: str) -> SearchRow:
        with self.database.session() as session:
            row = SearchRepository(session).get(self.owner, search_id)
            assert row.ensemble is None or row.rules is not None  # loads the deferred documents
            return row

    def model(self, search: SearchRow) -> PrognosticModel:
        assert search.model_id is not None
        with self.database.session() as session:
            sha256 = ModelRepository(session).get(self.owner, search.model_id).sha256
        return PrognosticModel.from_bytes(self.files.get("models", sha256))

    def cancel(self, search_id: str) -> None:
        with self.database.session() as session:
            SearchRepository(session).request_cancel(self.owner, search_id)

    def evaluations(self, search_id: str) -> list[tuple[Any, ...]]:
        """What must not depend on time or interruptions."""
        with self.database.session() as session:
            rows = EvaluationRepository(session).list_all(self.owner, search_id)
            return [(e.number, e.batch, e.configuration, e.status, e.score, e.fold_scores) for e in rows]
