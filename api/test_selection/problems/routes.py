"""Routes of `/v1/test-selection/problems`."""

from __future__ import annotations

from fastapi import APIRouter, Response
from sqlalchemy.orm import Session

from api.auth import Reader, Writer
from api.computing import Turn
from api.dependencies import ContextDependency, ReadSession
from api.idempotency import CollectingOnceDependency, answer
from api.json_route import JsonRoute
from api.openapi import problems
from api.pagination import ListDocument, PageParameters
from api.test_selection.problems import service
from api.test_selection.problems.schemas import (
    DisagreementDocument,
    ProblemDocument,
    ProblemRequest,
    ProblemSummary,
)
from autoprog.storage.repositories import SelectionProblemRepository, StoredAnswer
from autoprog.storage.stored_files import remove_unreferenced

router = APIRouter(
    prefix="/v1/test-selection/problems",
    tags=["test selection"],
    responses=problems(401, 403, 429, 503, 507),
    route_class=JsonRoute,
)


@router.post(
    "",
    operation_id="create_test_selection_problem",
    summary="Create a test-selection problem",
    status_code=201,
    response_model=ProblemDocument,
    responses=problems(404, 409, 413, 415, 422, 429)
    | {
        202: {
            "model": ProblemDocument,
            "description": "The classifiers are being trained. `status` tells when they are ready.",
        }
    },
)
def create_problem(
    request: ProblemRequest, context: ContextDependency, principal: Writer, _turn: Turn, once: CollectingOnceDependency
) -> Response:
    """Send tests with their costs. With a cohort, a classifier is trained per arm, and rounds take measurements."""

    def work(session: Session) -> StoredAnswer:
        row = service.create_problem(context, session, principal.owner_id, request.beside(once.faults))
        document = service.problem_document(context, session, row)
        location = f"/v1/test-selection/problems/{row.id}"
        if document.status == "ready":
            return answer(201, document, Location=location)
        return answer(202, document, Location=location, Retry_After="1")

    return once.run(work)


@router.get(
    "", operation_id="list_test_selection_problems", summary="List problems, oldest first", responses=problems(422)
)
def list_problems(principal: Reader, session: ReadSession, page: PageParameters) -> ListDocument[ProblemSummary]:
    """List the problems of the key's owner. Get a single problem for its arms."""
    found = SelectionProblemRepository(session).page(principal.owner_id, limit=page.limit, cursor=page.cursor)
    items = service.problem_summaries(session, found.items)
    return ListDocument[ProblemSummary](items=items, next_cursor=found.next_cursor)


@router.get(
    "/{problem_id}",
    operation_id="get_test_selection_problem",
    summary="Get a problem",
    responses=problems(404),
)
def get_problem(
    problem_id: str, context: ContextDependency, principal: Reader, session: ReadSession
) -> ProblemDocument:
    """Return how often each arm was chosen, how often arms disagree, and the evidence for weak dominance."""
    row = SelectionProblemRepository(session).get(principal.owner_id, problem_id)
    return service.problem_document(context, session, row)


@router.get(
    "/{problem_id}/disagreements",
    operation_id="list_test_selection_disagreements",
    summary="List disagreements between arms",
    responses=problems(404, 422),
)
def list_disagreements(
    problem_id: str, context: ContextDependency, principal: Reader, session: ReadSession, page: PageParameters
) -> ListDocument[DisagreementDocument]:
    """List how often the arms of each pair disagree. Ten tests as subsets have half a million pairs."""
    row = SelectionProblemRepository(session).get(principal.owner_id, problem_id)
    live = context.live_problems.current(session, row)
    found = service.page_of_disagreements(live, page.limit, page.cursor)
    return ListDocument[DisagreementDocument](items=list(found.items), next_cursor=found.next_cursor)


@router.delete(
    "/{problem_id}",
    operation_id="delete_test_selection_problem",
    summary="Delete a problem",
    status_code=204,
    responses=problems(404),
)
def delete_problem(problem_id: str, context: ContextDependency, principal: Writer) -> None:
    """Delete the problem with its rounds, replays and classifiers. A running training is abandoned."""
    with context.database.session() as session:
        freed = SelectionProblemRepository(session).delete(principal.owner_id, problem_id)
    remove_unreferenced(context.database, context.files, freed)
