"""The audit trail: who did what to which resource, from where, and what came of it.

Each row holds the digest of all before it and of itself: a row that is changed, left out or put in breaks the chain
from there on. Whoever can write to the database could make the whole chain anew; against that, and against rows that
are cut off at the end, note its last number and digest elsewhere now and then, and verify against them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from autoprog.errors import ArtifactError
from autoprog.storage.database import database_now
from autoprog.storage.tables import AuditEventRow

_LOCK = 7_242_002  # the number of an advisory lock that nobody else takes
_START = "0" * 64
_CHUNK = 1_000


@dataclass(frozen=True, slots=True)
class AuditEvent:
    """Something that was done, or refused; without any value of a patient.

    Attributes
    ----------
    action : str
        Method and route with the names of its parameters, or a command.
    resource : str
        Identifiers of what it was about; empty for none.
    address : str
        Where it came from.
    result : str
        HTTP status, or `done`.
    request_id : str
        As the client was told; empty for a command.
    owner_id : str or None
        Whose key was sent; None where that is not known.
    key_id : str or None
        The key, also of an attempt that was refused.
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
    """Where the trail ends.

    Attributes
    ----------
    sequence : int
        Number of the last event, from 1; 0 where there is none.
    sha256 : str
        Its digest, which holds all before it.
    """

    sequence: int
    sha256: str


class AuditRepository:
    """Adds to the trail and reads it; there is no way to change it.

    Parameters
    ----------
    session : Session
        The transaction to work in.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    def append(self, events: Sequence[AuditEvent]) -> None:
        """Add events in their order; others who add wait until the transaction ends, so it should end soon."""
        if self._session.get_bind().dialect.name == "postgresql":
            self._session.execute(select(func.pg_advisory_xact_lock(_LOCK)))
        end, now = self.end(), database_now(self._session)
        sequence, sha256 = end.sequence, end.sha256
        for event in events:
            sequence += 1
            row = AuditEventRow(sequence=sequence, at=now, **asdict(event))
            sha256 = row.sha256 = _digest(sha256, row)
            self._session.add(row)
        self._session.flush()

    def end(self) -> ChainEnd:
        """The last event's number and digest."""
        last = select(AuditEventRow).order_by(AuditEventRow.sequence.desc()).limit(1)
        row = self._session.scalars(last).one_or_none()
        return ChainEnd(0, _START) if row is None else ChainEnd(row.sequence, row.sha256)

    def after(self, sequence: int) -> Iterator[AuditEventRow]:
        """All events after one, in order, as long as the transaction lasts."""
        ordered = select(AuditEventRow).order_by(AuditEventRow.sequence).limit(_CHUNK)
        while rows := self._session.scalars(ordered.where(AuditEventRow.sequence > sequence)).all():
            yield from rows
            sequence = rows[-1].sequence
            self._session.expunge_all()

    def verify(self, known: ChainEnd | None = None) -> ChainEnd:
        """Check the whole chain.

        Parameters
        ----------
        known : ChainEnd or None
            An end that was noted earlier, which the trail must still hold.

        Returns
        -------
        ChainEnd
            Where it ends.

        Raises
        ------
        ArtifactError
            If an event was changed, left out or put in; names the first.
        """
        sequence, sha256 = 0, _START
        for row in self.after(0):
            sequence += 1
            if row.sequence != sequence:
                msg = f"the audit trail was altered: event {sequence} is missing"
                raise ArtifactError(msg)
            sha256 = _digest(sha256, row)
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


def audit_document(row: AuditEventRow) -> dict[str, str | int | None]:
    """An event as JSON: all of it, so that whoever has the document can check the chain."""
    return {**_content(row), "sha256": row.sha256}


def _digest(previous: str, row: AuditEventRow) -> str:
    text = json.dumps([previous, _content(row)], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _content(row: AuditEventRow) -> dict[str, str | int | None]:
    names = ("sequence", "owner_id", "key_id", "action", "resource", "address", "result", "request_id")
    return {**{name: getattr(row, name) for name in names}, "at": _moment(row.at)}


def _moment(at: datetime) -> str:
    return at.isoformat(timespec="microseconds")
