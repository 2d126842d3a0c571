"""Middleware of the audit trail, which also gives every request an identifier."""

from __future__ import annotations

from http import HTTPStatus

import structlog
from fastapi.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.dependencies import Context
from api.pages.errors import is_page
from autoprog.storage.database import is_id, new_id
from autoprog.storage.repositories import AuditEvent

_READS = frozenset({"GET", "HEAD", "OPTIONS"})
_DENIED = frozenset({401, 403})


class Audited:
    """Middleware that numbers requests (`X-Request-ID`) and enters those of concern into the audit trail."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and its response back."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        context: Context = scope["app"].state.context
        request_id = new_id()

        async def numbered_send(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["X-Request-ID"] = request_id
                # The entry is written before the response starts.
                if _concerns(scope, message["status"], reads=context.settings.audit_reads):
                    event = _event(scope, message["status"], _location(message["status"], headers), request_id)
                    await run_in_threadpool(context.audit.append, event)
            await send(message)

        with structlog.contextvars.bound_contextvars(request_id=request_id):
            await self.app(scope, receive, numbered_send)


def _concerns(scope: Scope, status: int, *, reads: bool) -> bool:
    if status == HTTPStatus.TOO_MANY_REQUESTS and "principal" not in scope.get("state", {}):
        return False  # requests without a key: the trail has enough entries of them by then
    # Requests that change or compute something, those that log somebody in, and those refused for their key or origin.
    is_resource = scope["path"].startswith("/v1/") or is_page(scope["path"])
    logs_in = scope.get("state", {}).get("logs_in", False)
    return is_resource and (reads or logs_in or scope["method"] not in _READS or status in _DENIED)


def _location(status: int, headers: MutableHeaders) -> str:
    """Return where a response leads to; by htmx the start page leads to its search in a header of its own."""
    made = headers.get("hx-redirect", "") if status == HTTPStatus.OK else ""
    return headers.get("location", made)


def _event(scope: Scope, status: int, location: str, request_id: str) -> AuditEvent:
    principal = scope.get("state", {}).get("principal")
    route = scope.get("route")
    path = getattr(route, "path", "") or "(no such route)"
    client = scope.get("client")
    made = scope.get("state", {}).get("made_id", "")
    return AuditEvent(
        action=f"{scope['method'][:10]} {path}"[:200],
        resource=_list_ids(made) or _list_ids(location) or _list_ids(scope["path"]),
        address="" if client is None else str(client[0])[:100],
        result=str(status),
        request_id=request_id,
        owner_id=None if principal is None else principal.owner_id,
        key_id=_key_tried(scope) if principal is None else principal.key_id,
    )


def _list_ids(path: str) -> str:
    """Return the identifiers of a path: the rest of it may hold anything that a client has put there."""
    return "/".join(part for part in path.split("/") if is_id(part))[:200]


def _key_tried(scope: Scope) -> str | None:
    """Return the public part of a refused key, sent as a header or by the form of the log-in."""
    text = scope.get("state", {}).get("key_tried") or Headers(scope=scope).get("authorization", "")
    parts = text.split("_")
    return parts[1] if len(parts) > 1 and is_id(parts[1]) else None
