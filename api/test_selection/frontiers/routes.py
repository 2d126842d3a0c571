"""Routes of `/v1/searches/{search_id}/test-frontiers`."""

from __future__ import annotations

from fastapi import APIRouter, Response
from sqlalchemy.orm import Session

from api.auth import Predictor, Reader, Writer
from api.computing import Turn
from api.dependencies import ContextDependency, ReadSession, WriteSession
from api.idempotency import OnceDependency, answer
from api.json_route import JsonRoute
from api.openapi import problems
from api.pagination import ListDocument, PageParameters
from api.test_selection.frontiers import service
from api.test_selection.frontiers.schemas import (
    FrontierDocument,
    FrontierRequest,
    MissingTestsDocument,
    MissingTestsRequest,
)
from autoprog.storage.repositories import FrontierRepository, StoredAnswer

router = APIRouter(
    prefix="/v1/searches/{search_id}/test-frontiers",
    tags=["searches"],
    responses=problems(401, 403, 429, 503, 507),
    route_class=JsonRoute,
)


@router.post(
    "",
    operation_id="create_test_frontier",
    summary="Create a test frontier",
    status_code=202,
    response_model=FrontierDocument,
    responses=problems(404, 409, 413, 415, 422, 429),
)
def create_frontier(
    search_id: str, request: FrontierRequest, context: ContextDependency, principal: Writer, once: OnceDependency
) -> Response:
    """Queue a cross-validation of the search's best pipeline on groups of tests, on all of them for up to ten tests."""

    def work(session: Session) -> StoredAnswer:
        document = service.create_frontier(context, session, principal.owner_id, search_id, request)
        location = f"/v1/searches/{search_id}/test-frontiers/{document.id}"
        return answer(202, document, Location=location, Retry_After="1")

    return once.run(work)


@router.get(
    "",
    operation_id="list_test_frontiers",
    summary="List a search's frontiers",
    responses=problems(404, 422),
)
def list_frontiers(
    search_id: str, principal: Reader, session: ReadSession, page: PageParameters
) -> ListDocument[FrontierDocument]:
    """List the frontiers, oldest first, without their results."""
    frontiers = FrontierRepository(session)
    found = frontiers.load_page(principal.owner_id, search_id, limit=page.limit, cursor=page.cursor)
    jobs = frontiers.load_jobs(found.items)
    items = [service.frontier_document(row, jobs[row.id], whole=False) for row in found.items if row.id in jobs]
    return ListDocument[FrontierDocument](items=items, next_cursor=found.next_cursor)


@router.get("/{frontier_id}", operation_id="get_test_frontier", summary="Get a frontier", responses=problems(404))
def get_frontier(search_id: str, frontier_id: str, principal: Reader, session: ReadSession) -> FrontierDocument:
    """Return the progress and, once the job is finished, all evaluated groups."""
    frontiers = FrontierRepository(session)
    row = frontiers.of(principal.owner_id, search_id, frontier_id)
    return service.frontier_document(row, frontiers.load_job(row))


@router.delete(
    "/{frontier_id}",
    operation_id="delete_test_frontier",
    summary="Delete a frontier",
    status_code=204,
    responses=problems(404),
)
def delete_frontier(search_id: str, frontier_id: str, principal: Writer, session: WriteSession) -> None:
    """Delete the frontier. A running job is abandoned."""
    FrontierRepository(session).delete(principal.owner_id, search_id, frontier_id)


@router.post(
    "/{frontier_id}/missing-tests",
    operation_id="rank_missing_tests",
    summary="Rank a patient's missing tests",
    responses=problems(404, 409, 413, 415, 422),
)
def rank_missing_tests(
    search_id: str,
    frontier_id: str,
    request: MissingTestsRequest,
    context: ContextDependency,
    principal: Predictor,
    _turn: Turn,
) -> MissingTestsDocument:
    """Rank the tests by expected change of the risk per cost.

    The risk is that of the search's model. Results of similar patients stand for the missing ones.
    """
    return service.rank_missing_tests(context, principal, search_id, frontier_id, request)
