"""Following a search: its events as they are written, and one that tells of its end."""

from __future__ import annotations

from collections.abc import AsyncIterator

import anyio
from fastapi.concurrency import run_in_threadpool
from fastapi.sse import ServerSentEvent

from api.dependencies import Context
from autoprog.errors import NotFoundError
from autoprog.storage.events import finished_payload
from autoprog.storage.repositories import SearchRepository
from autoprog.storage.tables import SearchEventRow

_POLL_S = 0.3
_FINISHED = "finished"


async def follow_search(context: Context, owner_id: str, search_id: str, after: int) -> AsyncIterator[ServerSentEvent]:
    """Tell what happens to a search until it ends.

    Parameters
    ----------
    context : Context
        Reads the events; each look is a short transaction in a thread.
    owner_id : str
        Who asks.
    search_id : str
        The search.
    after : int
        The last event that the client has seen; 0 for none.

    Yields
    ------
    ServerSentEvent
        The last one is `finished`, also for a client that has seen it; without one where the search is deleted.
    """
    while True:
        try:
            events = await run_in_threadpool(_look, context, owner_id, search_id, after)
        except NotFoundError:
            return
        for event in events:
            yield event
            if event.event == _FINISHED:
                return
            after = int(event.id or after)
        if not events:
            await anyio.sleep(_POLL_S)


def _look(context: Context, owner_id: str, search_id: str, after: int) -> list[ServerSentEvent]:
    with context.database.session(read_only=True) as session:
        searches = SearchRepository(session)
        search = searches.get(owner_id, search_id)
        # Read second: events of a search that is seen finished here are then complete.
        events = [_event(row) for row in searches.events(owner_id, search_id, after=after)]
        if not events and search.finished_at is not None:
            payload = finished_payload(search, model_id=search.model_id)
            events = [ServerSentEvent(event=_FINISHED, id=str(after), data=payload)]
        return events


def _event(row: SearchEventRow) -> ServerSentEvent:
    return ServerSentEvent(event=row.type, id=str(row.sequence), data=row.payload)
