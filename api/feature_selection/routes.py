"""Routes of `/v1/feature-selection/streams`."""

from __future__ import annotations

from fastapi import APIRouter, Response
from sqlalchemy.orm import Session

from api.auth import Reader, Writer
from api.computing import Turn
from api.dependencies import ReadSession, WriteSession
from api.feature_selection import service
from api.feature_selection.schemas import (
    ObservationDocument,
    ObservationRequest,
    SelectionDocument,
    StreamDocument,
    StreamRequest,
)
from api.idempotency import CollectingOnceDependency, OnceDependency, answer
from api.json_route import JsonRoute
from api.openapi import problems
from api.pagination import ListDocument, PageParameters
from autoprog.storage.repositories import FeatureSelectionRepository, FeatureStreamRepository, StoredAnswer

router = APIRouter(
    prefix="/v1/feature-selection/streams",
    tags=["feature selection"],
    responses=problems(401, 403, 429, 503, 507),
    route_class=JsonRoute,
)


@router.post(
    "",
    operation_id="create_feature_stream",
    summary="Create a feature stream",
    status_code=201,
    response_model=StreamDocument,
    responses=problems(409, 413, 415, 422),
)
def create_stream(request: StreamRequest, principal: Writer, once: CollectingOnceDependency) -> Response:
    """Send the features' names, the number of features to measure per patient, and the learning algorithm."""

    def work(session: Session) -> StoredAnswer:
        row = service.create_stream(session, principal.owner_id, request.beside(once.faults))
        return answer(201, service.stream_document(row), Location=f"/v1/feature-selection/streams/{row.id}")

    return once.run(work)


@router.get("", operation_id="list_feature_streams", summary="List streams, oldest first", responses=problems(422))
def list_streams(principal: Reader, session: ReadSession, page: PageParameters) -> ListDocument[StreamDocument]:
    """List the streams of the key's owner."""
    found = FeatureStreamRepository(session).page(principal.owner_id, limit=page.limit, cursor=page.cursor)
    items = [service.stream_document(row) for row in found.items]
    return ListDocument[StreamDocument](items=items, next_cursor=found.next_cursor)


@router.get("/{stream_id}", operation_id="get_feature_stream", summary="Get a stream", responses=problems(404))
def get_stream(stream_id: str, principal: Reader, session: ReadSession) -> StreamDocument:
    """Return the currently preferred features and the accuracy of the predictions so far."""
    return service.stream_document(FeatureStreamRepository(session).get(principal.owner_id, stream_id))


@router.delete(
    "/{stream_id}",
    operation_id="delete_feature_stream",
    summary="Delete a stream",
    status_code=204,
    responses=problems(404),
)
def delete_stream(stream_id: str, principal: Writer, session: WriteSession) -> None:
    """Delete the stream and its selections."""
    FeatureStreamRepository(session).delete(principal.owner_id, stream_id)


@router.post(
    "/{stream_id}/selections",
    operation_id="select_features",
    summary="Select features",
    status_code=201,
    response_model=SelectionDocument,
    responses=problems(404, 409, 422),
)
def create_selection(stream_id: str, principal: Writer, once: OnceDependency) -> Response:
    """Select the features to measure in the next patient. Earlier selections may still lack their observation."""

    def work(session: Session) -> StoredAnswer:
        row = service.select_features(session, principal.owner_id, stream_id)
        (document,) = service.selection_documents(session, principal.owner_id, stream_id, [row])
        location = f"/v1/feature-selection/streams/{stream_id}/selections/{row.id}"
        return answer(201, document, Location=location)

    return once.run(work)


@router.get(
    "/{stream_id}/selections",
    operation_id="list_feature_selections",
    summary="List selections, oldest first",
    responses=problems(404, 422),
)
def list_selections(
    stream_id: str, principal: Reader, session: ReadSession, page: PageParameters
) -> ListDocument[SelectionDocument]:
    """List the selections with their observations."""
    selections = FeatureSelectionRepository(session)
    found = selections.load_page(principal.owner_id, stream_id, limit=page.limit, cursor=page.cursor)
    items = service.selection_documents(session, principal.owner_id, stream_id, found.items)
    return ListDocument[SelectionDocument](items=items, next_cursor=found.next_cursor)


@router.get(
    "/{stream_id}/selections/{selection_id}",
    operation_id="get_feature_selection",
    summary="Get a selection",
    responses=problems(404),
)
def get_selection(stream_id: str, selection_id: str, principal: Reader, session: ReadSession) -> SelectionDocument:
    """Return the features to measure, and the patient's observation."""
    row = FeatureSelectionRepository(session).of(principal.owner_id, stream_id, selection_id)
    (document,) = service.selection_documents(session, principal.owner_id, stream_id, [row])
    return document


@router.delete(
    "/{stream_id}/selections/{selection_id}",
    operation_id="delete_feature_selection",
    summary="Delete a selection",
    status_code=204,
    responses=problems(404),
)
def delete_selection(stream_id: str, selection_id: str, principal: Writer, session: WriteSession) -> None:
    """Delete the selection. What was learnt from it stays."""
    FeatureSelectionRepository(session).delete(principal.owner_id, stream_id, selection_id)


@router.post(
    "/{stream_id}/observations",
    operation_id="observe_patient",
    summary="Send an observation",
    response_model=ObservationDocument,
    responses=problems(404, 409, 413, 415, 422),
)
def observe_patient(
    stream_id: str, request: ObservationRequest, principal: Writer, _turn: Turn, once: CollectingOnceDependency
) -> Response:
    """Predict the label from the selected features, then learn from it.

    Observations may come late. A repeated one gets the same response and is learnt once.
    """

    def work(session: Session) -> StoredAnswer:
        observed = service.observe_patient(session, principal.owner_id, stream_id, request.beside(once.faults))
        return answer(200, observed)

    return once.run(work)
