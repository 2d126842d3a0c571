"""Pages of an owner's settings and audit trail."""

from __future__ import annotations

from datetime import date
from typing import Annotated

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import Response

from api.body_limit import SMALL_FORM
from api.dependencies import ContextDependency, ReadSession, WriteSession, get_context
from api.pages.rendering import confirm, redirect, render, translate
from api.pages.sessions import CurrentSession, PageAdmin, PageReader, PageSession
from api.pages.settings import service
from autoprog.errors import Fault, InvalidInputError
from autoprog.scopes import SCOPES
from autoprog.storage.repositories import AuditRepository, KeyRepository

router = APIRouter()

_SETTINGS = "/settings"


@router.get(_SETTINGS)
def show_settings(request: Request, current: CurrentSession, session: ReadSession) -> Response:
    """Show keys, sessions and language."""
    return _settings(request, session, current)


def _settings(request: Request, session: ReadSession, current: PageSession, new_key: str | None = None) -> Response:
    principal, _ = current.principal, translate(request)
    context = get_context(request)
    keys = service.list_keys(context.keys(session), principal)
    return render(
        request,
        "settings/settings.html",
        owner=KeyRepository(session).owner(principal.owner_id).name,
        has_keys=current.session_id is not None,
        is_admin="admin" in principal.scopes,
        scopes=[scope for scope in SCOPES if scope in principal.scopes],
        lives=list(service.LIVES),
        keys=keys,
        names={each.row.id: each.row.person or _("Key") + f" …{each.row.id[-8:]}" for each in keys},
        sessions=context.browser_sessions(session).list_live(principal.owner_id),
        session_id=current.session_id,
        new_key=new_key,
    )


@router.post("/settings/keys", max_body_size=SMALL_FORM)
def create_key(
    request: Request,
    current: CurrentSession,
    principal: PageAdmin,
    session: WriteSession,
    scopes: Annotated[list[str] | None, Form()] = None,
    days: Annotated[str, Form()] = "90",
) -> Response:
    """Create a key and show it, this once."""
    _require_keys(current)
    row, text = service.create_key(session, principal, scopes or [], days)
    request.state.made_id = row.id  # for the audit trail
    return _settings(request, session, current, new_key=text)


@router.get("/settings/keys/{key_id}/revocation")
def ask_to_revoke(request: Request, key_id: str, principal: PageAdmin, session: ReadSession) -> Response:
    """Ask whether a key shall end, or a person be blocked."""
    row = KeyRepository(session).get(principal.owner_id, key_id)
    _ = translate(request)
    if row.person is not None:
        what = _("%(name)s is logged out and cannot log in again until `autoprog keys unblock` is run.") % {
            "name": row.person
        }
        what += " " + _("The keys that this person has made end, and stay ended.")
        choice = ("revoke", "yes", _("Block"))
        title = _("Block %(name)s?") % {"name": row.person}
        return confirm(request, title, what, _SETTINGS, choice)
    what = _("Programs that use this key will be refused, and people who logged in with it are logged out.")
    if row.id == principal.key_id:
        what = _("You are logged in with this key.") + " " + what
    title = _("Revoke this key?") + f" …{row.id[-8:]}"
    return confirm(request, title, what, _SETTINGS, ("revoke", "yes", _("Revoke the key")))


@router.post("/settings/keys/{key_id}/revocation")
def revoke_key(key_id: str, current: CurrentSession, principal: PageAdmin, session: WriteSession) -> Response:
    """Revoke a key of the owner, or block one of her people."""
    _require_keys(current)
    service.revoke_key(session, principal, key_id)
    return redirect(_SETTINGS)


@router.post("/settings/sessions/{session_id}/end")
def end_session(session_id: str, context: ContextDependency, principal: PageReader, session: WriteSession) -> Response:
    """End a session of the same key or person; an administrator ends any of the owner's."""
    service.end_session(context.browser_sessions(session), principal, session_id)
    return redirect(_SETTINGS)


@router.get("/audit")
def show_audit(
    request: Request,
    principal: PageReader,
    session: ReadSession,
    day: Annotated[str, Query()] = "",
    action: Annotated[str, Query(max_length=200)] = "",
    before: Annotated[int | None, Query(ge=1, lt=2**62)] = None,
) -> Response:
    """Show what was done with the owner's keys, newest first."""
    _ = translate(request)
    page = AuditRepository(session).load_page(
        principal.owner_id, day=_read_day(day, _("write a day as 2026-05-31")), action=action.strip(), before=before
    )
    return render(
        request,
        "settings/audit.html",
        events=page.items,
        next_before=page.next_cursor,
        before=before,
        day=day,
        action=action,
    )


def _read_day(text: str, fault: str) -> date | None:
    if not text:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise InvalidInputError([Fault("/day", fault)]) from None


def _require_keys(current: PageSession) -> None:
    if current.session_id is None:
        raise InvalidInputError([Fault("", "this server needs no keys: make the first by `autoprog keys create`")])
