"""Follow a search: its events as they are written, and one at its end."""

from __future__ import annotations

from collections.abc import AsyncIterator

import anyio
from fastapi.concurrency import run_in_threadpool
from fastapi.sse import ServerSentEvent

from api.auth import Principal
from api.dependencies import Context
from api.problems import UnauthorizedError
from autoprog.errors import NotFoundError
from autoprog.storage.events import finished_payload
from autoprog.storage.repositories import SearchRepository
from autoprog.storage.tables import SearchEventRow

_POLL_S = 0.3
_FINISHED = "finished"


async def follow_search(
    context: Context, principal: Principal, search_id: str, after: int
) -> AsyncIterator[ServerSentEvent]:
    """Yield a search's events after number `after`, the last one `finished`, or stop if search or key is gone."""
    while True:
        try:
            events = await run_in_threadpool(_look, context, principal, search_id, after)
        except (NotFoundError, UnauthorizedError):
            return
        for event in events:
            yield event
            if event.event == _FINISHED:
                return
            after = int(event.id or after)
        if not events:
            await anyio.sleep(_POLL_S)


def _look(context: Context, principal: Principal, search_id: str, after: int) -> list[ServerSentEvent]:
    owner_id = principal.owner_id
    with context.database.session(read_only=True) as session:
        if principal.key_id is not None and not context.keys(session).is_live(principal.key_id):
            raise UnauthorizedError("the key was revoked")
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
