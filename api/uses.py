"""Times at which keys and sessions were last used, written once their request has been authenticated."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial

from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from autoprog.errors import StoreUnavailableError
from autoprog.storage.database import Database
from autoprog.storage.repositories import BrowserSessionRepository, KeyRepository
from autoprog.storage.tables import ApiKeyRow

_NOTED = timedelta(hours=1)
"""Resolution of a key's time of last use; every update costs a write."""

# Seconds between two attempts on one row: where nothing can be written, not every request must wait for it.
_AGAIN_S = 60.0


class Uses:
    """Notes the uses of keys and sessions; a request must not fail because they cannot be written."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._tried: dict[str, float] = {}  # seconds of the last attempt by row, the oldest first

    def note_key(self, key: ApiKeyRow) -> None:
        """Note that a key is used now, unless that was noted within the hour."""
        if _is_due(key):
            self._note(key.id, lambda session: KeyRepository(session).note_use(key.id))

    def note_session(self, session_id: str) -> None:
        """Note that a browser's session is used now."""

        def write(session: Session) -> None:
            BrowserSessionRepository(session, KeyRepository(session)).note_use(session_id)

        self._note(session_id, write)

    def list_due(self, key: ApiKeyRow, session_id: str | None = None) -> list[Callable[[], None]]:
        """List what is to be called once the request has given its place back."""
        due: list[Callable[[], None]] = []
        if _is_due(key):
            due.append(partial(self.note_key, key))
        if session_id is not None:
            due.append(partial(self.note_session, session_id))
        return due

    def _note(self, row_id: str, write: Callable[[Session], None]) -> None:
        if self._is_first(row_id):
            with suppress(StoreUnavailableError, SQLAlchemyError), self._database.session() as session:
                write(session)

    def _is_first(self, row_id: str) -> bool:
        """Note an attempt of the caller; return False if somebody tried for this row within the last minute."""
        now = time.monotonic()
        with self._lock:
            while self._tried and now - next(iter(self._tried.values())) > _AGAIN_S:
                del self._tried[next(iter(self._tried))]
            if row_id in self._tried:
                return False
            self._tried[row_id] = now
        return True


def _is_due(key: ApiKeyRow) -> bool:
    return key.used_at is None or datetime.now(UTC) - key.used_at > _NOTED
