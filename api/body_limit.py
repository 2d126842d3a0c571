"""The limit on how much of a request's body is read."""

from __future__ import annotations

from collections.abc import Callable

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.problems import Problem, problem

Respond = Callable[[Request, Problem, dict[str, str]], Response]

_MIB = 2**20
_JSON_MIB = 32
# The part `spec` names the objects of packed bits: two million of them, with short names and groups, take about 100.
_PARTS_MIB = 128

SMALL_FORM = 2**16
"""Largest form, in bytes, whose fields FastAPI reads: it does so before it is known who sends them."""


def parts_mb(upload_mb: int) -> int:
    """Return how many MiB the parts of an upload besides its file may hold together."""
    return min(upload_mb, _PARTS_MIB)


def is_multipart(headers: Headers) -> bool:
    """Check whether a body is a form of several parts."""
    return headers.get("content-type", "").lower().startswith("multipart/form-data")


def get_limit_mb(headers: Headers, upload_mb: int) -> int:
    """Return how many MiB a body may have."""
    return upload_mb + parts_mb(upload_mb) if is_multipart(headers) else min(upload_mb, _JSON_MIB)


def expected_bytes(headers: Headers, upload_mb: int) -> int:
    """Return the length of a body as it is declared, or else its limit; 0 without a body."""
    length = headers.get("content-length", "")
    if length.isdecimal():
        return int(length)
    return get_limit_mb(headers, upload_mb) * _MIB if "transfer-encoding" in headers else 0


class BodyLimit:
    """Middleware that refuses a body above its limit: by its declared length, or else while it is read."""

    def __init__(self, app: ASGIApp, upload_mb: int, respond: Respond) -> None:
        self.app = app
        self.upload_mb = upload_mb
        self.respond = respond

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on with a counted body."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        limit_mb = get_limit_mb(headers, self.upload_mb)
        limit = limit_mb * _MIB
        detail = f"the body exceeds {limit_mb} MiB; it was read no further"
        # The rest of the body is still being sent: the connection cannot serve another request.
        close = {"Connection": "close"}
        if expected_bytes(headers, self.upload_mb) > limit:
            response = self.respond(Request(scope), problem("too-large", detail, instance=scope["path"]), close)
            await response(scope, receive, send)
            return
        received = 0

        async def counted_receive() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > limit:
                raise HTTPException(413, detail, close)
            return message

        await self.app(scope, counted_receive, send)
