"""Follow searches: their events as they are written, and one at the end of each.

One look at the database finds the news of all streams of a process: a look for each of a hundred would take a core.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import NamedTuple

from fastapi.concurrency import run_in_threadpool
from fastapi.sse import ServerSentEvent
from sqlalchemy.orm import Session

from api.problems import UnauthorizedError
from autoprog.errors import NotFoundError
from autoprog.storage.database import Database
from autoprog.storage.events import finished_payload
from autoprog.storage.repositories import KeyRepository, SearchRepository
from autoprog.storage.tables import SearchEventRow

_LOOK_S = 0.3
_FINISHED = "finished"

Events = Sequence[ServerSentEvent]


@dataclass(frozen=True, slots=True)
class Followed:
    """A search as one stream has followed it so far."""

    owner_id: str
    search_id: str
    after: int  # number of the last event sent
    key_id: str | None  # None for the owner of a local server without keys


class _Waiting(NamedTuple):
    followed: Followed
    news: Future[Events]


class Followers:
    """The streams of a process, over all its event loops; a thread looks for news while any of them waits."""

    def __init__(self, database: Database, keys: Callable[[Session], KeyRepository]) -> None:
        self._database = database
        self._keys = keys
        self._lock = threading.Lock()
        self._waiting: list[_Waiting] = []
        self._is_looking = False

    async def follow(self, followed: Followed) -> AsyncIterator[ServerSentEvent]:
        """Yield a search's events, the last one `finished`; stop if search or key is gone.

        Raises StoreUnavailableError.
        """
        is_behind = True
        while True:
            try:
                # What has happened so far is read at once.
                events = await (run_in_threadpool(self._read, followed) if is_behind else self._wait(followed))
            except (NotFoundError, UnauthorizedError):
                return
            is_behind = is_behind and bool(events)
            for event in events:
                yield event
                if event.event == _FINISHED:
                    return
                followed = replace(followed, after=int(event.id or followed.after))

    async def _wait(self, followed: Followed) -> Events:
        waiting = _Waiting(followed, Future())
        try:
            with self._lock:
                self._waiting.append(waiting)
                if not self._is_looking:
                    threading.Thread(target=self._look_on, name="followers", daemon=True).start()
                    self._is_looking = True
            return await asyncio.wrap_future(waiting.news)
        finally:
            with self._lock, suppress(ValueError):
                self._waiting.remove(waiting)

    def _look_on(self) -> None:
        """Tell those who wait their news, until nobody does."""
        try:
            while self._tell_news():
                pass
        except BaseException as error:
            with self._lock:  # the next to wait starts another thread
                self._is_looking = False
                left = self._unanswered()
            for waiting in left:
                _tell(waiting, error)
            raise

    def _tell_news(self) -> bool:
        """Look once; return False if nobody waits."""
        time.sleep(_LOOK_S)
        with self._lock:
            self._is_looking = bool(self._waiting)
            if not self._is_looking:
                return False
            asked = self._unanswered()
        for waiting, news in self._look(asked) if asked else ():
            _tell(waiting, news)
        return True

    def _unanswered(self) -> list[_Waiting]:
        # A late event loop has not yet removed those that have their news.
        return [waiting for waiting in self._waiting if not waiting.news.done()]

    def _look(self, asked: Sequence[_Waiting]) -> list[tuple[_Waiting, Events | Exception]]:
        try:
            with self._database.session(read_only=True) as session:
                return list(self._found(session, asked))
        except Exception as error:  # noqa: BLE001  every stream ends by it, as if it had looked itself
            return [(waiting, error) for waiting in asked]

    def _found(self, session: Session, asked: Sequence[_Waiting]) -> Iterator[tuple[_Waiting, Events | Exception]]:
        """Yield what those are told who need not wait any longer."""
        live = self._keys(session).live({w.followed.key_id for w in asked if w.followed.key_id is not None})
        places = SearchRepository(session).places({w.followed.search_id for w in asked})
        read: dict[tuple[str, int], Events | NotFoundError] = {}  # most streams of a search have come equally far
        for waiting in asked:
            followed = waiting.followed
            place = places.get(followed.search_id)
            if followed.key_id is not None and followed.key_id not in live:
                yield waiting, UnauthorizedError("the key was revoked")
            elif place is None:
                yield waiting, NotFoundError("the search was deleted")
            elif place.has_ended or place.last_event > followed.after:
                key = followed.search_id, followed.after
                if key not in read:
                    try:
                        read[key] = _read(session, followed)
                    except NotFoundError as error:  # deleted since its place was read
                        read[key] = error
                yield waiting, read[key]

    def _read(self, followed: Followed) -> Events:
        with self._database.session(read_only=True) as session:
            if followed.key_id is not None and not self._keys(session).live({followed.key_id}):
                raise UnauthorizedError("the key was revoked")
            return _read(session, followed)


def _tell(waiting: _Waiting, news: Events | BaseException) -> None:
    if not waiting.news.set_running_or_notify_cancel():  # its stream has ended
        return
    if isinstance(news, BaseException):
        waiting.news.set_exception(news)
    else:
        waiting.news.set_result(news)


def _read(session: Session, followed: Followed) -> Events:
    searches = SearchRepository(session)
    search = searches.get(followed.owner_id, followed.search_id)
    # Read second: events of a search that is seen finished here are then complete.
    events = [_event(row) for row in searches.events(followed.owner_id, followed.search_id, after=followed.after)]
    if not events and search.finished_at is not None:
        payload = finished_payload(search, model_id=search.model_id)
        events = [ServerSentEvent(event=_FINISHED, id=str(followed.after), data=payload)]
    return events


def _event(row: SearchEventRow) -> ServerSentEvent:
    return ServerSentEvent(event=row.type, id=str(row.sequence), data=row.payload)
