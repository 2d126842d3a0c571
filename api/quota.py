"""The quota of storage of an owner."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy.orm import Session

from api.dependencies import Context
from api.problems import QueueFullError
from autoprog.storage.files import Files, Kind, StoredFile
from autoprog.storage.repositories import KeyRepository
from autoprog.storage.stored_files import count_bytes, list_files

_MEGABYTE = 1_000_000
_RETRY_S = 3_600


def check_quota(context: Context, owner_id: str, contents: Mapping[Kind, bytes]) -> None:
    """Raise QueueFullError if an owner's files and these, which are not stored yet, would exceed the quota."""
    if context.settings.storage_mb is None:
        return
    added = {StoredFile(kind, Files.digest(content)): len(content) for kind, content in contents.items()}
    # Read separately: to store files must be the first that the writing transaction does.
    with context.database.session(read_only=True) as session:
        new = added.keys() - set(list_files(session, owner_id))
        used = count_bytes(session, owner_id) + sum(added[file] for file in new)
    _compare(context.settings.storage_mb, used)


def check_stored(context: Context, session: Session, owner_id: str) -> None:
    """Raise QueueFullError if an owner's files, those of this transaction included, exceed the quota."""
    # Others may have stored files since `check_quota`, and those who store at this moment must count one by one.
    if context.settings.storage_mb is not None:
        KeyRepository(session).lock_owner(owner_id)
        _compare(context.settings.storage_mb, count_bytes(session, owner_id))


def _compare(limit_mb: int, used: int) -> None:
    if used > limit_mb * _MEGABYTE:
        raise QueueFullError(
            f"with this there would be {used / _MEGABYTE:,.1f} MB of your files, and {limit_mb:,} MB are allowed: "
            "delete cohorts or models that you no longer need",
            retry_after_s=_RETRY_S,
        )
