"""Routes of `/v1/test-selection/problems/{problem_id}/rounds`."""

from __future__ import annotations

from fastapi import APIRouter, Response
from sqlalchemy.orm import Session

from api.auth import Reader, Writer
from api.dependencies import ContextDependency, ReadSession, WriteSession
from api.idempotency import OnceDependency, answer
from api.json_route import JsonRoute
from api.openapi import problems
from api.pagination import ListDocument, PageParameters
from api.test_selection.rounds import service
from api.test_selection.rounds.schemas import FeedbackRequest, RoundDocument
from autoprog.storage.repositories import (
    SelectionProblemRepository,
    SelectionRoundRepository,
    StoredAnswer,
)

_PATH = "/v1/test-selection/problems/{problem_id}/rounds"

router = APIRouter(
    prefix=_PATH, tags=["test selection"], responses=problems(401, 403, 429, 503, 507), route_class=JsonRoute
)


@router.post(
    "",
    operation_id="open_test_selection_round",
    summary="Open a round",
    status_code=201,
    response_model=RoundDocument,
    responses=problems(404, 409, 422),
)
def open_round(problem_id: str, context: ContextDependency, principal: Writer, once: OnceDependency) -> Response:
    """Choose the tests for the next patient. Earlier rounds may still lack their feedback."""

    def work(session: Session) -> StoredAnswer:
        document = service.open_round(context, session, principal.owner_id, problem_id)
        return answer(201, document, Location=f"/v1/test-selection/problems/{problem_id}/rounds/{document.id}")

    return once.run(work)


@router.get(
    "",
    operation_id="list_test_selection_rounds",
    summary="List rounds, oldest first",
    responses=problems(404, 422),
)
def list_rounds(
    problem_id: str, context: ContextDependency, principal: Reader, session: ReadSession, page: PageParameters
) -> ListDocument[RoundDocument]:
    """List the rounds of a problem, open and closed."""
    rounds = SelectionRoundRepository(session)
    found = rounds.load_page(principal.owner_id, problem_id, limit=page.limit, cursor=page.cursor)
    arms = context.live_problems.arms(SelectionProblemRepository(session).get(principal.owner_id, problem_id))
    items = [service.round_document(arms, row) for row in found.items]
    return ListDocument[RoundDocument](items=items, next_cursor=found.next_cursor)


@router.get("/{round_id}", operation_id="get_test_selection_round", summary="Get a round", responses=problems(404))
def get_round(
    problem_id: str, round_id: str, context: ContextDependency, principal: Reader, session: ReadSession
) -> RoundDocument:
    """Return the next test to order, the measurements and, once the round is closed, the prediction."""
    problem = SelectionProblemRepository(session).get(principal.owner_id, problem_id)
    row = SelectionRoundRepository(session).of(principal.owner_id, problem_id, round_id)
    return service.round_document(context.live_problems.arms(problem), row)


@router.delete(
    "/{round_id}",
    operation_id="delete_test_selection_round",
    summary="Delete an open round",
    status_code=204,
    responses=problems(404, 409),
)
def delete_round(problem_id: str, round_id: str, principal: Writer, session: WriteSession) -> None:
    """Delete a round without feedback. Its number is not used again. A closed round cannot be deleted."""
    SelectionRoundRepository(session).delete(principal.owner_id, problem_id, round_id)


@router.post(
    "/{round_id}/feedback",
    operation_id="give_test_selection_feedback",
    summary="Send a round's feedback",
    response_model=RoundDocument,
    responses=problems(404, 409, 413, 415, 422),
)
def give_feedback(
    problem_id: str,
    round_id: str,
    request: FeedbackRequest,
    context: ContextDependency,
    principal: Writer,
    once: OnceDependency,
) -> Response:
    """Return the prediction to act on, once the round is closed.

    Feedback may come in any order or late. A repeated one gets the same response and is counted once.
    """

    def work(session: Session) -> StoredAnswer:
        document = service.give_feedback(context, session, principal.owner_id, problem_id, round_id, request)
        return answer(200, document)

    return once.run(work)
