"""Queries on cohorts."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Literal

from sqlalchemy import select

from autoprog.errors import ConflictError
from autoprog.jobs import JobKind
from autoprog.storage.database import database_now, new_id
from autoprog.storage.files import StoredFile
from autoprog.storage.pages import DEFAULT_LIMIT, Page, contains, page_by_creation
from autoprog.storage.repositories._owned import OwnedRepository, erase, forget_answers, get_owned
from autoprog.storage.repositories.cohort_statistics import CohortStatisticsRepository
from autoprog.storage.repositories.diagnosis import list_files
from autoprog.storage.repositories.jobs import JobRepository
from autoprog.storage.repositories.models import ModelRepository
from autoprog.storage.repositories.test_selection import delete_jobs_of_searches, delete_problem
from autoprog.storage.tables import (
    CohortRow,
    DiagnosisModelRow,
    JobRow,
    JobStatus,
    ModelRow,
    SearchRow,
    SearchStatus,
)
from autoprog.storage.test_selection_tables import SelectionProblemRow


def _list_files(cohort: CohortRow) -> list[StoredFile]:
    files = [StoredFile("cohorts", cohort.sha256)]
    if cohort.identifiers_sha256 is not None:
        files.append(StoredFile("identifiers", cohort.identifiers_sha256))
    return files


class CohortRepository(OwnedRepository[CohortRow]):
    """Cohorts of all owners."""

    _table = CohortRow

    def add(
        self,
        owner_id: str,
        *,
        name: str,
        sha256: str,
        n_patients: int,
        spec: Mapping[str, Any],
        document: Mapping[str, Any],
        identifiers_sha256: str | None = None,
    ) -> CohortRow:
        """Store a cohort whose files are stored; the API shows `document`."""
        row = CohortRow(
            id=new_id(),
            owner_id=owner_id,
            name=name,
            sha256=sha256,
            identifiers_sha256=identifiers_sha256,
            n_patients=n_patients,
            spec=dict(spec),
            document=dict(document),
            created_at=database_now(self._session),
        )
        self._session.add(row)
        self._session.flush()
        return row

    def find(
        self, owner_id: str, text: str, *, limit: int = DEFAULT_LIMIT, cursor: str | None = None
    ) -> Page[CohortRow]:
        """List cohorts whose name contains a text, newest first; raises InvalidInputError for an invalid cursor."""
        query = select(CohortRow).where(CohortRow.owner_id == owner_id)
        if text:
            query = query.where(contains(CohortRow.name, text))
        return page_by_creation(self._session, query, CohortRow, limit, cursor, newest_first=True)

    def all(self, owner_id: str) -> list[CohortRow]:
        """List all cohorts of an owner, oldest first."""
        query = select(CohortRow).where(CohortRow.owner_id == owner_id).order_by(CohortRow.created_at, CohortRow.id)
        return list(self._session.scalars(query))

    def find_copies(self, sha256: Collection[str], ids: Collection[str]) -> set[str]:
        """Find those digests that cohorts of any owner have, apart from some cohorts."""
        copies = select(CohortRow.sha256).where(CohortRow.sha256.in_(sha256), CohortRow.id.not_in(ids))
        return set(self._session.scalars(copies))

    def lock(self, owner_id: str, expected: Mapping[str, str]) -> list[CohortRow]:
        """Lock cohorts, given the digest of each by identifier. Raises NotFoundError; ConflictError if one differs."""
        # In one order, so that two erasures cannot deadlock.
        rows = {row_id: get_owned(self._session, CohortRow, owner_id, row_id, lock=True) for row_id in sorted(expected)}
        if any(row.sha256 != expected[row_id] for row_id, row in rows.items()):
            msg = "one of the cohorts has changed meanwhile; repeat the request"
            raise ConflictError(msg)
        return [rows[row_id] for row_id in expected]

    def by_id(self, ids: Collection[str]) -> dict[str, CohortRow]:
        """Read cohorts by their identifiers; those that there are not are left out."""
        rows = self._session.scalars(select(CohortRow).where(CohortRow.id.in_(ids)))
        return {row.id: row for row in rows}

    def delete(self, owner_id: str, cohort_id: str, *, models: Literal["keep", "delete"]) -> tuple[StoredFile, ...]:
        """Delete a cohort with its searches and everything that they have learnt from single patients.

        Parameters
        ----------
        owner_id : str
            The owner.
        cohort_id : str
            The cohort.
        models : {"keep", "delete"}
            Whether to keep, without search and cohort, what was fitted on it: prognostic models and those updated from
            them, models of a diagnosis, problems of test selection.

        Returns
        -------
        tuple of StoredFile
            Files of the deleted rows, for `remove_unreferenced` after the commit.

        Raises
        ------
        NotFoundError
            If there is no such cohort.
        ConflictError
            If a search on it is running, or a problem of test selection that is kept waits for its classifiers.
        """
        cohort = get_owned(self._session, CohortRow, owner_id, cohort_id, lock=True)
        self._refuse_running(cohort_id)
        files = _list_files(cohort)
        if models == "delete":
            derived = ModelRepository(self._session).derived(owner_id, [cohort_id], lock=True)
            files += [StoredFile("models", model.sha256) for model in derived]
            erase(self._session, ModelRow, ModelRow.id.in_([model.id for model in derived]))
            files += self._delete_diagnosis_models(cohort_id)
            files += self._delete_selection_problems(cohort_id)
        else:
            self._refuse_training(cohort_id)
        delete_jobs_of_searches(self._session, SearchRow.cohort_id == cohort_id)
        CohortStatisticsRepository(self._session).delete_for(cohort_id)
        erase(self._session, CohortRow, CohortRow.id == cohort_id)
        return tuple(files)

    def replace(
        self,
        cohort: CohortRow,
        *,
        sha256: str,
        identifiers_sha256: str,
        n_patients: int,
        document: Mapping[str, Any],
    ) -> tuple[StoredFile, ...]:
        """Replace a locked cohort's patients, delete its searches; return the former files. Raises as `delete`."""
        self._refuse_running(cohort.id)
        self._refuse_training(cohort.id)
        former = _list_files(cohort)
        delete_jobs_of_searches(self._session, SearchRow.cohort_id == cohort.id)
        CohortStatisticsRepository(self._session).delete_for(cohort.id)
        erase(self._session, SearchRow, SearchRow.cohort_id == cohort.id)
        cohort.sha256, cohort.identifiers_sha256 = sha256, identifiers_sha256
        cohort.n_patients, cohort.document = n_patients, dict(document)
        self._session.flush()
        # The answer to the upload described the former patients.
        forget_answers(self._session, cohort.owner_id, cohort.id)
        return tuple(former)

    def _delete_diagnosis_models(self, cohort_id: str) -> list[StoredFile]:
        made_of_it = select(DiagnosisModelRow).where(DiagnosisModelRow.cohort_id == cohort_id).with_for_update()
        models = self._session.scalars(made_of_it).all()
        for model in models:
            JobRepository(self._session).delete_for(model.id)
        ids = [model.id for model in models]
        erase(self._session, DiagnosisModelRow, DiagnosisModelRow.id.in_(ids))
        return [file for model in models for file in list_files(model)]

    def _delete_selection_problems(self, cohort_id: str) -> list[StoredFile]:
        made_of_it = select(SelectionProblemRow).where(SelectionProblemRow.cohort_id == cohort_id).with_for_update()
        problems = self._session.scalars(made_of_it).all()
        return [file for problem in problems for file in delete_problem(self._session, problem)]

    def _refuse_running(self, cohort_id: str) -> None:
        # Lock all of them: a queued one must not be claimed before it is deleted.
        searches = select(SearchRow.id, SearchRow.status).where(SearchRow.cohort_id == cohort_id).with_for_update()
        running = [row.id for row in self._session.execute(searches) if row.status == SearchStatus.RUNNING]
        if running:
            msg = f"cancel the running searches on this cohort first: {', '.join(running)}"
            raise ConflictError(msg)

    def _refuse_training(self, cohort_id: str) -> None:
        # None can be added meanwhile, as adding one locks the cohort.
        training = (
            select(SelectionProblemRow.id)
            .join(JobRow, JobRow.subject_id == SelectionProblemRow.id)
            .where(SelectionProblemRow.cohort_id == cohort_id, JobRow.kind == JobKind.TEST_SELECTION_TRAINING)
            .where(JobRow.status.in_((JobStatus.QUEUED, JobStatus.RUNNING)))
        )
        waiting = self._session.scalars(training).all()
        if waiting:
            msg = (
                f"{len(waiting)} problems of test selection are to be trained on this cohort; "
                f"wait for them or delete them first: {', '.join(waiting)}"
            )
            raise ConflictError(msg)
