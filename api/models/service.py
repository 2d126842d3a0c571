"""Show models, predict with them, update and validate them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Literal

from sqlalchemy.orm import Session

from api.catalogues.choice import load_tests, place_in_choice, take_tests, without_catalogue
from api.dependencies import Context
from api.models.schemas import (
    MAX_EXPLAINED,
    MAX_PATIENTS,
    ComparisonDocument,
    ComparisonRequest,
    ModelDocument,
    NextTestDocument,
    NextTestsDocument,
    NextTestsRequest,
    PatientPrediction,
    PredictionDocument,
    PredictionRequest,
    RecalibrationRequest,
    ValidationDocument,
    ValidationRequest,
)
from api.quota import check_quota, check_stored
from api.searches.schemas import IntervalDocument
from api.uploads import attempt
from autoprog.cohort import Cohort, from_parquet
from autoprog.errors import Fault, InvalidInputError
from autoprog.storage.repositories import CohortRepository, ModelRepository, ValidationRepository
from autoprog.storage.stored_files import store_file
from autoprog.storage.tables import ModelRow, ValidationRow

if TYPE_CHECKING:
    from autoprog.model import PatientRisk, PrognosticModel


def model_document(row: ModelRow) -> ModelDocument:
    """Return the document of a stored model."""
    return ModelDocument(
        **{"horizons": [], **row.document},
        id=row.id,
        search_id=row.search_id,
        cohort_id=row.cohort_id,
        version=row.version,
        parent_id=row.parent_id,
        sha256=row.sha256,
        status=row.status,
        patients_erased=row.patients_erased,
        created_at=row.created_at,
    )


def predict(context: Context, row: ModelRow, request: PredictionRequest) -> PredictionDocument:
    """Predict patients' risks, in the same order; raises InvalidInputError and ArtifactError."""
    model = context.load_model(row.sha256)
    items = [PatientPrediction.model_validate(risk.to_json()) for risk in _risks(model, request)]
    interval = IntervalDocument.model_validate(model.interval_document)
    return PredictionDocument(items=items, interval=interval, model_id=row.id, model_sha256=row.sha256)


def _risks(model: PrognosticModel, request: PredictionRequest) -> list[PatientRisk]:
    """Return all patients' risks; raises InvalidInputError with the faults of the request and of all cells."""
    faults, given = request.faults, request.patients
    if not isinstance(given, list) or not 1 <= len(given) <= MAX_PATIENTS:
        raise InvalidInputError([*faults, Fault("/patients", f"must be a list of 1 to {MAX_PATIENTS:,} patients")])
    if request.explain and len(given) > MAX_EXPLAINED:
        faults += [Fault("/explain", f"contributions are for at most {MAX_EXPLAINED} patients at once")]
    places = [i for i, patient in enumerate(given) if isinstance(patient, dict)]
    faults += [Fault(f"/patients/{i}", "must be an object") for i in sorted(set(range(len(given))) - set(places))]
    found: list[Fault] = []
    risks = attempt(found, lambda: _predict(model, [given[i] for i in places], request)) if places else None
    faults += [_placed(fault, places) for fault in found]
    if risks is None or faults:
        raise InvalidInputError(faults)
    return risks


def _predict(
    model: PrognosticModel, patients: Sequence[dict[str, object]], request: PredictionRequest
) -> list[PatientRisk]:
    # A request that is refused anyway is not explained at length: its cells alone are checked.
    return model.predict(patients, explain=request.explain and len(patients) <= MAX_EXPLAINED)


def _placed(fault: Fault, places: Sequence[int]) -> Fault:
    """Move a fault from a patient's place among the valid ones to the place among all."""
    _, root, *below = fault.pointer.split("/", 3)
    if not below:
        return fault
    return Fault("/".join(("", root, str(places[int(below[0])]), *below[1:])), fault.detail)


def rank_next_tests(context: Context, row: ModelRow, request: NextTestsRequest) -> NextTestsDocument:
    """Rank the tests that a patient lacks; raises NotFound-, Conflict- and InvalidInputError."""
    from autoprog.model import rank_next_tests as rank  # noqa: PLC0415  loads the learning libraries

    with context.database.session(read_only=True) as session:
        catalogue = load_tests(session, row.owner_id, request.catalogue_id)
    model = context.load_model(row.sha256)
    faults: list[Fault] = []
    tests = None
    if catalogue is None:
        faults += without_catalogue(request)
    else:
        tests = take_tests(request, catalogue, {feature.name for feature in model.inputs}, faults)
        faults = place_in_choice(request, faults)
    patient = request.patient if isinstance(request.patient, dict) else {}
    if not isinstance(request.patient, dict):
        faults.append(Fault("/patient", "must be an object"))
    found = attempt(faults, lambda: rank(model, patient, tests))
    if found is None or faults:
        raise InvalidInputError(faults)
    items = [NextTestDocument(**asdict(each), change_per_price=_ratio(each.change_per_price)) for each in found.tests]
    return NextTestsDocument(model_id=row.id, risk=found.risk, items=items, n_left_out=found.n_left_out)


def _ratio(value: float) -> float | Literal["inf"]:
    return "inf" if math.isinf(value) else value


def recalibrate(
    context: Context, session: Session, owner_id: str, model_id: str, request: RecalibrationRequest
) -> ModelRow:
    """Update a model to another cohort, store it as a new version.

    Raises NotFound-, InvalidInput- and ConflictError, and QueueFullError above the owner's quota.
    """
    from autoprog.model import update_model  # noqa: PLC0415  loads the learning libraries

    former, cohort, cohort_sha256 = _read(context, owner_id, model_id, request.cohort_id)
    training = _training_digests(context, owner_id, model_id)
    content = update_model(former, cohort, request.method).to_bytes()
    check_quota(context, owner_id, {"models": content})
    sha256 = store_file(context.database, context.files, session, "models", content)
    # All its cohorts are locked, so that an erasure of any of them finds the new version.
    parent = _still_there(session, owner_id, model_id, {**training, request.cohort_id: cohort_sha256})
    row = ModelRepository(session).add_version(
        parent, sha256=sha256, cohort_id=request.cohort_id, document=parent.document
    )
    check_stored(context, session, owner_id)
    return row


def validate(
    context: Context, session: Session, owner_id: str, model_id: str, request: ValidationRequest
) -> ValidationRow:
    """Measure a model in another cohort and store the results; raises NotFound-, InvalidInput-, ConflictError."""
    from autoprog.model import external_validation  # noqa: PLC0415  loads the learning libraries

    model, cohort, cohort_sha256 = _read(context, owner_id, model_id, request.cohort_id)
    training = _read_training(context, owner_id, model_id)
    document = external_validation(model, cohort, request.thresholds, request.subgroups, request.seed, training)
    row = _still_there(session, owner_id, model_id, {request.cohort_id: cohort_sha256})
    return ValidationRepository(session).add(row, request.cohort_id, document)


def compare(context: Context, owner_id: str, model_id: str, request: ComparisonRequest) -> ComparisonDocument:
    """Measure two models on the same patients; raises NotFoundError and InvalidInputError."""
    from autoprog.model import compare_models  # noqa: PLC0415  loads the learning libraries

    model, cohort, _ = _read(context, owner_id, model_id, request.cohort_id)
    other, _, _ = _read(context, owner_id, request.other_model_id, request.cohort_id)
    training = tuple(_read_training(context, owner_id, each) for each in (model_id, request.other_model_id))
    found = compare_models(model, other, cohort, request.thresholds, (training[0], training[1]), request.seed)
    return ComparisonDocument(
        **found, model_id=model_id, other_model_id=request.other_model_id, cohort_id=request.cohort_id
    )


def validation_document(row: ValidationRow) -> ValidationDocument:
    """Return the document of a validation."""
    return ValidationDocument(
        **row.document, id=row.id, model_id=row.model_id, cohort_id=row.cohort_id, created_at=row.created_at
    )


def _read(context: Context, owner_id: str, model_id: str, cohort_id: str) -> tuple[PrognosticModel, Cohort, str]:
    """Load a model and a cohort, with the cohort's digest."""
    # Before the transaction that writes: SQLite has one writer, which must not wait for a fit.
    with context.database.session(read_only=True) as session:
        model = ModelRepository(session).get(owner_id, model_id)
        cohort = CohortRepository(session).get(owner_id, cohort_id)
    content = context.files.get("cohorts", cohort.sha256)
    return context.load_model(model.sha256), from_parquet(content), cohort.sha256


def _read_training(context: Context, owner_id: str, model_id: str) -> list[Cohort]:
    """Load the cohorts, as far as they are still stored, of a model and of its earlier versions."""
    digests = dict.fromkeys(_training_digests(context, owner_id, model_id).values())
    return [from_parquet(context.files.get("cohorts", sha256)) for sha256 in digests]


def _training_digests(context: Context, owner_id: str, model_id: str) -> dict[str, str]:
    """Return the digests, by identifier, of the cohorts that `_read_training` loads."""
    with context.database.session(read_only=True) as session:
        models = ModelRepository(session)
        found = CohortRepository(session).by_id(models.cohort_ids(models.get(owner_id, model_id)))
    return {cohort_id: found[cohort_id].sha256 for cohort_id in sorted(found)}


def _still_there(session: Session, owner_id: str, model_id: str, cohorts: dict[str, str]) -> ModelRow:
    """Return the model's row; raises NotFoundError or ConflictError if it or a cohort was deleted or changed."""
    CohortRepository(session).lock(owner_id, cohorts)
    return ModelRepository(session).lock(owner_id, model_id)
