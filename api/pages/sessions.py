"""Sessions of people who have logged in, and guards against requests from other sites."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import nullcontext
from dataclasses import dataclass
from hmac import compare_digest
from http import HTTPStatus
from typing import Annotated
from urllib.parse import quote, urlsplit

from fastapi import Depends, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse, Response
from starlette.routing import Match

from api.auth import Principal, count_request
from api.body_limit import parts_mb
from api.dependencies import Context, ContextDependency, address_of
from api.problems import ForbiddenError, UnauthorizedError
from autoprog.scopes import SCOPES, Scope

_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_MIB = 2**20
_MAX_FIELDS = 50_000
_LOGIN = "/login"


class LoginNeededError(UnauthorizedError):
    """The browser has no session, or it has ended."""


@dataclass(frozen=True, slots=True)
class PageSession:
    """Caller of a page: a person with a session, or the owner of a local server without keys."""

    principal: Principal
    session_id: str | None = None  # None on a local server without keys
    csrf_token: str | None = None


def cookie_name(request: Request) -> str:
    """Return the name of the session's cookie; the prefix keeps other hosts of a domain from setting it."""
    return "__Host-session" if request.url.scheme == "https" else "session"


def csrf_token(request: Request) -> str | None:
    """Return the token that forms of this session must send; None without a session."""
    found: PageSession | None = getattr(request.state, "page_session", None)
    return None if found is None else found.csrf_token


def has_scope(request: Request, scope: Scope) -> bool:
    """Check whether the caller has a scope; without a session nobody has one."""
    found: PageSession | None = getattr(request.state, "page_session", None)
    return found is not None and scope in found.principal.scopes


async def check_request(request: Request, context: ContextDependency) -> AsyncIterator[None]:
    """Find the session of a request; refuse a change that a page of another origin, or one without token, asks for.

    The body of a request with a session counts among those under way.
    """
    session = None if request.url.path.startswith("/static/") else await _admit(request, context)
    with nullcontext() if session is None else context.bodies.hold(request, session.principal.owner_id):
        if session is not None and session.csrf_token is not None and request.method not in _SAFE:
            sent = await _sent_token(request, context)
            if not compare_digest(sent.encode(), session.csrf_token.encode()):
                raise ForbiddenError("the form is not of this session: load its page again")
        yield


async def _admit(request: Request, context: Context) -> PageSession | None:
    """Find the session of a request and note its use; None without one."""
    if request.method not in _SAFE:
        _check_origin(request, context)
    async with context.authenticating.take(address_of(request)):
        session, due = await run_in_threadpool(_find_session, request, context)
    if session is None:
        return None
    for note in due:
        await run_in_threadpool(note)
    request.state.page_session = session
    request.state.principal = session.principal  # for the audit trail, and for dependencies of the REST API
    return session


def _check_origin(request: Request, context: Context) -> None:
    origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site")
    if origin is None and site is None:
        # Every browser sends one of the two. A local server is guarded against other sites by `LoopbackOnly`, too.
        if not context.is_local:
            raise ForbiddenError("the request does not tell from which page it comes")
        return
    # A proxy may have ended TLS; a plain page must not reach into an encrypted one.
    host, schemes = request.headers.get("host", ""), {"https", request.url.scheme}
    is_same = origin is None or origin.lower() in {f"{scheme}://{host}".lower() for scheme in schemes}
    if not is_same or site not in {None, "same-origin"}:
        raise ForbiddenError("the request comes from a page of another origin")


async def _sent_token(request: Request, context: Context) -> str:
    header = request.headers.get("x-csrf-token")
    if header is not None:
        return header
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in {"multipart/form-data", "application/x-www-form-urlencoded"}:
        return ""
    upload_mb = context.settings.upload_mb
    # The route gets the same form: it is read once.
    form = await request.form(
        max_files=1, max_fields=_MAX_FIELDS, max_part_size=(upload_mb + parts_mb(upload_mb)) * _MIB
    )
    sent = form.get("csrf_token", "")
    return sent if isinstance(sent, str) else ""


def _find_session(request: Request, context: Context) -> tuple[PageSession | None, list[Callable[[], None]]]:
    """Find the session of a request, and what is to be noted of its use."""
    token = request.cookies.get(cookie_name(request))
    with context.database.session(read_only=True) as session:
        keys, sessions = context.keys(session), context.browser_sessions(session)
        if context.is_local and not keys.were_made():
            return PageSession(Principal(context.local_owner_id, frozenset(SCOPES))), []
        found = None if token is None else sessions.find(token)
        if found is None:
            return None, []
        row, key = found
        scopes = keys.scopes(key)
        is_stale = sessions.needs_note(row)
    count_request(context, row.owner_id)
    due = context.uses.list_due(key, row.id if is_stale else None)
    return PageSession(Principal(key.owner_id, scopes, key.id), row.id, row.csrf_token), due


def require_session(request: Request, _checked: Annotated[None, Depends(check_request)]) -> PageSession:
    """Return who asks; raises LoginNeededError."""
    found: PageSession | None = getattr(request.state, "page_session", None)
    if found is None:
        raise LoginNeededError("log in first")
    return found


CurrentSession = Annotated[PageSession, Depends(require_session)]


def _requires(scope: Scope) -> Callable[[PageSession], Principal]:
    def authorize(session: CurrentSession) -> Principal:
        if scope not in session.principal.scopes:
            raise ForbiddenError(f"what you logged in with lacks the scope {scope!r}")
        return session.principal

    return authorize


PageReader = Annotated[Principal, Depends(_requires("read"))]
PageWriter = Annotated[Principal, Depends(_requires("write"))]
PageAdmin = Annotated[Principal, Depends(_requires("admin"))]
PagePredictor = Annotated[Principal, Depends(_requires("predict"))]


def ask_for_login(request: Request) -> Response:
    """Send a browser to the log-in, from where it comes back to the page that it asked for."""
    if "hx-request" in request.headers:
        shown = urlsplit(request.headers.get("hx-current-url", ""))
        place = local_path(f"{shown.path}?{shown.query}" if shown.query else shown.path)
        return Response(status_code=HTTPStatus.UNAUTHORIZED, headers={"HX-Redirect": _login_address(place)})
    place = f"{request.url.path}?{request.url.query}" if request.url.query else request.url.path
    if request.method not in _SAFE and not _is_page(request):
        place = "/"
    return RedirectResponse(_login_address(local_path(place)), status_code=HTTPStatus.SEE_OTHER)


def _is_page(request: Request) -> bool:
    scope = {**request.scope, "method": "GET"}
    return any(route.matches(scope)[0] is Match.FULL for route in request.app.routes)


def _login_address(place: str) -> str:
    return _LOGIN if place == "/" else f"{_LOGIN}?next={quote(place, safe='')}"


def local_path(path: str) -> str:
    """Return a path of this server, or `/` for anything that could lead elsewhere."""
    if not path.startswith("/") or path.startswith("//") or "\\" in path or not path.isprintable() or " " in path:
        return "/"
    return path
