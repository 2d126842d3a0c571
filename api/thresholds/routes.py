"""Routes of `/v1/threshold-learners`."""

from __future__ import annotations

from fastapi import APIRouter, Response
from sqlalchemy.orm import Session

from api.auth import Reader, Writer
from api.computing import Turn
from api.dependencies import ContextDependency, ReadSession, WriteSession
from api.idempotency import CollectingOnceDependency, answer
from api.json_route import JsonRoute
from api.openapi import problems
from api.pagination import ListDocument, PageParameters
from api.thresholds import service
from api.thresholds.schemas import (
    CutCasesDocument,
    CutCasesRequest,
    ThresholdLearnerDocument,
    ThresholdLearnerRequest,
    ThresholdLearnerSummary,
)
from autoprog.storage.repositories import StoredAnswer, ThresholdLearnerRepository

router = APIRouter(
    prefix="/v1/threshold-learners",
    tags=["thresholds"],
    responses=problems(401, 403, 429, 503, 507),
    route_class=JsonRoute,
)


@router.post(
    "",
    operation_id="create_threshold_learner",
    summary="Create a threshold learner",
    status_code=201,
    response_model=ThresholdLearnerDocument,
    responses=problems(409, 413, 415, 422),
)
def create_learner(
    request: ThresholdLearnerRequest, principal: Writer, _turn: Turn, once: CollectingOnceDependency
) -> Response:
    """Send the measurements, the candidate thresholds of each, and the names of the outcomes."""

    def work(session: Session) -> StoredAnswer:
        made = service.create_learner(session, principal.owner_id, request.beside(once.faults))
        return answer(201, made, Location=f"/v1/threshold-learners/{made.id}")

    return once.run(work)


@router.get("", operation_id="list_threshold_learners", summary="List learners, oldest first", responses=problems(422))
def list_learners(
    principal: Reader, session: ReadSession, page: PageParameters
) -> ListDocument[ThresholdLearnerSummary]:
    """List the learners of the key's owner. Get a single learner for its thresholds."""
    found = ThresholdLearnerRepository(session).page(principal.owner_id, limit=page.limit, cursor=page.cursor)
    items = [service.learner_summary(row) for row in found.items]
    return ListDocument[ThresholdLearnerSummary](items=items, next_cursor=found.next_cursor)


@router.get(
    "/{learner_id}",
    operation_id="get_threshold_learner",
    summary="Get a learner's thresholds",
    responses=problems(404),
)
def get_learner(
    learner_id: str, context: ContextDependency, principal: Reader, _turn: Turn
) -> ThresholdLearnerDocument:
    """Return each measurement's most probable best threshold, its interval, and the information that it gives."""
    return service.load_learner(context, principal.owner_id, learner_id)


@router.delete(
    "/{learner_id}",
    operation_id="delete_threshold_learner",
    summary="Delete a learner",
    status_code=204,
    responses=problems(404),
)
def delete_learner(learner_id: str, principal: Writer, session: WriteSession) -> None:
    """Delete the learner and everything that it has learnt."""
    ThresholdLearnerRepository(session).delete(principal.owner_id, learner_id)


@router.post(
    "/{learner_id}/cases",
    operation_id="teach_threshold_learner",
    summary="Learn from labelled cases",
    response_model=CutCasesDocument,
    responses=problems(404, 409, 413, 415, 422),
)
def study_cases(
    learner_id: str,
    request: CutCasesRequest,
    context: ContextDependency,
    principal: Writer,
    _turn: Turn,
    once: CollectingOnceDependency,
) -> Response:
    """Query one measurement of each case, predict its label by that threshold, then learn from the true label."""

    def work(session: Session) -> StoredAnswer:
        studied = service.study_cases(context, session, principal.owner_id, learner_id, request.beside(once.faults))
        return answer(200, studied)

    return once.run(work)
