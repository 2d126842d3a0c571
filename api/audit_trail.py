"""The audit trail that requests write to."""

from __future__ import annotations

import threading
import time

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
        self._lock = threading.Lock()  # of what follows
        self._waiting: list[AuditEvent] = []
        self._lost = 0
        self._again_at = 0.0

    def append(self, event: AuditEvent) -> None:
        """Write an event, or keep it until the database can be used again.

        If too many wait, the newest are lost: the trail and the log then tell how many.
        """
        with self._lock:
            if len(self._waiting) < _MAX_LATE:
                self._waiting.append(event)
            else:
                self._lost += 1
        with self._writing:
            # The previous holder of the lock may have written this event too, or has just failed to.
            if time.monotonic() >= self._again_at:
                self._write()

    def flush(self) -> None:
        """Try to write the events that wait, as the process ends."""
        with self._writing:
            self._write()

    def _write(self) -> None:
        with self._lock:
            events, lost = list(self._waiting), self._lost
        if not events:
            return
        told = [*events, _loss(lost)] if lost else events
        try:
            with self._database.session() as session:
                AuditRepository(session).append(told)
        except (StoreUnavailableError, SQLAlchemyError) as error:
            self._again_at = time.monotonic() + _PAUSE_S
            _log.error("audit_delayed", events=len(events), lost=lost, reason=type(error).__name__)
            return
        with self._lock:
            del self._waiting[: len(events)]  # new ones have only been added behind them
            self._lost -= lost
        if lost:
            _log.error("audit_lost", events=lost)


def _loss(n_events: int) -> AuditEvent:
    return AuditEvent("events lost", resource="", address="", result=str(n_events))
