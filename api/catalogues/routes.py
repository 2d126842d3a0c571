"""Routes of `/v1/test-catalogues`."""

from __future__ import annotations

from fastapi import APIRouter, Response
from sqlalchemy.orm import Session

from api.auth import Reader, Writer
from api.catalogues import service
from api.catalogues.schemas import CatalogueDocument, CatalogueRequest
from api.dependencies import ReadSession, WriteSession
from api.idempotency import CollectingOnceDependency, answer
from api.json_route import JsonRoute
from api.openapi import problems
from api.pagination import ListDocument, PageParameters
from autoprog.storage.repositories import CatalogueRepository, StoredAnswer

router = APIRouter(
    prefix="/v1/test-catalogues",
    tags=["test catalogues"],
    responses=problems(401, 403, 429, 503, 507),
    route_class=JsonRoute,
)


@router.post(
    "",
    operation_id="create_test_catalogue",
    summary="Create a catalogue of tests",
    status_code=201,
    response_model=CatalogueDocument,
    responses=problems(409, 413, 415, 422),
)
def create_catalogue(request: CatalogueRequest, principal: Writer, once: CollectingOnceDependency) -> Response:
    """Send a hospital's tests once, for test-selection problems, test frontiers and sessions of diagnosis."""

    def work(session: Session) -> StoredAnswer:
        row = service.create_catalogue(session, principal.owner_id, request.beside(once.faults))
        return answer(201, service.catalogue_document(row), Location=f"/v1/test-catalogues/{row.id}")

    return once.run(work)


@router.get("", operation_id="list_test_catalogues", summary="List catalogues, oldest first", responses=problems(422))
def list_catalogues(principal: Reader, session: ReadSession, page: PageParameters) -> ListDocument[CatalogueDocument]:
    """List the catalogues of the key's owner."""
    found = CatalogueRepository(session).page(principal.owner_id, limit=page.limit, cursor=page.cursor)
    items = [service.catalogue_document(row) for row in found.items]
    return ListDocument[CatalogueDocument](items=items, next_cursor=found.next_cursor)


@router.get("/{catalogue_id}", operation_id="get_test_catalogue", summary="Get a catalogue", responses=problems(404))
def get_catalogue(catalogue_id: str, principal: Reader, session: ReadSession) -> CatalogueDocument:
    """Return the catalogue's tests."""
    return service.catalogue_document(CatalogueRepository(session).get(principal.owner_id, catalogue_id))


@router.delete(
    "/{catalogue_id}",
    operation_id="delete_test_catalogue",
    summary="Delete a catalogue",
    status_code=204,
    responses=problems(404),
)
def delete_catalogue(catalogue_id: str, principal: Writer, session: WriteSession) -> None:
    """Delete the catalogue. Problems, frontiers and sessions that were made with it stay as they are."""
    CatalogueRepository(session).delete(principal.owner_id, catalogue_id)
