"""`/v1/models`."""

from __future__ import annotations

from fastapi import APIRouter, Depends

from api.auth import Predictor, Reader, Writer
from api.dependencies import ContextDependency, ReadSession
from api.models import service
from api.models.schemas import ModelDocument, PredictionDocument, PredictionRequest
from api.openapi import problems
from api.pagination import ListDocument, PageParameters
from api.uploads import require_json
from autoprog.storage.repositories import ModelRepository

router = APIRouter(prefix="/v1/models", tags=["models"], responses=problems(401, 403))


@router.get("", operation_id="list_models", summary="List models, oldest first", responses=problems(422))
def list_models(session: ReadSession, principal: Reader, page: PageParameters) -> ListDocument[ModelDocument]:
    """List the models of the key's owner."""
    found = ModelRepository(session).page(principal.owner_id, limit=page.limit, cursor=page.cursor)
    items = [service.model_document(row) for row in found.items]
    return ListDocument[ModelDocument](items=items, next_cursor=found.next_cursor)


@router.get("/{model_id}", operation_id="get_model", summary="Show a model", responses=problems(404))
def get_model(model_id: str, session: ReadSession, principal: Reader) -> ModelDocument:
    """Show what the model was trained on."""
    return service.model_document(ModelRepository(session).get(principal.owner_id, model_id))


@router.post(
    "/{model_id}/predictions",
    operation_id="predict_with_model",
    summary="Predict the risk of patients",
    dependencies=[Depends(require_json)],
    responses=problems(400, 404, 413, 415, 422),
)
def predict_with_model(
    model_id: str, request: PredictionRequest, principal: Predictor, context: ContextDependency
) -> PredictionDocument:
    """Give each patient's risk, stratum, matching rules, and what is unusual in them."""
    with context.database.session(read_only=True) as session:
        model = ModelRepository(session).get(principal.owner_id, model_id)
    return service.predict(context, model, request)


@router.delete(
    "/{model_id}", operation_id="delete_model", summary="Delete a model", status_code=204, responses=problems(404)
)
def delete_model(model_id: str, context: ContextDependency, principal: Writer) -> None:
    """Delete a model; its search stays, without one."""
    with context.database.session() as session:
        orphans = ModelRepository(session).delete(principal.owner_id, model_id)
    for file in orphans:
        context.files.delete(file)
