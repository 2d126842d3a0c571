"""Routes that take JSON: the sender is authenticated before the body is read, and a large body delays nobody else."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from fastapi import Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute

from api.auth import admit
from api.error_handlers import input_error
from api.idempotency import refuse, takes_key
from api.uploads import compute_digest, load_json, require_json
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
            sent = _JsonRequest(request.scope, request.receive)
            if field.field_info.is_required() or await sent.body():
                require_json(sent)
            answer = await _read_and_handle(sent, handle)
            if isinstance(answer, Response):
                return answer
            if not is_once:
                raise answer
            return await run_in_threadpool(refuse, sent, principal, answer)

        return admit_and_read


class _JsonRequest(Request):
    """A request whose JSON is parsed before FastAPI asks for it."""

    _document: object = None

    async def parse(self) -> None:
        """Read the body; raises InvalidInputError if it is not JSON."""
        if body := await self.body():
            self.state.fingerprint = lambda: hashlib.sha256(body).hexdigest()
            # NaN and infinities are taken here: the schemas refuse them in their places, with all other faults.
            self._document = await run_in_threadpool(load_json, body, "", float)
            self.state.fingerprint = partial(compute_digest, self._document)

    async def json(self) -> Any:  # noqa: ANN401 - as it came out of JSON
        """Return the parsed body."""
        return self._document


async def _read_and_handle(sent: _JsonRequest, handle: Handler) -> Response | InvalidInputError:
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
