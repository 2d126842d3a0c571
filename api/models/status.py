"""Status of models: who approved or retired one, when and why, and which models may predict."""

from __future__ import annotations

from sqlalchemy.orm import Session

from api.auth import Principal
from api.models.schemas import PredictionPolicy, StatusChangeDocument, StatusChangeRequest
from autoprog.errors import ConflictError, Fault, InvalidInputError
from autoprog.storage.repositories import KeyRepository, ModelRepository, ModelStatusRepository
from autoprog.storage.tables import ModelRow, ModelStatusRow


def check_usable(session: Session, principal: Principal, model: ModelRow) -> None:
    """Raise ConflictError if the model is retired, or not approved where its owner asks for that."""
    if model.status == "retired":
        raise ConflictError("the model is retired: predict with the one that replaced it, or approve this one again")
    if model.status != "approved" and "approve" not in principal.scopes and approved_only(session, principal.owner_id):
        raise ConflictError("the model is a draft and its owner lets only approved models predict")


def approved_only(session: Session, owner_id: str) -> bool:
    """Check whether only approved models of an owner may predict."""
    return KeyRepository(session).owner(owner_id).approved_only


def change_status(
    session: Session, principal: Principal, model_id: str, request: StatusChangeRequest
) -> ModelStatusRow:
    """Change the status of a model and, in the same transaction, retire the one that it replaces."""
    # Raises NotFoundError, InvalidInputError and ConflictError.
    models, changes = ModelRepository(session), ModelStatusRepository(session)
    other = request.replaces
    if other == model_id or (other is not None and request.status != "approved"):
        raise InvalidInputError([Fault("/replaces", "another model, which is retired when this one is approved")])
    # Locked in one order: two callers who exchange the same models must not wait for each other.
    locked = {each: models.lock(principal.owner_id, each) for each in sorted({model_id, other or model_id})}
    model = locked[model_id]
    if model.status == request.status:
        raise ConflictError(f"the model is {_ADJECTIVE[request.status]} already")
    if other is not None and locked[other].status != "retired":
        note = f"replaced by model {model_id}"
        changes.change(locked[other], "retired", note=note, key_id=principal.key_id)
    return changes.change(model, request.status, note=request.note, key_id=principal.key_id)


_ADJECTIVE = {"draft": "a draft", "approved": "approved", "retired": "retired"}


def status_document(row: ModelStatusRow) -> StatusChangeDocument:
    """Return the document of a change."""
    return StatusChangeDocument(
        id=row.id, model_id=row.model_id, status=row.status, note=row.note, key_id=row.key_id, created_at=row.created_at
    )


def set_policy(session: Session, owner_id: str, policy: PredictionPolicy) -> None:
    """Set which models of an owner may predict."""
    KeyRepository(session).owner(owner_id).approved_only = policy.approved_only
    session.flush()
