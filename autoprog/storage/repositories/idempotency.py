"""Queries on the answers that are kept for clients who ask again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, and_, delete, or_, select
from sqlalchemy.orm import Session

from autoprog.errors import ConflictError, Fault, InvalidInputError
from autoprog.storage.database import database_now, insert_if_absent
from autoprog.storage.tables import IdempotencyKeyRow

_KEPT = timedelta(hours=24)
_ABANDONED = timedelta(minutes=15)  # a request that runs longer than this has died with its process


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """The first answer to a request.

    Attributes
    ----------
    status : int
        HTTP status, below 500.
    headers : mapping
        Those to send again (`Location`, `Retry-After`, `Content-Type`).
    body : bytes
        As it was sent.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes


class IdempotencyRepository:
    """Requests with an `Idempotency-Key`, by owner, route and key; each is kept for 24 hours.

    `begin` belongs into a transaction of its own, committed before the work starts, so that a second request sees that
    the first is running; `finish` into the transaction of the work, so that an answer is kept exactly when the work is.

    Parameters
    ----------
    session : Session
        The transaction to work in.
    owner_id : str
        Who asks.
    route : str
        Method and path template.
    key : str
        As the client sent it, at most 255 characters.
    """

    def __init__(self, session: Session, owner_id: str, route: str, key: str) -> None:
        self._session = session
        self._place = {"owner_id": owner_id, "route": route, "key": key}

    def begin(self, body_sha256: str) -> StoredAnswer | None:
        """Announce a request.

        Parameters
        ----------
        body_sha256 : str
            Digest of what was sent.

        Returns
        -------
        StoredAnswer or None
            The answer to give again; None if the request is new and must be worked on.

        Raises
        ------
        InvalidInputError
            If the key was used with another body.
        ConflictError
            If the first request is still running.
        """
        now = database_now(self._session)
        self._session.execute(delete(IdempotencyKeyRow).where(_expired(now)))
        values = {**self._place, "body_sha256": body_sha256, "created_at": now}
        if insert_if_absent(self._session, IdempotencyKeyRow, values):
            return None
        row = self._session.scalars(select(IdempotencyKeyRow).filter_by(**self._place)).one()
        if row.body_sha256 != body_sha256:
            raise InvalidInputError([Fault("/headers/idempotency-key", "was used before with another body")])
        if row.status is None:
            msg = "the first request with this Idempotency-Key is still running"
            raise ConflictError(msg)
        return StoredAnswer(row.status, row.headers or {}, row.body or b"")

    def finish(self, answer: StoredAnswer) -> None:
        """Keep the answer.

        Parameters
        ----------
        answer : StoredAnswer
            To give to whoever asks again.
        """
        row = self._session.scalars(select(IdempotencyKeyRow).filter_by(**self._place)).one()
        row.status, row.headers, row.body = answer.status, dict(answer.headers), answer.body
        self._session.flush()

    def forget(self) -> None:
        """Let the request be made again, as after an answer of 500 or above."""
        self._session.execute(delete(IdempotencyKeyRow).filter_by(**self._place))


def _expired(now: datetime) -> ColumnElement[bool]:
    return or_(
        IdempotencyKeyRow.created_at <= now - _KEPT,
        and_(IdempotencyKeyRow.status.is_(None), IdempotencyKeyRow.created_at <= now - _ABANDONED),
    )
