"""Pages of the log-in and the log-out."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import RedirectResponse, Response

from api.auth import Principal, count_failure, note_use
from api.dependencies import ContextDependency
from api.pages.rendering import render
from api.pages.sessions import CurrentSession, PageSession, cookie_name, local_path
from autoprog.storage.repositories import BrowserSessionRepository, KeyRepository
from autoprog.storage.repositories.browser_sessions import LIFE

router = APIRouter()

_MAX_KEY = 300


@router.get("/login")
def show_login(request: Request, place: Annotated[str, Query(alias="next")] = "/") -> Response:
    """Ask for a key, unless the browser has a session or needs none."""
    found: PageSession | None = getattr(request.state, "page_session", None)
    if found is not None:
        return _go(local_path(place))
    return render(request, "login/login.html", place=local_path(place), is_wrong=False)


@router.post("/login")
def log_in(
    request: Request,
    context: ContextDependency,
    key: Annotated[str, Form()] = "",
    place: Annotated[str, Form(alias="next")] = "/",
) -> Response:
    """Open a session for a key; a session that the browser had before ends."""
    text = key.strip()[:_MAX_KEY]
    with context.database.session() as session:
        row = KeyRepository(session).authenticate(text)
        if row is not None:
            sessions = BrowserSessionRepository(session)
            if before := request.cookies.get(cookie_name(request)):
                sessions.end_token(before)
            _, token = sessions.open(row)
    if row is None:
        request.state.key_tried = text  # the audit trail takes its public part
        count_failure(request, context)
        page: Response = render(
            request, "login/login.html", status=HTTPStatus.UNAUTHORIZED, place=local_path(place), is_wrong=True
        )
    else:
        note_use(context, row)
        request.state.principal = Principal(row.owner_id, frozenset(row.scopes), row.id)
        page = _go(local_path(place))
        page.set_cookie(
            cookie_name(request),
            token,
            max_age=int(LIFE.total_seconds()),
            httponly=True,
            samesite="strict",
            secure=request.url.scheme == "https",
        )
    return page


@router.post("/logout")
def log_out(request: Request, context: ContextDependency, session: CurrentSession) -> Response:
    """End the browser's session."""
    if session.session_id is not None:
        with context.database.session() as transaction:
            BrowserSessionRepository(transaction).end_token(request.cookies[cookie_name(request)])
    response = _go("/login")
    response.delete_cookie(cookie_name(request), httponly=True, samesite="strict", secure=request.url.scheme == "https")
    return response


def _go(place: str) -> Response:
    return RedirectResponse(place, status_code=HTTPStatus.SEE_OTHER)
