"""Routes of sessions: opened on a model, then followed under `/v1/diagnosis/sessions`."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Path, Query, Response
from sqlalchemy.orm import Session

from api.auth import Reader, Writer
from api.computing import Turn
from api.dependencies import ContextDependency, ReadSession, WriteSession
from api.diagnosis.sessions import service
from api.diagnosis.sessions.schemas import (
    MAX_REMAINING,
    AnswerRequest,
    BatchDocument,
    SessionDocument,
    SessionRequest,
    SessionSummary,
)
from api.idempotency import OnceDependency, answer
from api.json_route import JsonRoute
from api.openapi import problems
from api.pagination import ListDocument, PageParameters
from autoprog.diagnosis import MAX_BATCH
from autoprog.storage.repositories import DiagnosisSessionRepository, StoredAnswer

router = APIRouter(
    prefix="/v1/diagnosis", tags=["diagnosis"], responses=problems(401, 403, 429, 503, 507), route_class=JsonRoute
)

Most = Annotated[
    int, Query(ge=0, le=MAX_REMAINING, alias="remaining", description="Maximum number of candidates to list.")
]


@router.post(
    "/models/{model_id}/sessions",
    operation_id="open_diagnosis_session",
    summary="Open a session",
    status_code=201,
    response_model=SessionDocument,
    responses=problems(404, 409, 413, 415, 422),
)
def open_session(
    model_id: str,
    context: ContextDependency,
    principal: Writer,
    _turn: Turn,
    once: OnceDependency,
    request: Annotated[SessionRequest | None, Body()] = None,
    most: Most = 1000,
) -> Response:
    """Return the first question. The model needs no tree."""
    asked = request or SessionRequest()

    def work(session: Session) -> StoredAnswer:
        row, opened = service.open_session(context, session, principal.owner_id, model_id, asked)
        document = service.session_document(row, opened, most)
        return answer(201, document, Location=f"/v1/diagnosis/sessions/{row.id}")

    return once.run(work)


@router.get(
    "/models/{model_id}/sessions",
    operation_id="list_diagnosis_sessions",
    summary="List a model's sessions",
    responses=problems(404, 422),
)
def list_sessions(
    model_id: str, principal: Reader, session: ReadSession, page: PageParameters
) -> ListDocument[SessionSummary]:
    """List the sessions, oldest first, with answers and status. Get a single session for the rest."""
    sessions = DiagnosisSessionRepository(session)
    found = sessions.load_page(principal.owner_id, model_id, limit=page.limit, cursor=page.cursor)
    items = [service.session_summary(row) for row in found.items]
    return ListDocument[SessionSummary](items=items, next_cursor=found.next_cursor)


@router.get(
    "/sessions/{session_id}",
    operation_id="get_diagnosis_session",
    summary="Get a session's state",
    responses=problems(404, 422),
)
def get_session(
    session_id: str, context: ContextDependency, principal: Reader, _turn: Turn, most: Most = 1000
) -> SessionDocument:
    """Return the next question, the remaining candidates, and the answers so far."""
    row, _, stands = service.resume_session(context, principal.owner_id, session_id)
    return service.session_document(row, stands, most)


@router.delete(
    "/sessions/{session_id}",
    operation_id="delete_diagnosis_session",
    summary="Delete a session",
    status_code=204,
    responses=problems(404),
)
def delete_session(session_id: str, principal: Writer, session: WriteSession) -> None:
    """Delete the session and its answers."""
    DiagnosisSessionRepository(session).delete(principal.owner_id, session_id)


@router.post(
    "/sessions/{session_id}/answers",
    operation_id="answer_diagnosis_query",
    summary="Answer a question",
    response_model=SessionDocument,
    responses=problems(404, 409, 413, 415, 422),
)
def give_answer(
    session_id: str,
    request: AnswerRequest,
    context: ContextDependency,
    principal: Writer,
    _turn: Turn,
    once: OnceDependency,
    most: Most = 1000,
) -> Response:
    """Send true, false, or null if the answer is not available. Of two simultaneous answers the second is refused."""

    def work(session: Session) -> StoredAnswer:
        row, stands = service.give_answer(context, session, principal.owner_id, session_id, request)
        return answer(200, service.session_document(row, stands, most))

    return once.run(work)


@router.get(
    "/sessions/{session_id}/batch",
    operation_id="batch_diagnosis_queries",
    summary="Get several questions at once",
    responses=problems(404, 409, 422),
)
def get_batch(
    session_id: str,
    context: ContextDependency,
    principal: Reader,
    _turn: Turn,
    size: Annotated[int, Query(ge=1, le=MAX_BATCH, description="Maximum number of questions.")] = 3,
) -> BatchDocument:
    """Return the next question and those that add most information. Send answers as volunteered, with their `test`."""
    return service.batch_document(context, principal.owner_id, session_id, size)


@router.delete(
    "/sessions/{session_id}/answers/{number}",
    operation_id="undo_diagnosis_answer",
    summary="Undo the last answer",
    status_code=204,
    responses=problems(404, 409, 422),
)
def undo_answer(
    session_id: str,
    number: Annotated[int, Path(description="Number of the last answer. Any other number is refused.")],
    context: ContextDependency,
    _turn: Turn,
    principal: Writer,
    session: WriteSession,
) -> None:
    """Remove the last answer. The session asks that question again."""
    service.undo_answer(context, session, principal.owner_id, session_id, number)
