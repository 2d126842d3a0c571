"""Routes that take JSON: whoever sends it is known before it is read, and a large body keeps nobody else waiting."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.routing import APIRoute

from api.auth import admit
from api.uploads import load_json, require_json


class JsonRoute(APIRoute):
    """A route whose body, where it takes one, is JSON.

    FastAPI reads and parses a body on the event loop, before any dependency is asked who has sent it. Here the key
    comes first, then the media type, then the body, which is parsed in a thread.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Put reading in front of FastAPI's own handler."""
        handle = super().get_route_handler()
        field = self.body_field
        if field is None:
            return handle

        async def admit_and_read(request: Request) -> Response:
            await admit(request, self.dependant)
            if field.field_info.is_required():
                require_json(request)
            sent = _JsonRequest(request.scope, request.receive)
            await sent.parse()
            return await handle(sent)

        return admit_and_read


class _JsonRequest(Request):
    """A request whose JSON is there when it is asked for."""

    _document: object = None

    async def parse(self) -> None:
        """Read the body; raises InvalidInputError where it is no JSON."""
        if body := await self.body():
            # Whether NaN or an infinity can be used is said where it stands, together with all other faults.
            self._document = await run_in_threadpool(load_json, body, "", float)

    async def json(self) -> Any:  # noqa: ANN401 - as it came out of JSON
        """What the body says."""
        return self._document
