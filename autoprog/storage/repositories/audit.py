"""The audit trail: who did what to which resource, from where, and with what result.

Each row holds a digest of itself and all before it, so a changed, missing or inserted row breaks the chain. Against a
rebuilt or truncated chain, note its last number and digest elsewhere now and then, and verify against them.
"""

from __future__ import annotations

import getpass
import hashlib
import json
import os
import socket
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from sqlalchemy import and_, func, insert, select
from sqlalchemy.orm import Session

from autoprog.errors import ArtifactError
from autoprog.storage.database import database_now
from autoprog.storage.pages import DEFAULT_LIMIT, Page, contains
from autoprog.storage.tables import ApiKeyRow, AuditEventRow

_LOCK = 7_242_002  # advisory lock that nothing else takes
_START = "0" * 64
_CHUNK = 1_000
_SIGNED = ("sequence", "at", "owner_id", "key_id", "action", "resource", "address", "result", "request_id")

_LOCKING = select(func.pg_advisory_xact_lock(_LOCK))
_LAST = select(AuditEventRow.sequence, AuditEventRow.sha256).order_by(AuditEventRow.sequence.desc()).limit(1)


@dataclass(frozen=True, slots=True)
class AuditEvent:
    """An action or a refusal, without any value of a patient.

    Attributes
    ----------
    action : str
        Method and route with its parameter names, a command, or what retention has deleted.
    resource : str
        Identifiers of the resources; empty for none.
    address : str
        The client's address, or `local_address`.
    result : str
        HTTP status, or `done`.
    request_id : str
        The request's identifier as told to the client; empty for a command.
    owner_id : str or None
        The key's owner; None if unknown.
    key_id : str or None
        The key, also of a refused attempt.
    """

    action: str
    resource: str
    address: str
    result: str
    request_id: str = ""
    owner_id: str | None = None
    key_id: str | None = None


@dataclass(frozen=True, slots=True)
class ChainEnd:
    """The end of the trail.

    Attributes
    ----------
    sequence : int
        Number of the last event, from 1; 0 if there is none.
    sha256 : str
        Digest of this event and all before it.
    """

    sequence: int
    sha256: str


class AuditRepository:
    """Appends to the trail and reads it; nothing changes it.

    Parameters
    ----------
    session : Session
        The transaction.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    def append(self, events: Sequence[AuditEvent]) -> None:
        """Append events in order, under a lock until the transaction ends, which should be soon."""
        connection = self._session.connection()
        if connection.dialect.name == "postgresql":
            connection.execute(_LOCKING)
        end, now = self.end(), database_now(self._session)
        sequence, sha256, rows = end.sequence, end.sha256, []
        for event in events:
            sequence += 1
            values = {"sequence": sequence, "at": now, **asdict(event)}
            sha256 = _digest(sha256, values)
            rows.append({**values, "sha256": sha256})
        if rows:
            connection.execute(insert(AuditEventRow), rows)

    def end(self) -> ChainEnd:
        """Number and digest of the last event."""
        row = self._session.connection().execute(_LAST).one_or_none()
        return ChainEnd(0, _START) if row is None else ChainEnd(row.sequence, row.sha256)

    def after(self, sequence: int) -> Iterator[AuditEventRow]:
        """Iterate over all later events, in order; works only during the transaction."""
        ordered = select(AuditEventRow).order_by(AuditEventRow.sequence).limit(_CHUNK)
        while rows := self._session.scalars(ordered.where(AuditEventRow.sequence > sequence)).all():
            yield from rows
            sequence = rows[-1].sequence
            self._session.expunge_all()

    def load_page(
        self,
        owner_id: str,
        *,
        day: date | None = None,
        action: str = "",
        before: int | None = None,
        limit: int = DEFAULT_LIMIT,
    ) -> Page[AuditEventRow]:
        """List an owner's events and those refused for one of their keys, newest first.

        Parameters
        ----------
        owner_id : str
            The owner.
        day : date or None
            A day in UTC; None for all.
        action : str
            Text that the action contains, in any case.
        before : int or None
            Only events before this one.
        limit : int
            Maximum number of events.

        Returns
        -------
        Page of AuditEventRow
            Its cursor is the number of the last event.
        """
        of_keys = AuditEventRow.key_id.in_(select(ApiKeyRow.id).where(ApiKeyRow.owner_id == owner_id))
        parts = (AuditEventRow.owner_id == owner_id, and_(AuditEventRow.owner_id.is_(None), of_keys))
        asked = []
        if day is not None:
            start = datetime.combine(day, time(), UTC)
            asked += [AuditEventRow.at >= start, AuditEventRow.at < start + timedelta(days=1)]
        if action:
            asked.append(contains(AuditEventRow.action, action))
        if before is not None:
            asked.append(AuditEventRow.sequence < before)
        latest = select(AuditEventRow).where(*asked).order_by(AuditEventRow.sequence.desc()).limit(limit + 1)
        # Each part by its index: of both at once SQLite would read and sort all of the owner's events.
        found = [row for part in parts for row in self._session.scalars(latest.where(part))]
        rows = sorted(found, key=lambda row: -row.sequence)
        shown = tuple(rows[:limit])
        return Page(shown, str(shown[-1].sequence) if len(rows) > limit else None)

    def verify(self, known: ChainEnd | None = None) -> ChainEnd:
        """Check the whole chain.

        Parameters
        ----------
        known : ChainEnd or None
            An end noted earlier, which the trail must still contain.

        Returns
        -------
        ChainEnd
            The end of the trail.

        Raises
        ------
        ArtifactError
            If an event was changed, removed or inserted; names the first.
        """
        sequence, sha256 = 0, _START
        for row in self.after(0):
            sequence += 1
            if row.sequence != sequence:
                msg = f"the audit trail was altered: event {sequence} is missing"
                raise ArtifactError(msg)
            sha256 = _digest(sha256, _values(row))
            if row.sha256 != sha256:
                msg = f"the audit trail was altered: event {sequence} is not the one that was written"
                raise ArtifactError(msg)
            if known is not None and known.sequence == sequence and known.sha256 != sha256:
                msg = f"the audit trail was altered: up to event {sequence} it is another one than was noted"
                raise ArtifactError(msg)
        if known is not None and known.sequence > sequence:
            msg = f"the audit trail was altered: it ends at event {sequence}, before the one that was noted"
            raise ArtifactError(msg)
        return ChainEnd(sequence, sha256)


def local_address() -> str:
    """Address of what this process does by itself: the system's user, or a number without a name, and machine."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # as in a container that runs as any user
        user = str(os.getuid())
    return f"{user}@{socket.gethostname()}"[:100]


def audit_document(row: AuditEventRow) -> dict[str, str | int | None]:
    """Complete event as JSON, from which the chain can be verified."""
    return {**_content(_values(row)), "sha256": row.sha256}


def _values(row: AuditEventRow) -> dict[str, Any]:
    return {name: getattr(row, name) for name in _SIGNED}


def _digest(previous: str, values: Mapping[str, Any]) -> str:
    text = json.dumps([previous, _content(values)], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _content(values: Mapping[str, Any]) -> dict[str, str | int | None]:
    return {**values, "at": values["at"].isoformat(timespec="microseconds")}
