"""Routes of `/v1/searches/{search_id}/explanation`."""

from __future__ import annotations

from fastapi import APIRouter, Response
from sqlalchemy.orm import Session

from api.auth import Reader, Writer
from api.dependencies import ContextDependency, ReadSession
from api.explanations import service
from api.explanations.schemas import ExplanationDocument
from api.idempotency import OnceDependency, answer
from api.openapi import problems
from autoprog.storage.repositories import StoredAnswer

router = APIRouter(
    prefix="/v1/searches/{search_id}/explanation", tags=["searches"], responses=problems(401, 403, 429, 503, 507)
)


@router.post(
    "",
    operation_id="request_explanation",
    summary="Explain a search's ensemble",
    status_code=202,
    response_model=ExplanationDocument,
    responses=problems(404, 409, 422, 429),
)
def request_explanation(
    search_id: str, context: ContextDependency, principal: Writer, once: OnceDependency
) -> Response:
    """Queue the refits that tell what the inputs are worth, unless that was done; a failed job is queued again."""

    def work(session: Session) -> StoredAnswer:
        document = service.request_explanation(context, session, principal.owner_id, search_id)
        return answer(202, document, Location=f"/v1/searches/{search_id}/explanation", Retry_After="1")

    return once.run(work)


@router.get("", operation_id="get_explanation", summary="Get a search's explanation", responses=problems(404))
def get_explanation(search_id: str, principal: Reader, session: ReadSession) -> ExplanationDocument:
    """Return importance and effects of the inputs and the learning curve, once they are computed."""
    return service.read_explanation(session, principal.owner_id, search_id)
