"""Queries on owners, their API keys, and the people who work for them."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta
from hmac import compare_digest

from sqlalchemy import and_, select, update
from sqlalchemy.orm import Session

from autoprog.errors import NotFoundError
from autoprog.settings import PERSON_KEYS_DAYS
from autoprog.storage.database import database_now, insert_if_absent, is_id, new_id
from autoprog.storage.tables import ApiKeyRow, OwnerRow

_PREFIX = "ap"
_ANY_KEY = select(ApiKeyRow.id).limit(1)


def is_key(text: str) -> bool:
    """Test whether a text looks like a key."""
    return text.startswith(f"{_PREFIX}_")


class KeyRepository:
    """Owners, their keys, and people of the identity provider, who stand among the keys without a secret.

    Parameters
    ----------
    session : Session
        The transaction.
    vouched : timedelta
        Time since a person's last log-in after which the keys that she has made end.
    """

    def __init__(self, session: Session, vouched: timedelta = timedelta(days=PERSON_KEYS_DAYS)) -> None:
        self._session = session
        self._vouched = vouched

    def ensure_owner(self, name: str) -> OwnerRow:
        """Find or create the owner of a name of at most 200 characters; safe in concurrent calls."""
        values = {"id": new_id(), "name": name, "created_at": database_now(self._session)}
        insert_if_absent(self._session, OwnerRow, values)
        return self._session.scalars(select(OwnerRow).where(OwnerRow.name == name)).one()

    def owner(self, owner_id: str) -> OwnerRow:
        """Read an owner who exists."""
        return self._session.get_one(OwnerRow, owner_id)

    def lock_owner(self, owner_id: str) -> None:
        """Keep others from locking an owner until the transaction ends; they can still add what refers to her."""
        self._session.execute(select(OwnerRow.id).where(OwnerRow.id == owner_id).with_for_update(key_share=True))

    def create(
        self, owner_name: str, scopes: Iterable[str], *, life: timedelta | None = None, made_by: str | None = None
    ) -> tuple[ApiKeyRow, str]:
        """Create a key, and its owner if new.

        Parameters
        ----------
        owner_name : str
            The key's owner.
        scopes : iterable of str
            The key's permissions.
        life : timedelta or None
            Time until it expires; None for never.
        made_by : str or None
            Identifier of the person who makes it, with whose access it ends.

        Returns
        -------
        key : ApiKeyRow
            The stored row.
        text : str
            The text that the client sends, `ap_<id>_<secret>`; it cannot be read again.

        Raises
        ------
        NotFoundError
            If the person has been blocked.
        """
        if made_by is not None:
            self._lock_person(made_by)
        secret, now = secrets.token_urlsafe(32), database_now(self._session)
        row = ApiKeyRow(
            id=new_id(),
            owner_id=self.ensure_owner(owner_name).id,
            secret_sha256=_digest(secret),
            scopes=sorted(set(scopes)),
            created_at=now,
            expires_at=None if life is None else now + life,
            made_by=made_by,
        )
        self._session.add(row)
        self._session.flush()
        return row, f"{_PREFIX}_{row.id}_{secret}"

    def rotate(self, key_id: str, overlap: timedelta) -> tuple[ApiKeyRow, str]:
        """Create a key with the same owner, scopes and life as another, which ends after an overlap.

        A key may be rotated again during its overlap, as when the text of its successor was lost.

        Parameters
        ----------
        key_id : str
            The public part of the other key.
        overlap : timedelta
            Time in which both are valid.

        Returns
        -------
        tuple of ApiKeyRow and str
            As `create` does.

        Raises
        ------
        NotFoundError
            If there is no such key, or it has ended, or it is a person.
        """
        row = self._get(key_id)
        if row.subject_sha256 is not None:
            msg = "this is a person, who has no key here: her identity provider lets her in"
            raise NotFoundError(msg)
        if not self.is_live(row):
            msg = "the key has ended"
            raise NotFoundError(msg)
        owner, life = self._session.get_one(OwnerRow, row.owner_id), self._life(row)
        ends_at = database_now(self._session) + overlap
        row.expires_at = ends_at if row.expires_at is None else min(row.expires_at, ends_at)
        new, text = self.create(owner.name, row.scopes, life=life, made_by=row.made_by)
        new.replaces = row.id
        self._session.flush()
        return new, text

    def authenticate(self, text: str) -> ApiKeyRow | None:
        """Find the key that a client has sent; None if it is unknown or has ended."""
        prefix, _, rest = text.partition("_")
        key_id, _, secret = rest.partition("_")
        row = self._session.get(ApiKeyRow, key_id) if prefix == _PREFIX and is_id(key_id) else None
        # A plain digest suffices: the secret is 256 random bits, not a password that could be guessed.
        if row is None or not compare_digest(row.secret_sha256, _digest(secret)) or not self.is_live(row):
            return None
        return row

    def find_person(self, subject_sha256: str) -> ApiKeyRow | None:
        """Find a person by the digest of issuer, subject and owner; a blocked one has `revoked_at`."""
        return self._session.scalars(select(ApiKeyRow).where(ApiKeyRow.subject_sha256 == subject_sha256)).one_or_none()

    def record_person(self, subject_sha256: str, name: str, owner_name: str, scopes: Iterable[str]) -> ApiKeyRow:
        """Record a person, and her owner if new; replace name and scopes of a known one. Safe in concurrent calls.

        Parameters
        ----------
        subject_sha256 : str
            Digest of issuer, subject and owner.
        name : str
            At most 200 characters.
        owner_name : str
            For whom she works.
        scopes : iterable of str
            What she may do, by the provider's last token.

        Returns
        -------
        ApiKeyRow
            With `revoked_at` if she is blocked.
        """
        granted = sorted(scopes)
        values = {
            "id": new_id(),
            "owner_id": self.ensure_owner(owner_name).id,
            "secret_sha256": _digest(secrets.token_urlsafe(32)),  # of no key: nobody knows it
            "scopes": granted,
            "created_at": database_now(self._session),
            "subject_sha256": subject_sha256,
            "person": name,
        }
        insert_if_absent(self._session, ApiKeyRow, values)
        row = self._session.scalars(select(ApiKeyRow).where(ApiKeyRow.subject_sha256 == subject_sha256)).one()
        row.scopes, row.person = granted, name
        self._session.flush()
        return row

    def unblock(self, key_id: str) -> None:
        """Let a person in again, without her former keys. Raises NotFoundError if there is none, or it is a key."""
        row = self._get(key_id)
        if row.subject_sha256 is None:
            msg = "this is a key, and a revoked key stays revoked: make another"
            raise NotFoundError(msg)
        row.revoked_at = None
        self._session.flush()

    def note_use(self, key_id: str) -> None:
        """Record that a key was used now."""
        self._session.execute(
            update(ApiKeyRow).where(ApiKeyRow.id == key_id).values(used_at=database_now(self._session))
        )

    def is_live(self, row: ApiKeyRow, now: datetime | None = None) -> bool:
        """Check that a key has not ended at a time, or now: not revoked, not expired, and its maker still logs in."""
        if row.revoked_at is not None:
            return False
        if row.expires_at is None and row.made_by is None:  # the time need not be asked for
            return True
        now = now or database_now(self._session)
        if row.expires_at is not None and row.expires_at <= now:
            return False
        if row.made_by is None:
            return True
        maker = self._session.get_one(ApiKeyRow, row.made_by)
        return now - (maker.used_at or maker.created_at) < self._vouched

    def live(self, key_ids: Collection[str]) -> set[str]:
        """Select the keys that have not ended."""
        if not key_ids:
            return set()
        rows = self._session.scalars(select(ApiKeyRow).where(ApiKeyRow.id.in_(key_ids))).all()
        now = database_now(self._session)
        return {row.id for row in rows if self.is_live(row, now)}

    def scopes(self, row: ApiKeyRow) -> frozenset[str]:
        """Scopes that a key has now: of those that it was made with, what its maker may still do."""
        given = frozenset(row.scopes)
        return given if row.made_by is None else given & set(self._session.get_one(ApiKeyRow, row.made_by).scopes)

    def were_made(self) -> bool:
        """Check whether any key was ever made: a revoked one does not open the server to clients without a key."""
        return self._session.connection().execute(_ANY_KEY).one_or_none() is not None

    def exists(self) -> bool:
        """Check whether any key has not ended."""
        now = database_now(self._session)
        return any(self.is_live(row, now) for row in self._session.scalars(select(ApiKeyRow)))

    def all(self, owner_name: str | None = None) -> Sequence[tuple[str, ApiKeyRow]]:
        """List the keys of an owner, or of all, with the owner's name: by owner, oldest first."""
        query = select(OwnerRow.name, ApiKeyRow).join(OwnerRow, OwnerRow.id == ApiKeyRow.owner_id)
        if owner_name is not None:
            query = query.where(OwnerRow.name == owner_name)
        return [(name, row) for name, row in self._session.execute(query.order_by(OwnerRow.name, ApiKeyRow.id))]

    def of_owner(self, owner_id: str) -> Sequence[ApiKeyRow]:
        """List the keys of an owner, ended ones included."""
        return self._session.scalars(select(ApiKeyRow).where(ApiKeyRow.owner_id == owner_id)).all()

    def get(self, owner_id: str, key_id: str) -> ApiKeyRow:
        """Read a key of an owner. Raises NotFoundError."""
        row = self._get(key_id)
        if row.owner_id != owner_id:
            msg = "there is no key with this id"
            raise NotFoundError(msg)
        return row

    def revoke(self, key_id: str) -> None:
        """Revoke a key, or block a person and revoke the keys that she has made. Raises NotFoundError."""
        row, now = self._get(key_id), database_now(self._session)
        row.revoked_at = row.revoked_at or now
        self._session.flush()  # first: a key that she makes meanwhile waits for this row, and is refused
        hers = and_(ApiKeyRow.made_by == row.id, ApiKeyRow.revoked_at.is_(None))
        self._session.execute(update(ApiKeyRow).where(hers).values(revoked_at=now))

    def _get(self, key_id: str) -> ApiKeyRow:
        row = self._session.get(ApiKeyRow, key_id) if is_id(key_id) else None
        if row is None:
            msg = "there is no key with this id"
            raise NotFoundError(msg)
        return row

    def _life(self, row: ApiKeyRow) -> timedelta | None:
        """The time for which a key was made; one that was rotated ends earlier, but the key in its place has it."""
        first = select(ApiKeyRow).where(ApiKeyRow.replaces == row.id).order_by(ApiKeyRow.id).limit(1)
        successor = self._session.scalars(first).one_or_none()
        if successor is not None:
            return self._life(successor)
        return None if row.expires_at is None else row.expires_at - row.created_at

    def _lock_person(self, person_id: str) -> None:
        """Keep a person from being blocked until the transaction ends. Raises NotFoundError if she is."""
        query = select(ApiKeyRow.revoked_at).where(ApiKeyRow.id == person_id).with_for_update()
        if self._session.execute(query).one().revoked_at is not None:
            msg = "the person who makes this key is blocked"
            raise NotFoundError(msg)


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
