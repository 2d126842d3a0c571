"""Turn exceptions into problem documents, and log them."""

from __future__ import annotations

import traceback
from http import HTTPStatus

import structlog
from anyio import BrokenResourceError
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.routing import Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.pages.errors import problem_page, wants_page
from api.pages.sessions import LoginNeededError, ask_for_login
from api.problems import (
    PROBLEM_TYPES,
    Problem,
    ProblemResponse,
    QueueFullError,
    build_problem,
    faults_of_validation,
    problem,
)
from autoprog.errors import AutoprogError, Fault, InvalidInputError, StorageFullError, StoreUnavailableError
from autoprog.storage.files import full, is_full

_METHODS = ("DELETE", "GET", "PATCH", "POST", "PUT")
_POINTERS = {"body": "", "query": "", "path": "", "header": "/headers"}
_CODE_BY_STATUS = {kind.status: code for code, kind in reversed(PROBLEM_TYPES.items())}


def install(app: FastAPI) -> None:
    """Register the exception handlers of an application."""

    @app.exception_handler(AutoprogError)
    def on_autoprog_error(request: Request, error: AutoprogError) -> Response:
        document = build_problem(error, request.url.path)
        if document.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            log_failure(request.scope, error)
        headers = {"Retry-After": str(error.retry_after_s)} if isinstance(error, QueueFullError) else None
        return respond(request, document, headers)

    @app.exception_handler(LoginNeededError)
    def on_login_needed(request: Request, _error: LoginNeededError) -> Response:
        return ask_for_login(request)

    @app.exception_handler(RequestValidationError)
    def on_validation_error(request: Request, error: RequestValidationError) -> Response:
        return respond(request, build_problem(input_error(error), request.url.path))

    @app.exception_handler(HTTPException)
    def on_http_exception(request: Request, error: HTTPException) -> Response:
        headers = dict(error.headers or {})
        if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
            headers["Allow"] = ", ".join(_allowed_methods(app, request.scope))
        if error.status_code == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
            headers["Connection"] = "close"  # the rest of the body is still being sent
        return respond(request, _http_problem(error, request.url.path), headers)


def respond(request: Request, document: Problem, headers: dict[str, str] | None = None) -> Response:
    """Answer a request with a problem: a page for a browser on a page's path, else a document."""
    if wants_page(request):
        return problem_page(request, document, headers)
    return ProblemResponse(document, headers)


def _allowed_methods(app: FastAPI, scope: Scope) -> list[str]:
    """Return all methods of a path; the router's own error names those of only one of its routes."""
    return [
        method
        for method in _METHODS
        if any(route.matches({**scope, "method": method})[0] is Match.FULL for route in app.routes)
    ]


def input_error(error: RequestValidationError) -> InvalidInputError:
    """Turn pydantic's error about a request into an InvalidInputError."""
    faults: list[Fault] = []
    for item in error.errors():
        place, *path = item["loc"]
        faults += faults_of_validation([{**item, "loc": path}], _POINTERS[place])
    return InvalidInputError(faults)


def _http_problem(error: HTTPException, instance: str) -> Problem:
    phrase = HTTPStatus(error.status_code).phrase
    code = _CODE_BY_STATUS.get(error.status_code)
    if code is None:
        return Problem(type="about:blank", title=phrase, status=error.status_code, instance=instance)
    return problem(code, None if error.detail == phrase else error.detail, instance=instance)


def log_failure(scope: Scope, error: Exception) -> None:
    """Log where an error arose, without its text unless a disk or database caused it."""
    # The text of other errors may quote a patient's value.
    frames = traceback.extract_tb(error.__traceback__)
    reason = {"reason": str(error)} if isinstance(error, StoreUnavailableError) else {}
    structlog.get_logger("api").error(
        "request failed",
        method=scope["method"],
        path=scope["path"],
        error=type(error).__name__,
        frames=[f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames],
        **reason,
    )


class UnexpectedErrors:
    """Middleware that answers an unexpected error with a bare 500 and logs where it arose."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and answer it if an error escapes."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = False

        async def watched_send(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self.app(scope, receive, watched_send)
        except ClientDisconnect:
            return  # the client has left
        except Exception as caught:  # noqa: BLE001 - the last resort of every request
            if started and _is_disconnect(caught):
                return
            error = full(caught) if is_full(caught) else caught  # an upload may find the temporary folder full
            log_failure(scope, error)
            if not started:
                code = error.code if isinstance(error, StorageFullError) else "internal"
                await respond(Request(scope), problem(code, instance=scope["path"]))(scope, receive, send)


def _is_disconnect(error: BaseException) -> bool:
    """Whether an error only means that the client has left; a stream's tasks raise it in a group."""
    if isinstance(error, BaseExceptionGroup):
        return all(_is_disconnect(each) for each in error.exceptions)
    return isinstance(error, ClientDisconnect | BrokenResourceError | OSError)
