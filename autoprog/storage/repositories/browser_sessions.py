"""Queries on the sessions of people who have logged in with a key."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy import ColumnElement, and_, delete, not_, or_, select, update
from sqlalchemy.orm import Session

from autoprog.errors import NotFoundError
from autoprog.storage.database import database_now, is_id, new_id
from autoprog.storage.repositories.keys import KeyRepository
from autoprog.storage.tables import ApiKeyRow, BrowserSessionRow

IDLE = timedelta(hours=12)
"""Time without a request after which a session ends."""

LIFE = timedelta(days=7)
"""Time after which a session ends in any case."""

_USE_NOTED = timedelta(minutes=5)  # resolution of the last use; every update costs a write


class BrowserSessionRepository:
    """Sessions of all owners; one ends when its key does.

    Parameters
    ----------
    session : Session
        The transaction.
    keys : KeyRepository
        Keys in the same transaction; they tell which have ended.
    """

    def __init__(self, session: Session, keys: KeyRepository) -> None:
        self._session = session
        self._keys = keys

    def open(self, key: ApiKeyRow, life: timedelta = LIFE) -> tuple[BrowserSessionRow, str]:
        """Open a session for a live key; return its row and the cookie's token, which cannot be read again."""
        token, now = secrets.token_urlsafe(32), database_now(self._session)
        row = BrowserSessionRow(
            id=new_id(),
            token_sha256=_digest(token),
            owner_id=key.owner_id,
            key_id=key.id,
            csrf_token=secrets.token_urlsafe(32),
            created_at=now,
            used_at=now,
            expires_at=now + life,
        )
        self._session.add(row)
        self._session.flush()
        return row, token

    def find(self, token: str) -> tuple[BrowserSessionRow, ApiKeyRow] | None:
        """Find a session and its key by the cookie's token; None if either has ended."""
        query = (
            select(BrowserSessionRow, ApiKeyRow)
            .join(ApiKeyRow, ApiKeyRow.id == BrowserSessionRow.key_id)
            .where(BrowserSessionRow.token_sha256 == _digest(token), self._lasts())
        )
        found = self._session.execute(query).one_or_none()
        return None if found is None or not self._keys.is_live(found[1]) else (found[0], found[1])

    def needs_note(self, row: BrowserSessionRow) -> bool:
        """Check whether the last recorded use is some minutes ago."""
        return database_now(self._session) - row.used_at > _USE_NOTED

    def note_use(self, session_id: str) -> None:
        """Record that a session was used now."""
        self._session.execute(
            update(BrowserSessionRow)
            .where(BrowserSessionRow.id == session_id)
            .values(used_at=database_now(self._session))
        )

    def list_live(self, owner_id: str) -> Sequence[BrowserSessionRow]:
        """List an owner's sessions that have not ended, the last used first."""
        query = select(BrowserSessionRow).where(BrowserSessionRow.owner_id == owner_id, self._lasts())
        rows = self._session.scalars(query.order_by(BrowserSessionRow.used_at.desc(), BrowserSessionRow.id)).all()
        live = self._keys.live({row.key_id for row in rows})
        return [row for row in rows if row.key_id in live]

    def end(self, owner_id: str, session_id: str) -> None:
        """Delete a session of an owner. Raises NotFoundError."""
        which = and_(BrowserSessionRow.id == session_id, BrowserSessionRow.owner_id == owner_id)
        gone = delete(BrowserSessionRow).where(which).returning(BrowserSessionRow.id)
        if not is_id(session_id) or self._session.scalar(gone) is None:
            msg = "there is no session with this id"
            raise NotFoundError(msg)

    def end_token(self, token: str) -> None:
        """Delete the session of a token, if there is one."""
        self._session.execute(delete(BrowserSessionRow).where(BrowserSessionRow.token_sha256 == _digest(token)))

    def delete_ended(self) -> None:
        """Delete the sessions that have ended by themselves or with their key."""
        key_ids = set(self._session.scalars(select(BrowserSessionRow.key_id).distinct()))
        with_ended_key = BrowserSessionRow.key_id.in_(key_ids - self._keys.live(key_ids))
        self._session.execute(
            delete(BrowserSessionRow)
            .where(or_(with_ended_key, not_(self._lasts())))
            .execution_options(synchronize_session=False)
        )

    def _lasts(self) -> ColumnElement[bool]:
        """Whether a session has not ended by itself."""
        now = database_now(self._session)
        return and_(BrowserSessionRow.expires_at > now, BrowserSessionRow.used_at > now - IDLE)


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
