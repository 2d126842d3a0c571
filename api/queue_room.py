"""How much of one owner may wait for a runner: one client that queues without end would keep the others' waiting."""

from __future__ import annotations

from sqlalchemy.orm import Session

from api.dependencies import Context
from api.problems import QueueFullError
from autoprog.storage.repositories import QueueRepository


def require_room(context: Context, session: Session, owner_id: str) -> None:
    """Refuse to queue a search or a job of an owner of whom enough is waiting.

    Parameters
    ----------
    context : Context
        Its settings say how much is enough.
    session : Session
        Reads.
    owner_id : str
        Who asks.

    Raises
    ------
    QueueFullError
        If there is no room; there will be once a runner has taken something.
    """
    most = context.settings.queued
    if QueueRepository(session).waiting(owner_id) >= most:
        raise QueueFullError(f"{most:,} searches and jobs wait for a runner, as many as may: ask again later")
