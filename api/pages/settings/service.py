"""Keys as their owner may change them on a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy.orm import Session

from api.auth import Principal
from api.problems import ForbiddenError
from autoprog.errors import Fault, InvalidInputError, NotFoundError
from autoprog.scopes import SCOPES
from autoprog.storage.repositories import BrowserSessionRepository, KeyRepository
from autoprog.storage.tables import ApiKeyRow

LIVES: dict[str, timedelta | None] = {
    "1": timedelta(days=1),
    "30": timedelta(days=30),
    "90": timedelta(days=90),
    "365": timedelta(days=365),
    "": None,
}
"""Lives of a new key by their number of days; none for a key without end."""


@dataclass(frozen=True, slots=True)
class ListedKey:
    """A key as its owner sees it."""

    row: ApiKeyRow
    scopes: tuple[str, ...]
    is_live: bool
    is_own: bool  # whether the session was opened with it
    maker: str | None  # name of the person who has made it on a page


def list_keys(keys: KeyRepository, principal: Principal) -> list[ListedKey]:
    """List the keys of the caller's owner: those that work first, newest first."""
    rows = keys.of_owner(principal.owner_id)
    people = {row.id: row.person for row in rows}
    live = keys.live({row.id for row in rows})
    listed = [
        ListedKey(
            row,
            tuple(sorted(keys.scopes(row))),
            row.id in live,
            row.id == principal.key_id,
            people.get(row.made_by or ""),
        )
        for row in rows
    ]
    return sorted(listed, key=lambda each: (each.is_live, each.row.created_at), reverse=True)


def create_key(session: Session, principal: Principal, scopes: Sequence[str], days: str) -> tuple[ApiKeyRow, str]:
    """Create a key that may do nothing that the caller may not, and ends no later; return its row and its text."""
    faults = []
    if not scopes or not set(scopes) <= set(SCOPES):
        faults.append(Fault("/scopes", f"choose at least one of {', '.join(SCOPES)}"))
    if days not in LIVES:
        faults.append(Fault("/days", "choose when the key ends"))
    if faults:
        raise InvalidInputError(faults)
    if beyond := sorted(set(scopes) - principal.scopes):
        raise ForbiddenError(f"what you logged in with lacks the scope {beyond[0]!r} itself")
    keys = KeyRepository(session)
    own, life = keys.get(principal.owner_id, principal.key_id or ""), LIVES[days]
    made_by = own.made_by if own.person is None else own.id
    row, text = keys.create(keys.owner(principal.owner_id).name, scopes, life=life, made_by=made_by)
    if own.expires_at is not None and (row.expires_at is None or row.expires_at > own.expires_at):
        row.expires_at = own.expires_at
        session.flush()
    return row, text


def revoke_key(session: Session, principal: Principal, key_id: str) -> None:
    """Revoke a key of the caller's owner, or block a person, with sessions and her keys. Raises NotFoundError."""
    keys = KeyRepository(session)
    row = keys.get(principal.owner_id, key_id)
    if row.revoked_at is not None:
        raise NotFoundError("the key has been revoked already")
    keys.revoke(row.id)


def end_session(sessions: BrowserSessionRepository, principal: Principal, session_id: str) -> None:
    """End a session that the caller's key or person opened, or any of the owner's for an administrator."""
    opened = {row.id: row.key_id for row in sessions.list_live(principal.owner_id)}
    if "admin" not in principal.scopes and opened.get(session_id, principal.key_id) != principal.key_id:
        raise ForbiddenError("what you logged in with lacks the scope 'admin'")
    sessions.end(principal.owner_id, session_id)
