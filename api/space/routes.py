"""Route of `/v1/space`."""

from __future__ import annotations

from fastapi import APIRouter

from api.auth import Reader
from api.openapi import problems
from api.space.schemas import SpaceDocument
from api.space.service import space_document
from autoprog.space import Space

router = APIRouter(prefix="/v1/space", tags=["space"], responses=problems(401, 403, 429, 503, 507))


@router.get("", operation_id="get_space", summary="List the algorithms")
def get_space(_: Reader) -> SpaceDocument:
    """Return the algorithms that a search can choose from, including plug-ins, and what each accepts and costs."""
    return space_document(Space.full())
