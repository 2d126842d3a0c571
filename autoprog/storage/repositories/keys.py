"""Queries on owners and their API keys."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable, Sequence
from hmac import compare_digest

from sqlalchemy import select
from sqlalchemy.orm import Session

from autoprog.errors import NotFoundError
from autoprog.storage.database import database_now, insert_if_absent
from autoprog.storage.ids import is_id, new_id
from autoprog.storage.tables import ApiKeyRow, OwnerRow

_PREFIX = "ap"


class KeyRepository:
    """Owners and keys.

    Parameters
    ----------
    session : Session
        The transaction to work in.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    def ensure_owner(self, name: str) -> OwnerRow:
        """Find an owner, or make it.

        Parameters
        ----------
        name : str
            Unique, at most 200 characters.

        Returns
        -------
        OwnerRow
            The one owner of this name, also when two processes ask at once.
        """
        values = {"id": new_id(), "name": name, "created_at": database_now(self._session)}
        insert_if_absent(self._session, OwnerRow, values)
        return self._session.scalars(select(OwnerRow).where(OwnerRow.name == name)).one()

    def create(self, owner_name: str, scopes: Iterable[str]) -> tuple[ApiKeyRow, str]:
        """Make a key.

        Parameters
        ----------
        owner_name : str
            Whom it speaks for; made when new.
        scopes : iterable of str
            What it may do.

        Returns
        -------
        key : ApiKeyRow
            As it is kept.
        text : str
            What the client sends, `ap_<id>_<secret>`; it cannot be read again.
        """
        secret = secrets.token_urlsafe(32)
        row = ApiKeyRow(
            id=new_id(),
            owner_id=self.ensure_owner(owner_name).id,
            secret_sha256=_digest(secret),
            scopes=sorted(set(scopes)),
            created_at=database_now(self._session),
        )
        self._session.add(row)
        self._session.flush()
        return row, f"{_PREFIX}_{row.id}_{secret}"

    def authenticate(self, text: str) -> ApiKeyRow | None:
        """Find the key that a client has sent.

        Parameters
        ----------
        text : str
            As it came.

        Returns
        -------
        ApiKeyRow or None
            None if it is unknown or revoked.
        """
        prefix, _, rest = text.partition("_")
        key_id, _, secret = rest.partition("_")
        row = self._session.get(ApiKeyRow, key_id) if prefix == _PREFIX and is_id(key_id) else None
        # A plain digest will do: the secret is 256 random bits, not a password that could be guessed.
        if row is None or row.revoked_at is not None or not compare_digest(row.secret_sha256, _digest(secret)):
            return None
        return row

    def is_live(self, key_id: str) -> bool:
        """Whether a key that was authenticated before has not been revoked since."""
        row = self._session.get(ApiKeyRow, key_id)
        return row is not None and row.revoked_at is None

    def were_made(self) -> bool:
        """Whether there has ever been a key: one that was revoked does not open the server to those without one."""
        return self._session.scalar(select(ApiKeyRow.id).limit(1)) is not None

    def exists(self) -> bool:
        """Whether there is a key that has not been revoked."""
        live = select(ApiKeyRow.id).where(ApiKeyRow.revoked_at.is_(None)).limit(1)
        return self._session.scalar(live) is not None

    def of_owner(self, owner_name: str) -> Sequence[ApiKeyRow]:
        """List the keys of an owner, oldest first."""
        query = select(ApiKeyRow).join(OwnerRow, OwnerRow.id == ApiKeyRow.owner_id).where(OwnerRow.name == owner_name)
        return self._session.scalars(query.order_by(ApiKeyRow.created_at, ApiKeyRow.id)).all()

    def revoke(self, key_id: str) -> None:
        """End the life of a key.

        Parameters
        ----------
        key_id : str
            The part of the key that may be shown.

        Raises
        ------
        NotFoundError
            If there is no such key.
        """
        row = self._session.get(ApiKeyRow, key_id) if is_id(key_id) else None
        if row is None:
            msg = "there is no key with this id"
            raise NotFoundError(msg)
        row.revoked_at = row.revoked_at or database_now(self._session)
        self._session.flush()


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
