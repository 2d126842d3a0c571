"""Find a patient in an owner's cohorts, and erase the patient from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import structlog
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from api.cohorts.schemas import CohortBody
from api.cohorts.service import cohort_body
from api.dependencies import Context
from api.patient_erasures.schemas import (
    DerivedDocument,
    ErasedCohort,
    ModelPolicy,
    PatientErasureBody,
    PatientErasureDocument,
    PatientErasureRequest,
)
from autoprog.cohort import Cohort, PatientIdentifiers, from_parquet, reduce_cohort, to_parquet, without_rows
from autoprog.errors import ArtifactError, ConflictError, InvalidInputError, NotFoundError
from autoprog.storage.files import Files, Kind, StoredFile
from autoprog.storage.repositories import (
    CohortRepository,
    Derived,
    DiagnosisModelRepository,
    ModelRepository,
    PatientErasureRepository,
    SelectionProblemRepository,
)
from autoprog.storage.stored_files import store_all
from autoprog.storage.tables import CohortRow, PatientErasureRow

_log = structlog.stdlib.get_logger(__name__)

_CHANGED = "one of the cohorts has changed meanwhile; repeat the request"
_ROWS = "keeps rows of training patients"
_NO_ROWS = "was fitted on the patient, and keeps no patient's row"
_REASONS = {
    "search": "holds risks of every patient of the cohort",
    "diagnosis_model": "holds the distinct records of its cohort",
    "test_selection_problem": "holds predictions for every patient of its cohort",
    "validation": "holds figures over all patients of the cohort",
}


@dataclass(frozen=True)
class _Found:
    """A cohort that has the patient, and what becomes of it."""

    row: CohortRow
    theirs: NDArray[np.bool_]
    n_rows: int  # of the file; copies that stand for others are one
    body: CohortBody | None  # None if too few patients are left
    contents: tuple[tuple[Kind, bytes], ...]  # cohort and identifiers

    @property
    def sha256(self) -> str | None:
        return None if self.body is None else self.body.sha256


def preview(context: Context, owner_id: str, request: PatientErasureRequest) -> PatientErasureBody:
    """Describe an erasure without doing it; raises InvalidInputError, and ConflictError if a cohort has changed."""
    found, not_searched = _find(context, owner_id, request)
    with context.database.session(read_only=True) as session:
        derived = PatientErasureRepository(session).find_derived(owner_id, [each.row.id for each in found])
        shared = _shared(session, found)
    return _describe(request, found, not_searched, shared, _judge(derived, request.models, _Rows(context.files)))


def erase(
    context: Context, session: Session, owner_id: str, request: PatientErasureRequest
) -> tuple[PatientErasureRow, list[StoredFile]]:
    """Erase a patient; return the record, and files for `remove_unreferenced` after the commit.

    Raises InvalidInputError; ConflictError while a search on one of the cohorts runs, or if one of them has changed.
    """
    # Everything is computed before the transaction writes, so that it stays short.
    found, not_searched = _find(context, owner_id, request)
    ids = [each.row.id for each in found]
    rows = _Rows(context.files)
    with context.database.session(read_only=True) as reading:
        for model in PatientErasureRepository(reading).find_derived(owner_id, ids).models:
            rows.keeps(model.sha256)
    stored = store_all(context.database, context.files, session, [c for each in found for c in each.contents])
    cohorts = CohortRepository(session)
    try:
        former = cohorts.lock(owner_id, {each.row.id: each.row.sha256 for each in found})
    except NotFoundError:
        raise ConflictError(_CHANGED) from None
    derived = PatientErasureRepository(session).find_derived(owner_id, ids)
    judged = _judge(derived, request.models, rows)
    body = _describe(request, found, not_searched, _shared(session, found), judged)
    freed = _delete(session, owner_id, judged)
    PatientErasureRepository(session).mark([each.id for each in judged if each.action == "kept"])
    places = iter(stored)
    for each, row in zip(found, former, strict=True):
        if each.body is None:
            freed += cohorts.delete(owner_id, row.id, models="keep")
            continue
        freed += cohorts.replace(
            row,
            sha256=next(places).sha256,
            identifiers_sha256=next(places).sha256,
            n_patients=each.body.n_patients,
            document=each.body.model_dump(mode="json"),
        )
    return PatientErasureRepository(session).add(owner_id, body.model_dump(mode="json")), freed


def erasure_document(row: PatientErasureRow) -> PatientErasureDocument:
    """Return the record of an erasure."""
    return PatientErasureDocument(**row.document, id=row.id, created_at=row.created_at)


def _find(context: Context, owner_id: str, request: PatientErasureRequest) -> tuple[list[_Found], list[str]]:
    """Find the cohorts that have the patient, and those that cannot be searched."""
    if request.faults:
        raise InvalidInputError(request.faults)
    with context.database.session(read_only=True) as session:
        rows = CohortRepository(session).all(owner_id)
    found: list[_Found] = []
    not_searched: list[str] = []
    for row in rows:
        if row.identifiers_sha256 is None:
            not_searched.append(row.id)
            continue
        try:
            identifiers = PatientIdentifiers.from_bytes(context.files.get("identifiers", row.identifiers_sha256))
            theirs = identifiers.find(request.identifier)
            if theirs.any():
                cohort = from_parquet(context.files.get("cohorts", row.sha256))
                found.append(_reduce(row, cohort, identifiers, theirs))
        except ArtifactError as error:
            # Its files are gone if the cohort was deleted, or a patient erased, since its row was read.
            with context.database.session(read_only=True) as session:
                present = {each.id: each.sha256 for each in CohortRepository(session).all(owner_id)}
            if present.get(row.id) != row.sha256:
                raise ConflictError(_CHANGED) from None
            # One cohort whose files are lost must not keep the patient in all others.
            _log.warning("cohort_not_searched", cohort_id=row.id, reason=str(error))
            not_searched.append(row.id)
    return found, not_searched


def _reduce(row: CohortRow, cohort: Cohort, identifiers: PatientIdentifiers, theirs: NDArray[np.bool_]) -> _Found:
    rest = without_rows(cohort, theirs)
    gone = int(theirs.sum()) if cohort.sampled is None else len(np.unique(cohort.sampled[theirs]))
    if rest is None:
        return _Found(row, theirs, gone, None, ())
    n_rows, n_dropped = row.document["n_rows"] - gone, row.document["n_dropped"]
    # Earlier visits count as dropped, as they have no outcome.
    n_dropped -= int(theirs[cohort.n_rows :].sum())
    left = reduce_cohort(rest, n_rows, n_dropped, identifiers.take(~theirs))
    content = to_parquet(rest)
    body = cohort_body(left, Files.digest(content))
    return _Found(
        row, theirs, gone, body, (("cohorts", content), ("identifiers", identifiers.take(~theirs).to_bytes()))
    )


def _shared(session: Session, found: Sequence[_Found]) -> set[str]:
    """Digests of the cohorts' files that other cohorts have, too."""
    return CohortRepository(session).find_copies({each.row.sha256 for each in found}, [each.row.id for each in found])


class _Rows:
    """Whether models keep rows of patients, each file read once."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._known: dict[str, bool] = {}

    def keeps(self, sha256: str) -> bool:
        """Read a model's file; one that cannot be read counts as keeping rows."""
        from autoprog.model import model_keeps_patients  # noqa: PLC0415  loads the learning libraries

        if sha256 not in self._known:
            try:
                self._known[sha256] = model_keeps_patients(self._files.get("models", sha256))
            except ArtifactError:
                self._known[sha256] = True
        return self._known[sha256]


def _judge(derived: Derived, policy: ModelPolicy, rows: _Rows) -> list[DerivedDocument]:
    """Decide what is deleted: searches always, models by the policy, validations never."""
    judged = [
        DerivedDocument(kind="search", id=search, action="deleted", keeps_rows=True, reason=_REASONS["search"])
        for search in derived.searches
    ]
    keeping: Mapping[str, bool] = {model.id: rows.keeps(model.sha256) for model in derived.models}
    models = [("model", model.id, keeping[model.id]) for model in derived.models]
    models += [("diagnosis_model", row.id, True) for row in derived.diagnosis_models]
    models += [("test_selection_problem", row.id, True) for row in derived.problems]
    for kind, row_id, keeps in models:
        is_deleted = policy == "delete" or (policy == "delete_with_rows" and keeps)
        judged.append(
            DerivedDocument(
                kind=kind,
                id=row_id,
                action="deleted" if is_deleted else "kept",
                keeps_rows=keeps,
                reason=_REASONS.get(kind, _ROWS if keeps else _NO_ROWS),
            )
        )
    gone = {each.id for each in judged if each.action == "deleted"}
    return judged + [
        DerivedDocument(
            kind="validation",
            id=row.id,
            action="deleted" if row.model_id in gone else "kept",
            keeps_rows=False,
            reason=_REASONS["validation"],
        )
        for row in derived.validations
    ]


def _delete(session: Session, owner_id: str, judged: Sequence[DerivedDocument]) -> list[StoredFile]:
    """Delete the models that are to go; their validations go with them, searches with their cohorts."""
    freed: list[StoredFile] = []
    for each in judged:
        if each.action == "kept":
            continue
        if each.kind == "model":
            freed.append(ModelRepository(session).delete(owner_id, each.id))
        elif each.kind == "diagnosis_model":
            freed += DiagnosisModelRepository(session).delete(owner_id, each.id)
        elif each.kind == "test_selection_problem":
            freed += SelectionProblemRepository(session).delete(owner_id, each.id)
    return freed


def _describe(
    request: PatientErasureRequest,
    found: Sequence[_Found],
    not_searched: list[str],
    shared: set[str],
    judged: list[DerivedDocument],
) -> PatientErasureBody:
    return PatientErasureBody(
        reference=request.reference,
        models=request.models,
        cohorts=[
            ErasedCohort(
                cohort_id=each.row.id,
                name=each.row.name,
                n_rows=each.n_rows,
                n_patients=None if each.body is None else each.body.n_patients,
                former_sha256=each.row.sha256,
                sha256=each.sha256,
                file_kept=each.row.sha256 in shared,
            )
            for each in found
        ],
        derived=judged,
        not_searched=not_searched,
    )
