"""Routes that take and give JSON: the sender is authenticated before the body is read, and no document delays others.

FastAPI parses requests and writes responses on the event loop; here the threads do so that handle them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine
from functools import wraps
from http import HTTPStatus
from typing import Any

from fastapi import Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel

from api.auth import admit
from api.dependencies import get_context
from api.error_handlers import input_error
from api.idempotency import refuse, takes_key
from api.json_request import JsonRequest
from api.uploads import require_json
from autoprog.errors import InvalidInputError

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class JsonRoute(APIRoute):
    """A route that takes JSON: the key is checked first, then the media type; threads read and write documents."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:  # noqa: ANN401  FastAPI's
        status = options.get("status_code") or HTTPStatus.OK
        super().__init__(path, _writing(endpoint, int(status)), **options)

    # FastAPI itself parses a body on the event loop, before any dependency has asked who sent it.
    def get_route_handler(self) -> Handler:
        """Put authentication and reading in front of FastAPI's own handler."""
        handle = super().get_route_handler()
        field = self.body_field
        if field is None:
            return handle
        is_once = takes_key(self.dependant)

        async def admit_and_read(request: Request) -> Response:
            principal = await admit(request, self.dependant)
            sent = JsonRequest(request.scope, request.receive)
            with get_context(request).bodies.hold(request, principal.owner_id):
                if field.field_info.is_required() or await sent.body():
                    require_json(sent)
                answer = await _read_and_handle(sent, handle)
                if isinstance(answer, Response):
                    return answer
                if not is_once:
                    raise answer
                return await run_in_threadpool(refuse, sent, principal, answer)

        return admit_and_read


def _writing(endpoint: Callable[..., Any], status: int) -> Callable[..., Any]:
    """Have a function write the document that it returns; one that sets headers on a response leaves that to it."""
    takes = inspect.signature(endpoint, eval_str=True).parameters.values()
    if inspect.iscoroutinefunction(endpoint) or inspect.isasyncgenfunction(endpoint):
        return endpoint
    if any(parameter.annotation is Response for parameter in takes):
        return endpoint

    @wraps(endpoint)
    def write(*given: Any, **named: Any) -> Any:  # noqa: ANN401
        document = endpoint(*given, **named)
        if not isinstance(document, BaseModel):
            return document
        return Response(document.model_dump_json(by_alias=True), status, media_type="application/json")

    return write


async def _read_and_handle(sent: JsonRequest, handle: Handler) -> Response | InvalidInputError:
    """Return the response, or the body's faults if nothing else is wrong with the request."""
    try:
        await sent.parse()
    except InvalidInputError as error:
        return error
    try:
        return await handle(sent)
    except RequestValidationError as error:
        if any(fault["loc"][0] != "body" for fault in error.errors()):
            raise
        return input_error(error)
