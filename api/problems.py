"""Every failure as `application/problem+json` (RFC 9457)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from autoprog.cohort.messages import HALF_A_PAIR, strip_key_mark
from autoprog.errors import AutoprogError, Fault, InvalidInputError

MEDIA_TYPE = "application/problem+json"

_MAX_FAULTS = 200
_HEADERS: Mapping[int, Mapping[str, str]] = {
    HTTPStatus.UNAUTHORIZED: {"WWW-Authenticate": "Bearer"},
    HTTPStatus.SERVICE_UNAVAILABLE: {"Retry-After": "5"},
}


class UnauthorizedError(AutoprogError):
    """No valid key or token was sent."""

    code = "unauthorized"


class ForbiddenError(AutoprogError):
    """The key, the host or the origin of the request does not allow this."""

    code = "forbidden"


class ProviderUnavailableError(AutoprogError):
    """The identity provider cannot be reached, or its answer cannot be used."""

    code = "provider-unavailable"


class QueueFullError(AutoprogError):
    """Too much was asked for, or is waiting already; the same request may succeed later."""

    code = "too-many-requests"

    # A runner takes the next search in minutes, not seconds.
    def __init__(self, detail: str, *, retry_after_s: int = 60) -> None:
        super().__init__(detail)
        self.retry_after_s = retry_after_s


@dataclass(frozen=True, slots=True)
class ProblemType:
    """What all problems of one type share."""

    status: int
    title: str
    detail: str | None = None  # replaces the error's own text where that could reveal how the server is built


PROBLEM_TYPES: dict[str, ProblemType] = {
    "bad-request": ProblemType(400, "The request cannot be read"),
    "unauthorized": ProblemType(401, "A valid API key is needed"),
    "forbidden": ProblemType(403, "This is not allowed"),
    "not-found": ProblemType(404, "There is no such resource"),
    "method-not-allowed": ProblemType(405, "This resource does not take that method"),
    "conflict": ProblemType(409, "The resource is in a state that does not allow this"),
    # 412 and 428 are reserved: no route takes a condition yet.
    "precondition-failed": ProblemType(412, "The resource is no longer as the request takes it to be"),
    "too-large": ProblemType(413, "What was sent exceeds a limit of this server"),
    "unsupported-media": ProblemType(415, "The content is of a kind that cannot be read"),
    "invalid-input": ProblemType(422, "What was sent cannot be used"),
    "search-failed": ProblemType(422, "The search ended without a model"),
    "job-failed": ProblemType(422, "The job ended without a result"),
    "precondition-required": ProblemType(428, "The request must say in which state it takes the resource to be"),
    "too-many-requests": ProblemType(429, "Too much was asked for, or is waiting already"),
    "internal": ProblemType(500, "Something went wrong on the server", "The fault is recorded in the server's log."),
    "artifact": ProblemType(500, "A stored file cannot be used", "The stored file is missing or was altered."),
    "engine-unavailable": ProblemType(503, "No worker can be reached"),
    "store-unavailable": ProblemType(503, "The database cannot be used", "It is away or too busy; try again shortly."),
    "provider-unavailable": ProblemType(503, "The identity provider cannot be reached"),
    "storage-full": ProblemType(
        507, "There is no room to store this", "The operator has to make room; try again then."
    ),
    "missing-package": ProblemType(501, "The server lacks a package that this needs"),
    "not-ready": ProblemType(503, "The server is not ready"),
}


class FaultDocument(BaseModel):
    """One fault of a request."""

    pointer: str = Field(description="JSON pointer (RFC 6901) to the fault.", examples=["/spec/outcome/column"])
    detail: str
    values: list[str] | None = Field(None, description="Values of your file that show the fault, quoted.")


class Problem(BaseModel):
    """A failed request (RFC 9457)."""

    type: str = Field(description="Stable address of the problem type.", examples=["/problems/not-found"])
    title: str
    status: int
    detail: str | None = None
    instance: str | None = Field(None, description="Path of the request.")
    errors: list[FaultDocument] | None = Field(None, description="All faults, for status 422.")


def problem(
    code: str, detail: str | None = None, *, faults: Sequence[Fault] = (), instance: str | None = None
) -> Problem:
    """Describe a failure; an unknown code becomes `internal`."""
    code = code if code in PROBLEM_TYPES else "internal"
    kind = PROBLEM_TYPES[code]
    return Problem(
        type=f"/problems/{code}",
        title=kind.title,
        status=kind.status,
        detail=kind.detail or detail,
        instance=instance,
        errors=[
            FaultDocument(pointer=_encodable(f.pointer), detail=_encodable(f.detail), values=list(f.values) or None)
            for f in faults
        ]
        or None,
    )


def build_problem(error: Exception, instance: str | None = None) -> Problem:
    """Describe an exception; one without a code of its own becomes `internal`."""
    if isinstance(error, InvalidInputError):
        count = len(error.faults)
        detail = "1 fault was found." if count == 1 else f"{count:,} faults were found."
        if count > _MAX_FAULTS:
            detail = f"{count:,} faults were found; the first {_MAX_FAULTS} are named."
        return problem(error.code, detail, faults=error.faults[:_MAX_FAULTS], instance=instance)
    code = error.code if isinstance(error, AutoprogError) else "internal"
    return problem(code, str(error), instance=instance)


class ProblemResponse(JSONResponse):
    """The response that carries a problem."""

    media_type = MEDIA_TYPE

    def __init__(self, document: Problem, headers: dict[str, str] | None = None) -> None:
        content = document.model_dump(mode="json", exclude_none=True)
        extra = _HEADERS.get(document.status, {})
        super().__init__(content, status_code=document.status, headers={**extra, **(headers or {})})


def faults_of_validation(errors: Sequence[Mapping[str, Any]], prefix: str = "") -> tuple[Fault, ...]:
    """Turn pydantic's errors into faults with JSON pointers below `prefix`; the rejected values are never repeated."""
    return tuple(Fault(prefix + to_pointer(strip_key_mark(tuple(e["loc"]))), _sentence(e)) for e in errors)


def to_pointer(location: Sequence[str | int]) -> str:
    """Return the JSON pointer through keys and indices."""
    parts = [_encodable(str(part)) for part in location]
    return "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in parts)


def _encodable(text: str) -> str:
    """Replace halves of surrogate pairs: JSON can spell one within a name, and no response could hold it."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _sentence(error: Mapping[str, Any]) -> str:
    if error["type"] == "string_unicode":
        return HALF_A_PAIR
    if error["type"] == "value_error":
        return str(error["msg"]).removeprefix("Value error, ")
    return str(error["msg"])
