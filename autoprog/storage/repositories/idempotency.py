"""Queries on the answers that are stored for repeated requests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, and_, delete, or_, select, update
from sqlalchemy.orm import Session

from autoprog.errors import ConflictError, Fault, InvalidInputError
from autoprog.storage.database import database_now, insert_if_absent
from autoprog.storage.tables import IdempotencyKeyRow

_KEPT = timedelta(hours=24)

LEASE_S = 10.0
"""Seconds since its last sign of life for which a request counts as running; after that it has died."""


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """The first answer to a request.

    Attributes
    ----------
    status : int
        HTTP status, below 500.
    headers : mapping
        Headers to repeat (`Location`, `Retry-After`, `Content-Type`).
    body : bytes
        The body as sent.
    subject_id : str or None
        The answer's resource, with which the answer is deleted.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    subject_id: str | None = None


class IdempotencyRepository:
    """Requests with an `Idempotency-Key`, by owner, route and key, stored for 24 hours.

    Commit `begin` on its own before the work, so that a second request sees the first; run `extend` in transactions
    beside the work, and `finish` in the work's own, so that answer and work are stored together.

    Parameters
    ----------
    session : Session
        The transaction.
    owner_id : str
        The owner.
    route : str
        Method and path template.
    key : str
        The client's key, at most 255 characters.
    attempt : str
        Identifies this request among those with the same key; at most 32 characters.
    """

    def __init__(self, session: Session, owner_id: str, route: str, key: str, attempt: str) -> None:
        self._session = session
        self._place = {"owner_id": owner_id, "route": route, "key": key}
        self._mine = {**self._place, "attempt": attempt}

    def begin(self, body_sha256: str) -> StoredAnswer | None:
        """Announce a request.

        Parameters
        ----------
        body_sha256 : str
            Digest of the body.

        Returns
        -------
        StoredAnswer or None
            The answer to repeat; None for a new request.

        Raises
        ------
        InvalidInputError
            If the key was used with another body.
        ConflictError
            If the first request is still running.
        """
        now = database_now(self._session)
        self._session.execute(delete(IdempotencyKeyRow).filter_by(**self._place).where(_expired(now)))
        lease_until = now + timedelta(seconds=LEASE_S)
        values = {**self._mine, "body_sha256": body_sha256, "created_at": now, "lease_until": lease_until}
        if insert_if_absent(self._session, IdempotencyKeyRow, values):
            return None
        row = self._session.scalars(select(IdempotencyKeyRow).filter_by(**self._place)).one()
        if row.body_sha256 != body_sha256:
            raise InvalidInputError([Fault("/headers/idempotency-key", "was used before with another body")])
        if row.status is None:
            msg = "the first request with this Idempotency-Key is still running"
            raise ConflictError(msg)
        return StoredAnswer(row.status, row.headers or {}, row.body or b"", row.subject_id)

    def extend(self) -> None:
        """Report that the request is still running."""
        lease_until = database_now(self._session) + timedelta(seconds=LEASE_S)
        self._session.execute(update(IdempotencyKeyRow).filter_by(**self._mine).values(lease_until=lease_until))

    def finish(self, answer: StoredAnswer) -> None:
        """Store the answer; raises ConflictError if another request took over: this one's work must be discarded."""
        mine = select(IdempotencyKeyRow).filter_by(**self._mine).with_for_update()
        row = self._session.scalars(mine).one_or_none()
        if row is None:
            msg = "another request with this Idempotency-Key was begun meanwhile"
            raise ConflictError(msg)
        row.status, row.headers, row.body = answer.status, dict(answer.headers), answer.body
        row.subject_id = answer.subject_id
        self._session.flush()

    def forget(self) -> None:
        """Allow the request to be repeated, as after an answer of 500 or above; a stored answer stays."""
        # The connection may have broken off just after the work and its answer were committed.
        unanswered = IdempotencyKeyRow.status.is_(None)
        self._session.execute(delete(IdempotencyKeyRow).filter_by(**self._mine).where(unanswered))


def delete_old_answers(session: Session) -> None:
    """Delete the answers and unfinished requests of all owners that are older than 24 hours."""
    is_old = IdempotencyKeyRow.created_at <= database_now(session) - _KEPT
    session.execute(delete(IdempotencyKeyRow).where(is_old))


def _expired(now: datetime) -> ColumnElement[bool]:
    lease_until = IdempotencyKeyRow.lease_until
    is_dead = or_(lease_until.is_(None), lease_until <= now)
    return or_(
        IdempotencyKeyRow.created_at <= now - _KEPT,
        and_(IdempotencyKeyRow.status.is_(None), is_dead),
    )
