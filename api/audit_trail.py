"""The audit trail that requests write to."""

from __future__ import annotations

import threading
import time
from collections import deque

import structlog
from sqlalchemy.exc import SQLAlchemyError

from autoprog.errors import StoreUnavailableError
from autoprog.storage.database import Database
from autoprog.storage.repositories import AuditEvent, AuditRepository

# While the database is unavailable: most events kept in memory, and seconds between attempts to write them.
_MAX_LATE, _PAUSE_S = 10_000, 2.0
_log = structlog.get_logger("audit")


class AuditTrail:
    """The audit trail in the database; events of requests that end at the same time share a transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._writing = threading.Lock()
        self._waiting: deque[AuditEvent] = deque(maxlen=_MAX_LATE)
        self._again_at = 0.0

    def append(self, event: AuditEvent) -> None:
        """Write an event, or keep it until the database can be used again."""
        self._waiting.append(event)
        with self._writing:
            events = list(self._waiting)
            # The previous holder of the lock has written this event too, or has just failed to.
            if not events or time.monotonic() < self._again_at:
                return
            try:
                with self._database.session() as session:
                    AuditRepository(session).append(events)
            except (StoreUnavailableError, SQLAlchemyError) as error:
                self._again_at = time.monotonic() + _PAUSE_S
                _log.error("audit_delayed", events=len(events), reason=type(error).__name__)
            else:
                for _ in events:
                    self._waiting.popleft()
