"""Routes that take JSON: the sender is authenticated before the body is read, and a large body delays nobody else."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute

from api.auth import admit
from api.dependencies import get_context
from api.error_handlers import input_error
from api.idempotency import refuse, takes_key
from api.json_request import JsonRequest
from api.uploads import require_json
from autoprog.errors import InvalidInputError

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class JsonRoute(APIRoute):
    """A route that takes JSON: the key is checked first, then the media type; the body is parsed in a thread."""

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
