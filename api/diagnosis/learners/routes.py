"""Routes of `/v1/diagnosis/learners`."""

from __future__ import annotations

from fastapi import APIRouter, Response
from sqlalchemy.orm import Session

from api.auth import Reader, Writer
from api.computing import Turn
from api.dependencies import ContextDependency, ReadSession, WriteSession
from api.diagnosis.learners import service
from api.diagnosis.learners.schemas import (
    CasesDocument,
    CasesRequest,
    LearnerDocument,
    LearnerRequest,
    LearntModelRequest,
)
from api.diagnosis.models.schemas import DiagnosisModelDocument
from api.diagnosis.models.service import model_documents
from api.idempotency import OnceDependency, answer
from api.json_route import JsonRoute
from api.openapi import problems
from api.pagination import ListDocument, PageParameters
from autoprog.storage.repositories import DiagnosisLearnerRepository, StoredAnswer

router = APIRouter(
    prefix="/v1/diagnosis/learners",
    tags=["diagnosis"],
    responses=problems(401, 403, 429, 503, 507),
    route_class=JsonRoute,
)


@router.post(
    "",
    operation_id="create_diagnosis_learner",
    summary="Create a diagnosis learner",
    status_code=201,
    response_model=LearnerDocument,
    responses=problems(409, 413, 415, 422),
)
def create_learner(request: LearnerRequest, principal: Writer, once: OnceDependency) -> Response:
    """Send the findings, each with its candidate thresholds, and the labels."""

    def work(session: Session) -> StoredAnswer:
        row = service.create_learner(session, principal.owner_id, request)
        return answer(201, service.learner_document(row), Location=f"/v1/diagnosis/learners/{row.id}")

    return once.run(work)


@router.get("", operation_id="list_diagnosis_learners", summary="List learners, oldest first", responses=problems(422))
def list_learners(principal: Reader, session: ReadSession, page: PageParameters) -> ListDocument[LearnerDocument]:
    """List the learners of the key's owner."""
    found = DiagnosisLearnerRepository(session).page(principal.owner_id, limit=page.limit, cursor=page.cursor)
    items = [service.learner_document(row) for row in found.items]
    return ListDocument[LearnerDocument](items=items, next_cursor=found.next_cursor)


@router.get("/{learner_id}", operation_id="get_diagnosis_learner", summary="Get a learner", responses=problems(404))
def get_learner(learner_id: str, principal: Reader, session: ReadSession) -> LearnerDocument:
    """Return the number of cases per label and the currently preferred thresholds."""
    return service.learner_document(DiagnosisLearnerRepository(session).get(principal.owner_id, learner_id))


@router.delete(
    "/{learner_id}",
    operation_id="delete_diagnosis_learner",
    summary="Delete a learner",
    status_code=204,
    responses=problems(404),
)
def delete_learner(learner_id: str, principal: Writer, session: WriteSession) -> None:
    """Delete the learner. Models made from it stay."""
    DiagnosisLearnerRepository(session).delete(principal.owner_id, learner_id)


@router.post(
    "/{learner_id}/cases",
    operation_id="teach_diagnosis_learner",
    summary="Learn from labelled cases",
    response_model=CasesDocument,
    responses=problems(404, 409, 413, 415, 422),
)
def study_cases(
    learner_id: str,
    request: CasesRequest,
    context: ContextDependency,
    principal: Writer,
    _turn: Turn,
    once: OnceDependency,
) -> Response:
    """For each case, ask for the most informative findings, predict the label, then learn from the true label."""

    def work(session: Session) -> StoredAnswer:
        return answer(200, service.study_cases(context, session, principal.owner_id, learner_id, request))

    return once.run(work)


@router.post(
    "/{learner_id}/models",
    operation_id="create_learnt_diagnosis_model",
    summary="Create a learnt model",
    status_code=201,
    response_model=DiagnosisModelDocument,
    responses=problems(404, 409, 413, 415, 422),
)
def create_model(
    learner_id: str,
    request: LearntModelRequest,
    context: ContextDependency,
    principal: Writer,
    _turn: Turn,
    once: OnceDependency,
) -> Response:
    """Create a separate diagnosis model. Its sessions weigh answers by the learnt error rates."""

    def work(session: Session) -> StoredAnswer:
        row = service.create_learnt_model(context, session, principal.owner_id, learner_id, request)
        (document,) = model_documents(session, [row])
        return answer(201, document, Location=f"/v1/diagnosis/models/{row.id}")

    return once.run(work)
