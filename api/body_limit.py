"""How much of a request is read before it is refused."""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.problems import ProblemResponse, problem

_MIB = 2**20
_JSON_MIB = 32
# Packed bits name their objects in the part `spec`: two million of them, with short names and groups, take some 100.
_PARTS_MIB = 128


def parts_mb(upload_mb: int) -> int:
    """How much the parts of an upload beside its file may hold, in MiB."""
    return min(upload_mb, _PARTS_MIB)


class BodyLimit:
    """Middleware that stops reading a body at its limit.

    A declared length above the limit is refused before anything is read. A body without one is counted as it comes.

    Parameters
    ----------
    app : ASGI application
        What is protected.
    upload_mb : int
        Largest file in MiB; the other parts of an upload together, and any other body, may be as large, but not above
        128 and 32 MiB.
    """

    def __init__(self, app: ASGIApp, upload_mb: int) -> None:
        self.app = app
        self.upload_mb = upload_mb

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, as far as it may be read."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        multipart = headers.get("content-type", "").lower().startswith("multipart/form-data")
        limit_mb = self.upload_mb + parts_mb(self.upload_mb) if multipart else min(self.upload_mb, _JSON_MIB)
        limit = limit_mb * _MIB
        detail = f"the body exceeds {limit_mb} MiB; it was read no further"
        # The rest of the body is still under way: the connection cannot serve another request.
        close = {"Connection": "close"}
        length = headers.get("content-length", "")
        if length.isdecimal() and int(length) > limit:
            response = ProblemResponse(problem("too-large", detail, instance=scope["path"]), close)
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
