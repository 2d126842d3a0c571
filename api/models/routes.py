"""Routes of `/v1/models`."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from sqlalchemy.orm import Session

from api.auth import Approver, Predictor, Reader, Writer
from api.computing import Turn
from api.dependencies import ContextDependency, ReadSession, WriteSession
from api.idempotency import OnceDependency, answer
from api.json_route import JsonRoute
from api.models import service
from api.models.report import validation_report
from api.models.schemas import (
    ComparisonDocument,
    ComparisonRequest,
    ModelDocument,
    NextTestsDocument,
    NextTestsRequest,
    PredictionDocument,
    PredictionPolicy,
    PredictionRequest,
    RecalibrationRequest,
    StatusChangeDocument,
    StatusChangeRequest,
    ValidationDocument,
    ValidationRequest,
)
from api.models.status import approved_only, change_status, check_usable, set_policy, status_document
from api.openapi import problems
from api.pagination import ListDocument, PageParameters
from api.reports import (
    FIGURE_RESPONSES,
    REPORT_RESPONSES,
    AskedForm,
    FigureName,
    choose_format,
    respond_with_figure,
    respond_with_report,
)
from autoprog.storage.repositories import ModelRepository, ModelStatusRepository, StoredAnswer, ValidationRepository
from autoprog.storage.stored_files import remove_unreferenced

router = APIRouter(
    prefix="/v1/models", tags=["models"], responses=problems(401, 403, 429, 503, 507), route_class=JsonRoute
)


@router.get("", operation_id="list_models", summary="List models, oldest first", responses=problems(422))
def list_models(principal: Reader, session: ReadSession, page: PageParameters) -> ListDocument[ModelDocument]:
    """List the models of the key's owner."""
    found = ModelRepository(session).page(principal.owner_id, limit=page.limit, cursor=page.cursor)
    items = [service.model_document(row) for row in found.items]
    return ListDocument[ModelDocument](items=items, next_cursor=found.next_cursor)


@router.get("/{model_id}", operation_id="get_model", summary="Get a model", responses=problems(404))
def get_model(model_id: str, principal: Reader, session: ReadSession) -> ModelDocument:
    """Return what the model was trained on."""
    return service.model_document(ModelRepository(session).get(principal.owner_id, model_id))


@router.post(
    "/{model_id}/predictions",
    operation_id="predict_with_model",
    summary="Predict risks",
    responses=problems(404, 409, 413, 415, 422),
)
def predict_with_model(
    model_id: str, request: PredictionRequest, principal: Predictor, _turn: Turn, context: ContextDependency
) -> PredictionDocument:
    """Return each patient's risk, stratum, matching rules and unusual values."""
    with context.database.session(read_only=True) as session:
        model = ModelRepository(session).get_briefly(principal.owner_id, model_id)
        check_usable(session, principal, model)
    return service.predict(context, model, request)


@router.post(
    "/{model_id}/next-tests",
    operation_id="rank_next_tests",
    summary="Rank a patient's next tests",
    responses=problems(404, 409, 413, 415, 422),
)
def rank_next_tests(
    model_id: str, request: NextTestsRequest, principal: Predictor, _turn: Turn, context: ContextDependency
) -> NextTestsDocument:
    """Rank the tests of a catalogue, or each unknown finding, by the expected change of the patient's risk per price.

    What a test would reveal is drawn from the distribution of the model's findings, given those that are known.
    """
    with context.database.session(read_only=True) as session:
        model = ModelRepository(session).get_briefly(principal.owner_id, model_id)
        check_usable(session, principal, model)
    return service.rank_next_tests(context, model, request)


@router.delete(
    "/{model_id}", operation_id="delete_model", summary="Delete a model", status_code=204, responses=problems(404)
)
def delete_model(model_id: str, context: ContextDependency, principal: Writer) -> None:
    """Delete the model. Its search stays, without a model."""
    with context.database.session() as session:
        freed = ModelRepository(session).delete(principal.owner_id, model_id)
    remove_unreferenced(context.database, context.files, [freed])


@router.post(
    "/{model_id}/recalibrations",
    operation_id="recalibrate_model",
    summary="Recalibrate a model",
    status_code=201,
    response_model=ModelDocument,
    responses=problems(404, 409, 413, 415, 422),
)
def recalibrate_model(
    model_id: str,
    request: RecalibrationRequest,
    context: ContextDependency,
    principal: Writer,
    _turn: Turn,
    once: OnceDependency,
) -> Response:
    """Update the model to another cohort's event rate, and to the spread of its risks.

    The result is a new version. The old model stays, as its parent.
    """

    def work(session: Session) -> StoredAnswer:
        row = service.recalibrate(context, session, principal.owner_id, model_id, request)
        return answer(201, service.model_document(row), Location=f"/v1/models/{row.id}")

    return once.run(work)


@router.post(
    "/{model_id}/comparisons",
    operation_id="compare_models",
    summary="Compare two models",
    responses=problems(404, 413, 415, 422),
)
def compare_models(
    model_id: str, request: ComparisonRequest, context: ContextDependency, principal: Writer, _turn: Turn
) -> ComparisonDocument:
    """Measure the model and another one on the same patients, with paired differences. Nothing is stored."""
    return service.compare(context, principal.owner_id, model_id, request)


@router.post(
    "/{model_id}/validations",
    operation_id="validate_model",
    summary="Validate a model externally",
    status_code=201,
    response_model=ValidationDocument,
    responses=problems(404, 409, 413, 415, 422),
)
def validate_model(
    model_id: str,
    request: ValidationRequest,
    context: ContextDependency,
    principal: Writer,
    _turn: Turn,
    once: OnceDependency,
) -> Response:
    """Return the full performance in another cohort, and how far its patients resemble the model's own."""

    def work(session: Session) -> StoredAnswer:
        row = service.validate(context, session, principal.owner_id, model_id, request)
        return answer(201, service.validation_document(row), Location=f"/v1/models/{model_id}/validations/{row.id}")

    return once.run(work)


@router.get(
    "/{model_id}/validations",
    operation_id="list_validations",
    summary="List a model's validations",
    responses=problems(404, 422),
)
def list_validations(
    model_id: str, principal: Reader, session: ReadSession, page: PageParameters
) -> ListDocument[ValidationDocument]:
    """List the model's performance in other cohorts, oldest first."""
    found = ValidationRepository(session).load_page(principal.owner_id, model_id, limit=page.limit, cursor=page.cursor)
    items = [service.validation_document(row) for row in found.items]
    return ListDocument[ValidationDocument](items=items, next_cursor=found.next_cursor)


@router.get(
    "/{model_id}/validations/{validation_id}",
    operation_id="get_validation",
    summary="Get a validation",
    responses=problems(404),
)
def get_validation(model_id: str, validation_id: str, principal: Reader, session: ReadSession) -> ValidationDocument:
    """Return the measured performance."""
    row = ValidationRepository(session).of(principal.owner_id, model_id, validation_id)
    return service.validation_document(row)


@router.get(
    "/{model_id}/validations/{validation_id}/report",
    operation_id="get_validation_report",
    summary="Get the report of a validation",
    response_class=Response,
    responses=REPORT_RESPONSES | problems(404, 409, 422, 501),
)
def get_validation_report(
    model_id: str,
    validation_id: str,
    *,
    context: ContextDependency,
    principal: Reader,
    _turn: Turn,
    request: Request,
    form: AskedForm = None,
) -> Response:
    """Return the performance in other patients beside that of the development: HTML, Markdown or DOCX."""
    with context.database.session(read_only=True) as session:  # rendering may take seconds
        report = validation_report(context, session, principal.owner_id, model_id, validation_id)
    return respond_with_report(report, choose_format(form, request.headers.get("Accept", "")), "figures")


@router.get(
    "/{model_id}/validations/{validation_id}/figures/{name}",
    operation_id="get_validation_figure",
    summary="Get a figure of a validation's report",
    response_class=Response,
    responses=FIGURE_RESPONSES | problems(404, 409, 422, 501),
)
def get_validation_figure(
    model_id: str,
    validation_id: str,
    name: FigureName,
    *,
    context: ContextDependency,
    principal: Reader,
    _turn: Turn,
) -> Response:
    """Return a figure as SVG, or as PNG at 300 dpi."""
    with context.database.session(read_only=True) as session:
        report = validation_report(context, session, principal.owner_id, model_id, validation_id)
    return respond_with_figure(report, name)


@router.delete(
    "/{model_id}/validations/{validation_id}",
    operation_id="delete_validation",
    summary="Delete a validation",
    status_code=204,
    responses=problems(404),
)
def delete_validation(model_id: str, validation_id: str, principal: Writer, session: WriteSession) -> None:
    """Delete the validation. The model stays."""
    ValidationRepository(session).delete(principal.owner_id, model_id, validation_id)


@router.post(
    "/{model_id}/status-changes",
    operation_id="change_model_status",
    summary="Approve or retire a model",
    status_code=201,
    response_model=StatusChangeDocument,
    responses=problems(404, 409, 413, 415, 422),
)
def change_model_status(
    model_id: str, request: StatusChangeRequest, principal: Approver, once: OnceDependency
) -> Response:
    """Make a model a draft, approved or retired, and say why; retire at the same time the one that it replaces."""

    def work(session: Session) -> StoredAnswer:
        row = change_status(session, principal, model_id, request)
        return answer(201, status_document(row), Location=f"/v1/models/{model_id}/status-changes/{row.id}")

    return once.run(work)


@router.get(
    "/{model_id}/status-changes",
    operation_id="list_model_status_changes",
    summary="List the changes of a model's status",
    responses=problems(404, 422),
)
def list_model_status_changes(
    model_id: str, principal: Reader, session: ReadSession, page: PageParameters
) -> ListDocument[StatusChangeDocument]:
    """List who approved or retired the model, when and why, oldest first."""
    repository = ModelStatusRepository(session)
    found = repository.load_page(principal.owner_id, model_id, limit=page.limit, cursor=page.cursor)
    return ListDocument[StatusChangeDocument](
        items=[status_document(row) for row in found.items], next_cursor=found.next_cursor
    )


@router.get(
    "/{model_id}/status-changes/{change_id}",
    operation_id="get_model_status_change",
    summary="Get a change of a model's status",
    responses=problems(404),
)
def get_model_status_change(
    model_id: str, change_id: str, principal: Reader, session: ReadSession
) -> StatusChangeDocument:
    """Return who changed the status, when and why."""
    return status_document(ModelStatusRepository(session).of(principal.owner_id, model_id, change_id))


policy_router = APIRouter(
    prefix="/v1/prediction-policy", tags=["models"], responses=problems(401, 403, 429, 503, 507), route_class=JsonRoute
)


@policy_router.get("", operation_id="get_prediction_policy", summary="Get which models may predict")
def get_prediction_policy(principal: Reader, session: ReadSession) -> PredictionPolicy:
    """Return the policy of the key's owner."""
    return PredictionPolicy(approved_only=approved_only(session, principal.owner_id))


@policy_router.put(
    "",
    operation_id="set_prediction_policy",
    summary="Set which models may predict",
    responses=problems(413, 415, 422),
)
def set_prediction_policy(policy: PredictionPolicy, principal: Approver, session: WriteSession) -> PredictionPolicy:
    """Set the policy of the key's owner."""
    set_policy(session, principal.owner_id, policy)
    return policy
