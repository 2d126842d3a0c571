"""Routes of `/v1/cohorts`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Request, Response
from sqlalchemy.orm import Session

from api.auth import Reader, Writer
from api.cohorts import service
from api.cohorts.schemas import CohortDocument, MetaFeaturesDocument, OutlookDocument
from api.computing import Turn
from api.dependencies import ContextDependency, ReadSession
from api.idempotency import CollectingOnceDependency, answer
from api.openapi import multipart_body, problems
from api.pagination import ListDocument, PageParameters
from api.uploads import Upload, receive_upload
from autoprog.cohort import CohortSpec
from autoprog.search.settings import MetricName
from autoprog.storage.repositories import CohortRepository, StoredAnswer
from autoprog.storage.stored_files import remove_unreferenced

router = APIRouter(prefix="/v1/cohorts", tags=["cohorts"], responses=problems(401, 403, 429, 503, 507))

_BODY: dict[str, Any] = {"requestBody": {"required": True, "content": multipart_body({"spec": CohortSpec})}}


async def _upload(
    request: Request, context: ContextDependency, once: CollectingOnceDependency
) -> AsyncIterator[Upload]:
    with context.bodies.hold(request, once.owner_id):
        async with receive_upload(request, ("spec",), context.settings.upload_mb, once.faults) as upload:
            yield upload


@router.post(
    "",
    operation_id="create_cohort",
    summary="Create a cohort",
    status_code=201,
    response_model=CohortDocument,
    responses=problems(400, 409, 413, 415, 422),
    openapi_extra=_BODY,
)
def create_cohort(
    upload: Annotated[Upload, Depends(_upload, scope="function")],
    context: ContextDependency,
    principal: Writer,
    _turn: Turn,
    once: CollectingOnceDependency,
) -> Response:
    """Upload a file of patients as `file` and its description as `spec`. One response lists all faults of both."""

    def work(session: Session) -> StoredAnswer:
        row = service.create_cohort(context, session, principal.owner_id, upload)
        return answer(201, service.cohort_document(row), Location=f"/v1/cohorts/{row.id}")

    return once.run(work, upload.fingerprint)


@router.get("", operation_id="list_cohorts", summary="List cohorts, oldest first", responses=problems(422))
def list_cohorts(principal: Reader, session: ReadSession, page: PageParameters) -> ListDocument[CohortDocument]:
    """List the cohorts of the key's owner."""
    found = CohortRepository(session).page(principal.owner_id, limit=page.limit, cursor=page.cursor)
    items = [service.cohort_document(row) for row in found.items]
    return ListDocument[CohortDocument](items=items, next_cursor=found.next_cursor)


@router.get("/{cohort_id}", operation_id="get_cohort", summary="Get a cohort", responses=problems(404))
def get_cohort(cohort_id: str, principal: Reader, session: ReadSession) -> CohortDocument:
    """Return what was read from the file."""
    return service.cohort_document(CohortRepository(session).get(principal.owner_id, cohort_id))


@router.get(
    "/{cohort_id}/meta-features",
    operation_id="get_cohort_meta_features",
    summary="Get a cohort's meta-features",
    responses=problems(404),
)
def get_meta_features(
    cohort_id: str, context: ContextDependency, principal: Reader, _turn: Turn
) -> MetaFeaturesDocument:
    """Compute 40 statistical and 15 clinical meta-features from the stored cohort."""
    return service.meta_features_document(context, principal.owner_id, cohort_id)


@router.get(
    "/{cohort_id}/outlook",
    operation_id="get_cohort_outlook",
    summary="Get a cohort's outlook",
    responses=problems(404, 422),
)
def get_outlook(
    cohort_id: str,
    context: ContextDependency,
    principal: Reader,
    _turn: Turn,
    metric: Annotated[
        MetricName | None,
        Query(
            description="Metric of the search, `net_benefit` at its default thresholds. The default is that of the "
            "cohort's mode."
        ),
    ] = None,
) -> OutlookDocument:
    """Estimate the gain of machine learning over the simple model.

    The estimate uses similar cohorts that were searched before: your own, open ones, and those that other owners share.
    """
    return service.outlook_document(context, principal.owner_id, cohort_id, metric)


@router.delete(
    "/{cohort_id}",
    operation_id="delete_cohort",
    summary="Delete a cohort",
    status_code=204,
    responses=problems(404, 409, 422),
)
def delete_cohort(
    cohort_id: str,
    context: ContextDependency,
    principal: Writer,
    models: Annotated[
        Literal["keep", "delete"],
        Query(description="Whether models trained on the cohort, and those updated from them, are kept or deleted."),
    ] = "keep",
) -> None:
    """Delete the cohort, its searches, and everything learnt from individual patients.

    Refused while a search on the cohort runs, or while a stored test-selection problem waits for its classifiers.
    """
    with context.database.session() as session:
        freed = CohortRepository(session).delete(principal.owner_id, cohort_id, models=models)
    remove_unreferenced(context.database, context.files, freed)
