"""Routes of `/v1/diagnosis/models` and of the models' trees."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Header, Query, Request, Response
from sqlalchemy.orm import Session

from api.auth import Reader, Writer
from api.computing import Turn
from api.dependencies import ContextDependency, ReadSession
from api.diagnosis.models import service, trees
from api.diagnosis.models.schemas import (
    CohortModelRequest,
    DiagnosisModelDocument,
    DiagnosisModelRequest,
    DiagnosisModelSpec,
    OptimumDocument,
    TreeDocument,
)
from api.idempotency import CollectingOnceDependency, OnceDependency, answer
from api.openapi import json_body, multipart_body, problems, reference
from api.pagination import ListDocument, PageParameters
from api.uploads import Upload, receive_body
from autoprog.diagnosis import Objective
from autoprog.storage.repositories import DiagnosisModelRepository, StoredAnswer
from autoprog.storage.stored_files import remove_unreferenced

router = APIRouter(prefix="/v1/diagnosis/models", tags=["diagnosis"], responses=problems(401, 403, 429, 503, 507))

Format = Literal["json", "svg", "text"]

_RETRY_AFTER = "1"
_SVG, _TEXT = "image/svg+xml", "text/plain"
_MULTIPART = multipart_body({"spec": DiagnosisModelSpec})
_JSON = json_body({"oneOf": [reference(DiagnosisModelRequest), reference(CohortModelRequest)]})
_BODY: dict[str, Any] = {"requestBody": {"required": True, "content": _JSON | _MULTIPART}}
_PICTURES: dict[int | str, dict[str, Any]] = {
    200: {"content": {_SVG: {"schema": {"type": "string"}}, _TEXT: {"schema": {"type": "string"}}}}
}


async def _body(request: Request, context: ContextDependency, once: CollectingOnceDependency) -> AsyncIterator[Upload]:
    with context.bodies.hold(request, once.owner_id):
        async with receive_body(request, ("spec",), context.settings.upload_mb, once.faults) as upload:
            yield upload


@router.post(
    "",
    operation_id="create_diagnosis_model",
    summary="Create a diagnosis model",
    status_code=201,
    response_model=DiagnosisModelDocument,
    responses=problems(400, 404, 409, 413, 415, 422),
    openapi_extra=_BODY,
)
def create_model(
    body: Annotated[Upload, Depends(_body, scope="function")],
    context: ContextDependency,
    principal: Writer,
    _turn: Turn,
    once: CollectingOnceDependency,
) -> Response:
    """Send the responses as JSON (up to 10^6), as a file, or from a cohort. One response lists all faults."""

    def work(session: Session) -> StoredAnswer:
        row = service.create_model(context, session, principal.owner_id, body)
        (document,) = service.model_documents(session, [row])
        return answer(201, document, Location=f"/v1/diagnosis/models/{row.id}")

    return once.run(work, body.fingerprint)


@router.get("", operation_id="list_diagnosis_models", summary="List models, oldest first", responses=problems(422))
def list_models(principal: Reader, session: ReadSession, page: PageParameters) -> ListDocument[DiagnosisModelDocument]:
    """List the diagnosis models of the key's owner."""
    found = DiagnosisModelRepository(session).page(principal.owner_id, limit=page.limit, cursor=page.cursor)
    items = service.model_documents(session, found.items)
    return ListDocument[DiagnosisModelDocument](items=items, next_cursor=found.next_cursor)


@router.get("/{model_id}", operation_id="get_diagnosis_model", summary="Get a model", responses=problems(404))
def get_model(model_id: str, principal: Reader, session: ReadSession) -> DiagnosisModelDocument:
    """Return sizes, objects that no question can tell apart, costs, and the tree's status."""
    row = DiagnosisModelRepository(session).get(principal.owner_id, model_id)
    return service.model_documents(session, [row])[0]


@router.delete(
    "/{model_id}",
    operation_id="delete_diagnosis_model",
    summary="Delete a model",
    status_code=204,
    responses=problems(404),
)
def delete_model(model_id: str, context: ContextDependency, principal: Writer) -> None:
    """Delete the model with its tree and sessions. A running build of its tree is abandoned."""
    with context.database.session() as session:
        freed = DiagnosisModelRepository(session).delete(principal.owner_id, model_id)
    remove_unreferenced(context.database, context.files, freed)


@router.post(
    "/{model_id}/tree",
    operation_id="build_diagnosis_tree",
    summary="Build a model's tree",
    status_code=202,
    response_model=DiagnosisModelDocument,
    responses=problems(404, 409, 422, 429)
    | {200: {"model": DiagnosisModelDocument, "description": "The tree is already built."}},
)
def build_tree(
    model_id: str, context: ContextDependency, principal: Writer, _turn: Turn, once: OnceDependency
) -> Response:
    """Queue the build, for models of more than 10^7 responses. The model's `tree.status` reports its progress."""

    def work(session: Session) -> StoredAnswer:
        row = trees.request_tree(context, session, principal.owner_id, model_id)
        (document,) = service.model_documents(session, [row])
        if row.tree is not None:
            return answer(200, document, Location=f"/v1/diagnosis/models/{row.id}/tree")
        return answer(202, document, Location=f"/v1/diagnosis/models/{row.id}", Retry_After=_RETRY_AFTER)

    return once.run(work)


def _format(
    accept: Annotated[str, Header(include_in_schema=False)] = "",
    how: Annotated[
        Format | None, Query(alias="format", description="Output format. It overrides the `Accept` header.")
    ] = None,
) -> Format:
    """Return the requested format, or the first media type that the client accepts and the server has."""
    if how is not None:
        return how
    for item in accept.split(","):
        match item.partition(";")[0].strip().lower():
            case "image/svg+xml":
                return "svg"
            case "text/plain":
                return "text"
            case "application/json" | "application/*" | "*/*":
                return "json"
    return "json"


@router.get(
    "/{model_id}/tree",
    operation_id="get_diagnosis_tree",
    summary="Get a model's tree",
    response_model=TreeDocument,
    responses=problems(404, 409, 422) | _PICTURES,
)
def get_tree(
    model_id: str,
    context: ContextDependency,
    principal: Reader,
    _turn: Turn,
    wanted: Annotated[Format, Depends(_format)],
    node: Annotated[int, Query(ge=0, description="Root of the part to return.")] = 0,
    depth: Annotated[
        int | None, Query(ge=0, description="Number of levels below the root. The default is as many as fit.")
    ] = None,
) -> TreeDocument | Response:
    """Return the tree, or a drawing of it as SVG or text.

    Nodes are in the order of their numbers: questions with two children, and leaves with the identified group.
    """
    row, tree = trees.load_tree(context, principal.owner_id, model_id)
    if wanted == "json":
        return trees.tree_document(row, tree, node, depth)
    picture = trees.draw_tree(tree, wanted, node, depth)
    if wanted == "text":
        return Response(picture, media_type=_TEXT)
    # A browser that opens the image by itself must run nothing in it.
    return Response(
        picture,
        media_type=_SVG,
        headers={"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"},
    )


@router.get(
    "/{model_id}/optimum",
    operation_id="get_optimal_diagnosis_tree",
    summary="Get the optimal tree",
    responses=problems(404, 409, 413, 422),
)
def get_optimum(
    model_id: str,
    context: ContextDependency,
    principal: Reader,
    _turn: Turn,
    objective: Annotated[
        Objective | None,
        Query(description="Cost to minimise. The default follows from the model's `exponential_cost_base`."),
    ] = None,
) -> OptimumDocument:
    """Search all trees of a model with few distinct objects. Compare the best cost with that of the model's tree."""
    return trees.optimum_document(context, principal.owner_id, model_id, objective)
