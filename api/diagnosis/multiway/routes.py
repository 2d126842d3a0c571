"""The route of `/v1/diagnosis/multiway-questions`."""

from __future__ import annotations

from fastapi import APIRouter

from api.auth import Predictor
from api.computing import Turn
from api.diagnosis.multiway import service
from api.diagnosis.multiway.schemas import MultiwayDocument, MultiwayRequest
from api.json_route import JsonRoute
from api.openapi import problems

router = APIRouter(
    prefix="/v1/diagnosis/multiway-questions",
    tags=["diagnosis"],
    responses=problems(401, 403, 429, 503),
    route_class=JsonRoute,
)


@router.post(
    "",
    operation_id="find_multiway_question",
    summary="Find the next question with several answers",
    responses=problems(413, 415, 422),
)
def find_question(request: MultiwayRequest, _principal: Predictor, _turn: Turn) -> MultiwayDocument:
    """Send a model whose queries have any number of answers, and a patient's answers so far. Nothing is stored."""
    return service.find_question(request)
