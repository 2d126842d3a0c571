"""`/problems`: the addresses that a problem's `type` refers to."""

from __future__ import annotations

from fastapi import APIRouter

from api.openapi import problems
from api.problems import PROBLEM_TYPES, Problem, problem
from autoprog.errors import NotFoundError

router = APIRouter(prefix="/problems", tags=["problems"])


@router.get(
    "/{code}",
    operation_id="get_problem_type",
    summary="Explain a problem type",
    response_model_exclude_none=True,
    responses=problems(404),
)
def get_problem_type(code: str) -> Problem:
    """Return the title and status of a problem type."""
    if code not in PROBLEM_TYPES:
        raise NotFoundError("there is no problem type of this name")
    return problem(code)
