"""Routes of `/v1/patient-erasures`."""

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
from api.patient_erasures import service
from api.patient_erasures.schemas import PatientErasureBody, PatientErasureDocument, PatientErasureRequest
from autoprog.storage.files import StoredFile
from autoprog.storage.repositories import PatientErasureRepository, StoredAnswer
from autoprog.storage.stored_files import remove_unreferenced

router = APIRouter(
    prefix="/v1/patient-erasures",
    tags=["erasure"],
    responses=problems(401, 403, 429, 503, 507),
    route_class=JsonRoute,
)


@router.post(
    "",
    operation_id="erase_patient",
    summary="Erase a patient",
    status_code=201,
    response_model=PatientErasureDocument,
    responses=problems(409, 413, 415, 422),
)
def erase_patient(
    request: PatientErasureRequest,
    context: ContextDependency,
    principal: Writer,
    _turn: Turn,
    once: CollectingOnceDependency,
) -> Response:
    """Erase a patient from all cohorts with a column of identifiers, and record what was erased and what was kept.

    The cohorts stay under their identifiers without the patient. Searches on them are deleted, since they hold risks of
    every patient. Refused while such a search runs.
    """
    freed: list[StoredFile] = []

    def work(session: Session) -> StoredAnswer:
        row, files = service.erase(context, session, principal.owner_id, request.beside(once.faults))
        freed.extend(files)
        return answer(201, service.erasure_document(row), Location=f"/v1/patient-erasures/{row.id}")

    done = once.run(work)
    remove_unreferenced(context.database, context.files, freed)
    return done


@router.post(
    "/previews",
    operation_id="preview_patient_erasure",
    summary="Preview the erasure of a patient",
    responses=problems(409, 413, 415, 422),
)
def preview_erasure(
    request: PatientErasureRequest, context: ContextDependency, principal: Writer, _turn: Turn
) -> PatientErasureBody:
    """Return what an erasure would remove and keep, and change nothing."""
    return service.preview(context, principal.owner_id, request)


@router.get("", operation_id="list_patient_erasures", summary="List erasures, oldest first", responses=problems(422))
def list_erasures(
    principal: Reader, session: ReadSession, page: PageParameters
) -> ListDocument[PatientErasureDocument]:
    """List the erasures of the key's owner."""
    found = PatientErasureRepository(session).page(principal.owner_id, limit=page.limit, cursor=page.cursor)
    items = [service.erasure_document(row) for row in found.items]
    return ListDocument[PatientErasureDocument](items=items, next_cursor=found.next_cursor)


@router.get("/{erasure_id}", operation_id="get_patient_erasure", summary="Get an erasure", responses=problems(404))
def get_erasure(erasure_id: str, principal: Reader, session: ReadSession) -> PatientErasureDocument:
    """Return the record of an erasure. It names no patient."""
    return service.erasure_document(PatientErasureRepository(session).get(principal.owner_id, erasure_id))
