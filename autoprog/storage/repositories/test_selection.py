"""Queries on problems of test selection and on their replays; `test_selection_rounds` has those on rounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from autoprog.jobs import JobKind
from autoprog.storage.database import database_now
from autoprog.storage.files import StoredFile
from autoprog.storage.ids import new_id
from autoprog.storage.repositories._erasing import erase
from autoprog.storage.repositories._owned import OwnedRepository, PartRepository, get_owned
from autoprog.storage.repositories.jobs import JobRepository
from autoprog.storage.tables import CohortRow, JobRow
from autoprog.storage.test_selection_tables import SelectionProblemRow, SelectionReplayRow


class SelectionProblemRepository(OwnedRepository[SelectionProblemRow]):
    """Problems of test selection, of all owners."""

    _table = SelectionProblemRow

    def add(
        self, owner_id: str, *, name: str, document: Mapping[str, Any], cohort_id: str | None = None
    ) -> SelectionProblemRow:
        """Keep a problem without rounds.

        Parameters
        ----------
        owner_id : str
            Whom it belongs to.
        name : str
            As the client calls it.
        document : mapping
            Structure, algorithm, tests, and how classifiers are trained, as JSON.
        cohort_id : str or None
            The cohort, of the same owner, that the classifiers of its arms are to be trained on.

        Returns
        -------
        SelectionProblemRow
            With its new identifier.

        Raises
        ------
        NotFoundError
            If there is no such cohort any longer.
        """
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
        """Read a problem and let no round be opened or closed until the transaction ends. Raises NotFoundError."""
        return get_owned(self._session, SelectionProblemRow, owner_id, problem_id, lock=True)

    def lock_for_round(self, owner_id: str, problem_id: str) -> SelectionProblemRow:
        """Count one more round, and let no other be opened or closed until the transaction ends.

        Parameters
        ----------
        owner_id : str
            Who asks.
        problem_id : str
            The problem.

        Returns
        -------
        SelectionProblemRow
            With `n_rounds` the number of the new round.

        Raises
        ------
        NotFoundError
            If there is none, or it is another owner's.
        """
        row = self.lock(owner_id, problem_id)
        row.n_rounds += 1
        self._session.flush()
        return row

    def delete(self, owner_id: str, problem_id: str) -> list[StoredFile]:
        """Delete a problem with its rounds, their feedback, its replays, and the jobs for all of them.

        Parameters
        ----------
        owner_id : str
            Who asks.
        problem_id : str
            Its identifier.

        Returns
        -------
        list of StoredFile
            Files that they referred to, for `remove_unreferenced` once the transaction is committed.

        Raises
        ------
        NotFoundError
            If there is none, or it is another owner's.
        """
        return delete_problem(self._session, self.lock(owner_id, problem_id))


def delete_problem(session: Session, problem: SelectionProblemRow) -> list[StoredFile]:
    """Delete a problem, which the transaction has locked, with all that belongs to it.

    Parameters
    ----------
    session : Session
        The transaction.
    problem : SelectionProblemRow
        The problem.

    Returns
    -------
    list of StoredFile
        Those that it referred to.
    """
    replays = select(SelectionReplayRow).where(SelectionReplayRow.problem_id == problem.id).with_for_update()
    rows = session.scalars(replays).all()
    for subject in (problem.id, *(row.id for row in rows)):
        JobRepository(session).delete_all(subject)
    erase(session, SelectionProblemRow, SelectionProblemRow.id == problem.id)
    files = [StoredFile("test_selection_tables", row.table_sha256) for row in rows]
    if problem.arms_sha256 is not None:
        files.append(StoredFile("test_selection_arms", problem.arms_sha256))
    if problem.table_sha256 is not None:
        files.append(StoredFile("test_selection_tables", problem.table_sha256))
    return files


class SelectionReplayRepository(PartRepository[SelectionReplayRow]):
    """Replays of all owners that take a job."""

    _table = SelectionReplayRow
    _whole, _key = SelectionProblemRow, "problem_id"

    def add(
        self, problem: SelectionProblemRow, *, document: Mapping[str, Any], table_sha256: str
    ) -> SelectionReplayRow:
        """Keep a replay and queue its job.

        Parameters
        ----------
        problem : SelectionProblemRow
            Whose policy is run.
        document : mapping
            What was asked for, as JSON.
        table_sha256 : str
            Digest of the table's file, which is already stored.

        Returns
        -------
        SelectionReplayRow
            With its new identifier.
        """
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
            JobKind.TEST_SELECTION_REPLAY,
            row.id,
            parameters={"problem": problem.document, "replay": row.document},
            files={"table": StoredFile("test_selection_tables", table_sha256)},
        )
        return row

    def load_job(self, replay_id: str) -> JobRow:
        """The job of a replay that the owner may see."""
        return JobRepository(self._session).load_latest(JobKind.TEST_SELECTION_REPLAY, [replay_id])[replay_id]

    def delete(self, owner_id: str, problem_id: str, replay_id: str) -> StoredFile:
        """Delete one of a problem's with its job.

        Parameters
        ----------
        owner_id : str
            Who asks.
        problem_id, replay_id : str
            Which one.

        Returns
        -------
        StoredFile
            Its table, for `remove_unreferenced` once the transaction is committed.

        Raises
        ------
        NotFoundError
            If there is none, or it is another problem's or another owner's.
        """
        row = self.of(owner_id, problem_id, replay_id)
        JobRepository(self._session).delete_all(row.id)
        erase(self._session, SelectionReplayRow, SelectionReplayRow.id == row.id)
        return StoredFile("test_selection_tables", row.table_sha256)
