"""Limit on how much of one owner waits for a runner, so that one client cannot keep all others waiting."""

from __future__ import annotations

from sqlalchemy.orm import Session

from api.dependencies import Context
from api.problems import QueueFullError
from autoprog.storage.repositories import QueueRepository


def require_room(context: Context, session: Session, owner_id: str) -> None:
    """Raise QueueFullError if the owner has as many searches and jobs waiting as allowed."""
    most = context.settings.queued
    if QueueRepository(session).waiting(owner_id) >= most:
        raise QueueFullError(f"{most:,} searches and jobs wait for a runner, as many as may: ask again later")
