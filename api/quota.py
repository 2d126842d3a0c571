"""The quota of storage of an owner."""

from __future__ import annotations

from sqlalchemy.orm import Session

from api.dependencies import Context
from api.problems import QueueFullError
from autoprog.storage.stored_files import count_bytes

_MEGABYTE = 1_000_000
_RETRY_S = 3_600


def check_quota(context: Context, session: Session, owner_id: str) -> None:
    """Raise QueueFullError if the files of an owner exceed the quota, those just stored included."""
    limit_mb = context.settings.storage_mb
    if limit_mb is not None and (used := count_bytes(session, owner_id)) > limit_mb * _MEGABYTE:
        raise QueueFullError(
            f"with this there would be {used / _MEGABYTE:,.1f} MB of your files, and {limit_mb:,} MB are allowed: "
            "delete cohorts or models that you no longer need",
            retry_after_s=_RETRY_S,
        )
