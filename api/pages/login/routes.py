"""Pages of the log-in and the log-out."""

from __future__ import annotations

from datetime import timedelta
from hmac import compare_digest
from http import HTTPStatus
from typing import Annotated

import structlog
from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import Response

from api.auth import Principal, count_failure, identify
from api.body_limit import SMALL_FORM
from api.dependencies import Context, ContextDependency
from api.pages.rendering import redirect, render
from api.pages.sessions import CurrentSession, PageSession, cookie_name, local_path
from api.problems import ProviderUnavailableError, UnauthorizedError
from api.single_sign_on.identity import read_identity
from api.single_sign_on.provider import IdentityProvider, SignOn
from autoprog.errors import NotFoundError
from autoprog.storage.repositories import KeyRepository
from autoprog.storage.repositories.browser_sessions import IDLE, LIFE

router = APIRouter()
_log = structlog.get_logger("api")

_MAX_KEY = 300
_MAX_ANSWER = 4_000
_SIGN_ON_LIFE = timedelta(minutes=10)


@router.get("/login")
def show_login(
    request: Request, context: ContextDependency, place: Annotated[str, Query(alias="next")] = "/"
) -> Response:
    """Ask for a key or send to the identity provider, unless the browser has a session or needs none."""
    found: PageSession | None = getattr(request.state, "page_session", None)
    if found is not None:
        return redirect(local_path(place))
    return _page(request, context, place)


@router.post("/login", max_body_size=SMALL_FORM)
def log_in(
    request: Request,
    context: ContextDependency,
    key: Annotated[str, Form()] = "",
    place: Annotated[str, Form(alias="next")] = "/",
) -> Response:
    """Open a session for a key; a session that the browser had before ends."""
    text = key.strip()[:_MAX_KEY]
    with context.database.session(read_only=True) as session:  # whoever has no key keeps no writer waiting
        row = context.keys(session).authenticate(text)
    if row is None:
        request.state.key_tried = text  # the audit trail takes its public part
        count_failure(request, context)
        page = _page(request, context, place, is_wrong=True)
    else:
        with context.database.session() as session:
            sessions = context.browser_sessions(session)
            if before := request.cookies.get(cookie_name(request)):
                sessions.end_token(before)
            _, token = sessions.open(row)
        context.uses.note_key(row)
        request.state.principal = Principal(row.owner_id, frozenset(row.scopes), row.id)
        page = redirect(local_path(place))
        _set_cookie(page, request, cookie_name(request), token, LIFE, strict=True)
    return page


@router.get("/login/provider")
def go_to_provider(
    request: Request, context: ContextDependency, place: Annotated[str, Query(alias="next")] = "/"
) -> Response:
    """Send the browser to the identity provider, with the secrets of this log-in in a cookie."""
    provider = _provider(context)
    sign_on = SignOn.begin(local_path(place))
    try:
        address = provider.login_address(sign_on, _return_address(request))
    except ProviderUnavailableError as error:
        return _unreachable(request, context, place, error)
    page = redirect(address)
    # The provider sends the browser back from its own site, and a strict cookie would not come along.
    _set_cookie(page, request, _sign_on_cookie(request), sign_on.to_cookie(), _SIGN_ON_LIFE, strict=False)
    return page


@router.get("/login/return")
def return_from_provider(
    request: Request,
    context: ContextDependency,
    state: Annotated[str, Query(max_length=_MAX_ANSWER)] = "",
    code: Annotated[str, Query(max_length=_MAX_ANSWER)] = "",
) -> Response:
    """Open a session for whom the identity provider has sent back, or ask again."""
    provider = _provider(context)
    request.state.logs_in = True  # the audit trail enters it, though it is a GET
    sign_on = SignOn.from_cookie(request.cookies.get(_sign_on_cookie(request), ""))
    page: Response
    if sign_on is None or not code or not compare_digest(sign_on.state.encode(), state.encode()):
        count_failure(request, context)
        page = _page(request, context, "/" if sign_on is None else sign_on.place, was_refused=True)
    else:
        try:
            principal, token = _signed_on(context, provider, code, sign_on, request)
        except ProviderUnavailableError as error:
            page = _unreachable(request, context, sign_on.place, error)
        else:
            request.state.principal = principal
            # A page that leads on, not a redirect: with one the browser would keep back the session's strict cookie.
            page = render(request, "login/return.html", place=sign_on.place)
            _set_cookie(page, request, cookie_name(request), token, IDLE, strict=True)
    page.delete_cookie(_sign_on_cookie(request), httponly=True, samesite="lax", secure=request.url.scheme == "https")
    return page


@router.post("/logout")
def log_out(request: Request, context: ContextDependency, session: CurrentSession) -> Response:
    """End the browser's session, and for whom the identity provider vouched send her on to end that one too."""
    is_person = False
    if session.session_id is not None:
        principal = session.principal
        with context.database.session() as transaction:
            context.browser_sessions(transaction).end_token(request.cookies[cookie_name(request)])
            row = KeyRepository(transaction).get(principal.owner_id, principal.key_id or "")
            is_person = row.person is not None
    provider = context.identity_provider if is_person else None
    response = redirect("/login") if provider is None else _leave(request, provider)
    response.delete_cookie(cookie_name(request), httponly=True, samesite="strict", secure=request.url.scheme == "https")
    return response


def _leave(request: Request, provider: IdentityProvider) -> Response:
    """Lead on to the provider's log-out. By a page: a form of this site may not be redirected to another."""
    try:
        address = provider.logout_address(str(request.url.replace(path="/login", query="", fragment="")))
    except ProviderUnavailableError:
        return render(request, "login/left.html", address=None)
    return redirect("/login") if address is None else render(request, "login/left.html", address=address)


def _signed_on(
    context: Context, provider: IdentityProvider, code: str, sign_on: SignOn, request: Request
) -> tuple[Principal, str]:
    """Redeem the provider's code for a session: who it is of, and its token."""
    try:
        claims = provider.redeem(code, sign_on, _return_address(request))
        principal, person = identify(context, read_identity(claims, provider.settings))
    except UnauthorizedError:
        count_failure(request, context)
        raise
    with context.database.session() as session:
        sessions = context.browser_sessions(session)
        if before := request.cookies.get(cookie_name(request)):
            sessions.end_token(before)
        row = KeyRepository(session).get(principal.owner_id, principal.key_id or "")
        # Shorter than with a key: what the provider says of a person is asked at the log-in alone.
        _, token = sessions.open(row, IDLE)
    context.uses.note_key(person)
    return principal, token


def _provider(context: Context) -> IdentityProvider:
    if context.identity_provider is None:
        raise NotFoundError("this server has no identity provider")
    return context.identity_provider


def _return_address(request: Request) -> str:
    return str(request.url.replace(path="/login/return", query="", fragment=""))


def _sign_on_cookie(request: Request) -> str:
    return "__Host-sign-on" if request.url.scheme == "https" else "sign-on"


def _unreachable(request: Request, context: Context, place: str, error: ProviderUnavailableError) -> Response:
    """Offer the other way to log in; what the provider did is for who runs the server."""
    _log.warning("provider unavailable", reason=str(error))
    return _page(request, context, place, status=HTTPStatus.SERVICE_UNAVAILABLE, is_unreachable=True)


def _page(
    request: Request,
    context: Context,
    place: str,
    *,
    status: HTTPStatus = HTTPStatus.OK,
    is_wrong: bool = False,
    was_refused: bool = False,
    is_unreachable: bool = False,
) -> Response:
    return render(
        request,
        "login/login.html",
        status=HTTPStatus.UNAUTHORIZED if is_wrong or was_refused else status,
        place=local_path(place),
        is_wrong=is_wrong,
        was_refused=was_refused,
        is_unreachable=is_unreachable,
        has_provider=context.identity_provider is not None,
    )


def _set_cookie(page: Response, request: Request, name: str, value: str, life: timedelta, *, strict: bool) -> None:
    page.set_cookie(
        name,
        value,
        max_age=int(life.total_seconds()),
        httponly=True,
        samesite="strict" if strict else "lax",
        secure=request.url.scheme == "https",
    )
