"""Make, store and show diagnosis models."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy.orm import Session

from api.dependencies import Context
from api.diagnosis.models.building import model_of_cohort, model_of_request, model_of_upload
from api.diagnosis.models.schemas import (
    CHOICES_OF_COHORT,
    CohortModelRequest,
    DiagnosisModelDocument,
    DiagnosisModelRequest,
    ModelChoices,
    TreeState,
)
from api.jobs.service import read_error
from api.quota import check_quota, check_stored
from api.uploads import Upload, load_json, validate_document
from autoprog.cohort import from_parquet
from autoprog.diagnosis import DiagnosisModel, cost_bounds, grow_tree, model_to_bytes, tree_report, tree_to_bytes
from autoprog.errors import Fault, InvalidInputError
from autoprog.jobs import JobKind
from autoprog.storage.files import Kind
from autoprog.storage.repositories import CohortRepository, DiagnosisModelRepository, JobRepository
from autoprog.storage.stored_files import store_files
from autoprog.storage.tables import CohortRow, DiagnosisModelRow, JobRow, JobStatus

MAX_CELLS_AT_ONCE = 10_000_000
"""Largest number of responses of a model whose tree is built while the client waits."""

_MAX_SETS, _MAX_IN_A_SET, _MAX_NAMES = 1000, 1000, 10_000


def create_model(context: Context, session: Session, owner_id: str, body: Upload) -> DiagnosisModelRow:
    """Make a model, and its tree if that is quick; raises InvalidInputError, NotFoundError and TooLargeError."""
    # Nothing is written before everything is computed, so that the transaction stays short.
    if body.json is None:
        spec, model = model_of_upload(body, context.settings.decompressed_mb)
        return keep_model(context, session, owner_id, spec, model)
    faults = list(body.faults)
    document = _parse_json(body.json, faults)
    if isinstance(document, dict) and "cohort_id" in document:
        return _create_of_cohort(context, session, owner_id, document, faults)
    request = validate_document(DiagnosisModelRequest, document, "", faults)
    if request is None:
        raise InvalidInputError(faults)
    return keep_model(context, session, owner_id, request, model_of_request(request, faults))


def _parse_json(text: bytes, faults: list[Fault]) -> object:
    """Parse JSON; raises InvalidInputError with the faults found before, too."""
    try:
        return load_json(text, "")
    except InvalidInputError as error:
        raise InvalidInputError([*faults, *error.faults]) from None


def _create_of_cohort(
    context: Context, session: Session, owner_id: str, document: object, faults: list[Fault]
) -> DiagnosisModelRow:
    request = validate_document(CohortModelRequest, document, "", faults, CHOICES_OF_COHORT)
    if request is None:
        raise InvalidInputError(faults)
    with context.database.session(read_only=True) as reading:
        cohort = CohortRepository(reading).get(owner_id, request.cohort_id)
    made = model_of_cohort(request, from_parquet(context.files.get("cohorts", cohort.sha256)), faults)
    thresholds = {name: list(cuts) for name, cuts in made.thresholds.items()}
    return keep_model(context, session, owner_id, request, made.model, cohort=cohort, thresholds=thresholds)


def keep_model(
    context: Context,
    session: Session,
    owner_id: str,
    choices: ModelChoices,
    model: DiagnosisModel,
    *,
    cohort: CohortRow | None = None,
    thresholds: dict[str, list[float]] | None = None,
) -> DiagnosisModelRow:
    """Store a model, and its tree if that is quick; raises QueueFullError, and ConflictError if the cohort changed."""
    document = _make_body(model) | {
        "thresholds": thresholds or {},
        "max_objects": choices.max_objects,
        "max_errors": choices.max_errors,
    }
    contents: dict[Kind, bytes] = {"diagnosis_models": model_to_bytes(model)}
    report = None
    if not model.is_noisy and model.n_cells <= MAX_CELLS_AT_ONCE:
        grown = grow_tree(model)
        contents["diagnosis_trees"], report = tree_to_bytes(grown), asdict(tree_report(grown))
    check_quota(context, owner_id, contents)
    stored = store_files(context.database, context.files, session, contents)
    if cohort is not None:
        CohortRepository(session).lock(owner_id, {cohort.id: cohort.sha256})
    row = DiagnosisModelRepository(session).add(
        owner_id,
        name=choices.name,
        sha256=stored["diagnosis_models"],
        document=document,
        cohort_id=None if cohort is None else cohort.id,
        tree=None if report is None else (stored["diagnosis_trees"], report),
    )
    check_stored(context, session, owner_id)
    return row


def _make_body(model: DiagnosisModel) -> dict[str, Any]:
    """Return everything that the API shows of a model besides its tree, as JSON."""
    alike = model.unidentifiable
    bounds = None if model.is_noisy else cost_bounds(model)
    return {
        "n_objects": model.n_objects,
        "n_queries": model.n_queries,
        "n_groups": model.n_groups,
        "algorithm": model.algorithm,
        "exponential_cost_base": "inf" if math.isinf(model.base) else model.base,
        "stop": model.stop,
        "ties": model.ties,
        "seed": model.seed,
        "noisy": model.is_noisy,
        "unidentifiable": _list_names(model, alike),
        "n_unidentifiable": len(alike),
        "entropy_bound": None if bounds is None else bounds.expected,
        "exponential_bound": None if bounds is None else bounds.exponential,
        "warnings": list(model.warnings),
    }


def _list_names(model: DiagnosisModel, sets: Sequence[Sequence[int]]) -> list[list[str]]:
    """Return the first sets of objects by name, as many as a document can hold."""
    named: list[list[str]] = []
    room = _MAX_NAMES
    for same in sets[:_MAX_SETS]:
        named.append([model.objects[i] for i in same[:_MAX_IN_A_SET]])
        room -= len(named[-1])
        if room <= 0:
            break
    return named


def model_documents(session: Session, rows: Sequence[DiagnosisModelRow]) -> list[DiagnosisModelDocument]:
    """Return the documents of models in the same order, with the state of their trees."""
    jobs = JobRepository(session).load_latest(JobKind.DIAGNOSIS_TREE, [row.id for row in rows])
    return [_document(row, jobs.get(row.id)) for row in rows]


def _document(row: DiagnosisModelRow, job: JobRow | None) -> DiagnosisModelDocument:
    tree = row.tree or {}
    return DiagnosisModelDocument(
        **row.document,
        id=row.id,
        name=row.name,
        cohort_id=row.cohort_id,
        patients_erased=row.patients_erased,
        expected_cost=tree.get("expected_cost"),
        exponential_cost=tree.get("exponential_cost"),
        worst_case=tree.get("worst_case"),
        tree=tree_state(row, job),
        sha256=row.sha256,
        created_at=row.created_at,
    )


def tree_state(row: DiagnosisModelRow, job: JobRow | None) -> TreeState:
    """Return whether a model's tree is built, queued, being built, or has failed."""
    tree = row.tree or {}
    status = JobStatus.SUCCEEDED if row.tree is not None else JobStatus(job.status) if job is not None else "none"
    return TreeState(
        status=status,
        job_id=None if job is None else job.id,
        error=None if job is None else read_error(job),
        n_nodes=tree.get("n_nodes"),
        n_leaves=tree.get("n_leaves"),
        depth=tree.get("depth"),
        n_ambiguous=tree.get("n_ambiguous"),
    )
