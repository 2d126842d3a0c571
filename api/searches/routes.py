"""Routes of `/v1/searches`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Query, Request, Response
from fastapi.sse import EventSourceResponse, ServerSentEvent
from sqlalchemy.orm import Session

from api.auth import Predictor, Reader, Writer
from api.computing import Turn
from api.dependencies import ContextDependency, ReadSession, WriteSession
from api.idempotency import CollectingOnceDependency, OnceDependency, answer
from api.json_route import JsonRoute
from api.models.schemas import PredictionDocument, PredictionRequest
from api.models.service import predict
from api.models.status import check_usable
from api.openapi import json_body, multipart_body, problems, reference
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
from api.searches import service
from api.searches.events import Followed
from api.searches.report import search_report
from api.searches.schemas import (
    ContinuationRequest,
    DecompositionDocument,
    EnsembleDocument,
    EvaluationDocument,
    RulesDocument,
    SearchDocument,
    SearchRequest,
)
from api.uploads import Upload, receive_body
from autoprog.cohort import CohortSpec
from autoprog.search import SearchSettings
from autoprog.storage.repositories import EvaluationRepository, ModelRepository, SearchRepository, StoredAnswer
from autoprog.storage.repositories.evaluations import EvaluationOrder

router = APIRouter(
    prefix="/v1/searches", tags=["searches"], responses=problems(401, 403, 429, 503, 507), route_class=JsonRoute
)

_RETRY_AFTER = "1"
_MULTIPART = multipart_body({"spec": CohortSpec}, {"search": SearchSettings})
_BODY: dict[str, Any] = {"requestBody": {"required": True, "content": json_body(reference(SearchRequest)) | _MULTIPART}}


async def _body(request: Request, context: ContextDependency, once: CollectingOnceDependency) -> AsyncIterator[Upload]:
    with context.bodies.hold(request, once.owner_id):
        async with receive_body(request, ("spec", "search"), context.settings.upload_mb, once.faults) as upload:
            yield upload


@router.post(
    "",
    operation_id="start_search",
    summary="Start a search",
    status_code=202,
    response_model=SearchDocument,
    responses=problems(400, 404, 409, 413, 415, 422, 429),
    openapi_extra=_BODY,
)
def start_search(
    body: Annotated[Upload, Depends(_body, scope="function")],
    context: ContextDependency,
    principal: Writer,
    _turn: Turn,
    once: CollectingOnceDependency,
) -> Response:
    """Queue a search on a stored cohort, or on an uploaded file, which becomes a cohort.

    Follow the search at its `Location` or by its events.
    """

    def work(session: Session) -> StoredAnswer:
        row = service.start_search(context, session, principal.owner_id, body)
        (document,) = service.search_documents(session, [row])
        return answer(202, document, Location=f"/v1/searches/{row.id}", Retry_After=_RETRY_AFTER)

    return once.run(work, body.fingerprint)


@router.get("", operation_id="list_searches", summary="List searches, oldest first", responses=problems(422))
def list_searches(principal: Reader, session: ReadSession, page: PageParameters) -> ListDocument[SearchDocument]:
    """List the searches of the key's owner."""
    found = SearchRepository(session).page(principal.owner_id, limit=page.limit, cursor=page.cursor)
    items = service.search_documents(session, found.items)
    return ListDocument[SearchDocument](items=items, next_cursor=found.next_cursor)


@router.get("/{search_id}", operation_id="get_search", summary="Get a search's progress", responses=problems(404))
def get_search(search_id: str, principal: Reader, session: ReadSession) -> SearchDocument:
    """Return the status, progress, settings and warnings."""
    row = SearchRepository(session).get(principal.owner_id, search_id)
    return service.search_documents(session, [row])[0]


@router.delete(
    "/{search_id}",
    operation_id="delete_search",
    summary="Delete a search",
    status_code=204,
    responses=problems(404, 409),
)
def delete_search(search_id: str, principal: Writer, session: WriteSession) -> None:
    """Delete the search and its evaluations. Its model stays. A running search cannot be deleted."""
    SearchRepository(session).delete(principal.owner_id, search_id)


@router.post(
    "/{search_id}/cancel",
    operation_id="cancel_search",
    summary="Cancel a search",
    status_code=202,
    responses=problems(404, 409),
)
def cancel_search(search_id: str, principal: Writer, session: WriteSession, response: Response) -> SearchDocument:
    """Ask the search to stop. Its evaluations stay, and a model is built from them if possible."""
    row = SearchRepository(session).request_cancel(principal.owner_id, search_id)
    response.headers.update({"Location": f"/v1/searches/{row.id}", "Retry-After": _RETRY_AFTER})
    return service.search_documents(session, [row])[0]


@router.post(
    "/{search_id}/continuations",
    operation_id="continue_search",
    summary="Continue a search",
    status_code=202,
    response_model=SearchDocument,
    responses=problems(404, 409, 413, 415, 422, 429),
)
def continue_search(
    search_id: str, request: ContinuationRequest, context: ContextDependency, principal: Writer, once: OnceDependency
) -> Response:
    """Queue a new search that starts with all evaluations of an ended one.

    The ended search and its model stay unchanged.
    """

    def work(session: Session) -> StoredAnswer:
        row = service.continue_search(context, session, principal.owner_id, search_id, request)
        (document,) = service.search_documents(session, [row])
        return answer(202, document, Location=f"/v1/searches/{row.id}", Retry_After=_RETRY_AFTER)

    return once.run(work)


def _visible_search(search_id: str, context: ContextDependency, principal: Reader) -> str:
    with context.database.session(read_only=True) as session:  # closed before the stream begins
        return SearchRepository(session).get(principal.owner_id, search_id).id


@router.get(
    "/{search_id}/events",
    operation_id="follow_search",
    summary="Follow a search's events",
    response_class=EventSourceResponse,
    responses=problems(404, 422),
)
async def follow(
    search_id: Annotated[str, Depends(_visible_search)],
    context: ContextDependency,
    principal: Reader,
    last_event_id: Annotated[
        int, Header(ge=0, lt=2**31, description="Number of the last event received. Later events follow.")
    ] = 0,
) -> AsyncIterator[ServerSentEvent]:
    """Stream server-sent events: `evaluation` and `phase` as they happen, and `finished` at the end."""
    followed = Followed(principal.owner_id, search_id, last_event_id, principal.key_id)
    async for event in context.followers.follow(followed):
        yield event


@router.get(
    "/{search_id}/evaluations",
    operation_id="list_evaluations",
    summary="List a search's evaluations",
    responses=problems(404, 422),
)
def list_evaluations(
    search_id: str,
    principal: Reader,
    session: ReadSession,
    page: PageParameters,
    sort: Annotated[EvaluationOrder, Query(description="Order: by number, or by score, the best first.")] = "created",
) -> ListDocument[EvaluationDocument]:
    """List the evaluated configurations with their scores and statuses."""
    evaluations = EvaluationRepository(session)
    found = evaluations.page(principal.owner_id, search_id, sort=sort, limit=page.limit, cursor=page.cursor)
    items = [service.evaluation_document(row) for row in found.items]
    return ListDocument[EvaluationDocument](items=items, next_cursor=found.next_cursor)


@router.get(
    "/{search_id}/ensemble",
    operation_id="get_ensemble",
    summary="Get a search's ensemble",
    responses=problems(404, 409),
)
def get_ensemble(search_id: str, principal: Reader, session: ReadSession) -> EnsembleDocument:
    """Return the members with their weights, the score with its interval, the baseline and the calibration."""
    document = service.load_result(SearchRepository(session).get(principal.owner_id, search_id), "ensemble")
    return EnsembleDocument.model_validate(document)


@router.get(
    "/{search_id}/rules",
    operation_id="get_rules",
    summary="Get a search's rules",
    responses=problems(404, 409),
)
def get_rules(search_id: str, principal: Reader, session: ReadSession) -> RulesDocument:
    """Return the risk strata, and rules that describe which patients the model places in each."""
    document = service.load_result(SearchRepository(session).get(principal.owner_id, search_id), "rules")
    return RulesDocument.model_validate(document)


@router.get(
    "/{search_id}/decomposition",
    operation_id="get_decomposition",
    summary="Get a search's decomposition",
    responses=problems(404, 409),
)
def get_decomposition(search_id: str, principal: Reader, session: ReadSession) -> DecompositionDocument:
    """Return the most probable decomposition of the pipeline space into groups of similar algorithms."""
    document = service.load_result(SearchRepository(session).get(principal.owner_id, search_id), "decomposition")
    return DecompositionDocument.model_validate(document)


@router.get(
    "/{search_id}/report",
    operation_id="get_report",
    summary="Get a search's report",
    response_class=Response,
    responses=REPORT_RESPONSES | problems(404, 409, 422, 501),
)
def get_report(
    search_id: str,
    *,
    context: ContextDependency,
    principal: Reader,
    _turn: Turn,
    request: Request,
    form: AskedForm = None,
) -> Response:
    """Return the whole result: a self-contained HTML page, Markdown, or a DOCX file."""
    with context.database.session(read_only=True) as session:  # rendering may take seconds
        report = search_report(context, session, principal.owner_id, search_id)
    return respond_with_report(report, choose_format(form, request.headers.get("Accept", "")), "figures")


@router.get(
    "/{search_id}/figures/{name}",
    operation_id="get_figure",
    summary="Get a figure of a search's report",
    response_class=Response,
    responses=FIGURE_RESPONSES | problems(404, 409, 422, 501),
)
def get_figure(
    search_id: str,
    name: FigureName,
    *,
    context: ContextDependency,
    principal: Reader,
    _turn: Turn,
) -> Response:
    """Return a figure as SVG, or as PNG at 300 dpi."""
    with context.database.session(read_only=True) as session:
        report = search_report(context, session, principal.owner_id, search_id)
    return respond_with_figure(report, name)


@router.post(
    "/{search_id}/predictions",
    operation_id="predict_with_search",
    summary="Predict with a search's model",
    responses=problems(404, 409, 413, 415, 422),
)
def predict_with_search(
    search_id: str, request: PredictionRequest, principal: Predictor, _turn: Turn, context: ContextDependency
) -> PredictionDocument:
    """Return the same response as `predictions` of the model itself."""
    with context.database.session(read_only=True) as session:
        search = SearchRepository(session).get(principal.owner_id, search_id)
        if search.model_id is None:
            raise service.missing_result(search, "model")
        model = ModelRepository(session).get_briefly(principal.owner_id, search.model_id)
        check_usable(session, principal, model)
    return predict(context, model, request)
