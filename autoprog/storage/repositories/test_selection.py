"""Queries on catalogues of tests, problems, replays and frontiers; `test_selection_rounds` has those on rounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from autoprog.jobs import JobKind
from autoprog.storage.database import database_now, new_id
from autoprog.storage.files import StoredFile
from autoprog.storage.pages import Row
from autoprog.storage.repositories._owned import NamedRepository, PartRepository, erase, get_owned, not_found
from autoprog.storage.repositories.jobs import JobRepository
from autoprog.storage.tables import CohortRow, JobRow, SearchRow
from autoprog.storage.test_selection_tables import CatalogueRow, FrontierRow, SelectionProblemRow, SelectionReplayRow


class CatalogueRepository(NamedRepository[CatalogueRow]):
    """Catalogues of diagnostic tests, of all owners."""

    _table = CatalogueRow

    def add(self, owner_id: str, *, name: str, document: Mapping[str, Any]) -> CatalogueRow:
        """Store a catalogue."""
        now = database_now(self._session)
        row = CatalogueRow(id=new_id(), owner_id=owner_id, name=name, document=dict(document), created_at=now)
        self._session.add(row)
        self._session.flush()
        return row

    def delete(self, owner_id: str, catalogue_id: str) -> None:
        """Delete a catalogue. Raises NotFoundError."""
        row = get_owned(self._session, CatalogueRow, owner_id, catalogue_id, lock=True)
        erase(self._session, CatalogueRow, CatalogueRow.id == row.id)


class SelectionProblemRepository(NamedRepository[SelectionProblemRow]):
    """Problems of test selection, of all owners."""

    _table = SelectionProblemRow

    def add(
        self, owner_id: str, *, name: str, document: Mapping[str, Any], cohort_id: str | None = None
    ) -> SelectionProblemRow:
        """Store a problem without rounds. Raises NotFoundError without the cohort for its classifiers."""
        if cohort_id is not None:
            get_owned(self._session, CohortRow, owner_id, cohort_id, lock=True)
        row = SelectionProblemRow(
            id=new_id(),
            owner_id=owner_id,
            cohort_id=cohort_id,
            name=name,
            document=dict(document),
            n_rounds=0,
            n_feedback=0,
            created_at=database_now(self._session),
        )
        self._session.add(row)
        self._session.flush()
        return row

    def lock(self, owner_id: str, problem_id: str) -> SelectionProblemRow:
        """Read a problem; no round can be opened or closed until the transaction ends. Raises NotFoundError."""
        return get_owned(self._session, SelectionProblemRow, owner_id, problem_id, lock=True)

    def lock_for_round(self, owner_id: str, problem_id: str) -> SelectionProblemRow:
        """Lock a problem as `lock` does and count a new round, number `n_rounds`. Raises NotFoundError."""
        row = self.lock(owner_id, problem_id)
        row.n_rounds += 1
        self._session.flush()
        return row

    def delete(self, owner_id: str, problem_id: str) -> list[StoredFile]:
        """Delete a problem with all its parts; return its files for `remove_unreferenced`. Raises NotFoundError."""
        return delete_problem(self._session, self.lock(owner_id, problem_id))


def delete_problem(session: Session, problem: SelectionProblemRow) -> list[StoredFile]:
    """Delete a locked problem with its rounds, feedback, replays and jobs; return its files."""
    replays = select(SelectionReplayRow).where(SelectionReplayRow.problem_id == problem.id).with_for_update()
    rows = session.scalars(replays).all()
    for subject in (problem.id, *(row.id for row in rows)):
        JobRepository(session).delete_for(subject)
    erase(session, SelectionProblemRow, SelectionProblemRow.id == problem.id)
    files = [StoredFile("test_selection_tables", row.table_sha256) for row in rows]
    if problem.arms_sha256 is not None:
        files.append(StoredFile("test_selection_arms", problem.arms_sha256))
    if problem.table_sha256 is not None:
        files.append(StoredFile("test_selection_tables", problem.table_sha256))
    return files


class _JobRepository(PartRepository[Row]):
    """Base class for parts that have a job each, which is deleted with them."""

    _kind: JobKind

    def load_jobs(self, rows: Sequence[Row]) -> dict[str, JobRow]:
        """Read the jobs of parts that the owner may see; those of parts that were deleted meanwhile are absent."""
        return JobRepository(self._session).load_latest(self._kind, [row.id for row in rows])

    def load_job(self, row: Row) -> JobRow:
        """Read the job of a part that the owner may see. Raises NotFoundError if the part was deleted meanwhile."""
        job = self.load_jobs([row]).get(row.id)
        if job is None:
            raise not_found(self._table)
        return job


class SelectionReplayRepository(_JobRepository[SelectionReplayRow]):
    """Replays of all owners that take a job."""

    _table, _kind = SelectionReplayRow, JobKind.TEST_SELECTION_REPLAY
    _whole, _key = SelectionProblemRow, "problem_id"

    def add(
        self, problem: SelectionProblemRow, *, document: Mapping[str, Any], table_sha256: str
    ) -> SelectionReplayRow:
        """Store a replay and queue its job; the table's file is stored."""
        row = SelectionReplayRow(
            id=new_id(),
            owner_id=problem.owner_id,
            problem_id=problem.id,
            document=dict(document),
            table_sha256=table_sha256,
            created_at=database_now(self._session),
        )
        self._session.add(row)
        self._session.flush()
        JobRepository(self._session).add(
            problem.owner_id,
            self._kind,
            row.id,
            parameters={"problem": problem.document, "replay": row.document},
            files={"table": StoredFile("test_selection_tables", table_sha256)},
        )
        return row

    def delete(self, owner_id: str, problem_id: str, replay_id: str) -> StoredFile:
        """Delete a replay with its job; return its table for `remove_unreferenced`. Raises NotFoundError."""
        row = self.of(owner_id, problem_id, replay_id)
        JobRepository(self._session).delete_for(row.id)
        erase(self._session, SelectionReplayRow, SelectionReplayRow.id == row.id)
        return StoredFile("test_selection_tables", row.table_sha256)


class FrontierRepository(_JobRepository[FrontierRow]):
    """Frontiers of all owners' searches."""

    _table, _kind = FrontierRow, JobKind.TEST_FRONTIER
    _whole, _key = SearchRow, "search_id"

    def add(self, search: SearchRow, *, document: Mapping[str, Any], cohort: StoredFile) -> FrontierRow:
        """Store a request on a finished search and queue its job. Raises NotFoundError if the search was deleted."""
        get_owned(self._session, SearchRow, search.owner_id, search.id, lock=True)
        row = FrontierRow(
            id=new_id(),
            owner_id=search.owner_id,
            search_id=search.id,
            document=dict(document),
            created_at=database_now(self._session),
        )
        self._session.add(row)
        self._session.flush()
        JobRepository(self._session).add(
            search.owner_id, self._kind, row.id, parameters=row.document, files={"cohort": cohort}
        )
        return row

    def delete(self, owner_id: str, search_id: str, frontier_id: str) -> None:
        """Delete a search's frontier with its job. Raises NotFoundError."""
        row = self.of(owner_id, search_id, frontier_id)
        JobRepository(self._session).delete_for(row.id)
        erase(self._session, FrontierRow, FrontierRow.id == row.id)


def delete_jobs_of_searches(session: Session, searches: ColumnElement[bool]) -> None:
    """Delete the jobs of locked searches that are about to be deleted, and those of their frontiers."""
    erase(session, JobRow, JobRow.subject_id.in_(select(SearchRow.id).where(searches)))
    frontiers = select(FrontierRow.id).join(SearchRow, SearchRow.id == FrontierRow.search_id).where(searches)
    erase(session, JobRow, JobRow.subject_id.in_(frontiers))
