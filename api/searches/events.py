"""Follow searches: their events as they are written, and one at the end of each.

One look at the database finds the news of all streams of a process: a look for each of a hundred would take a core.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace

from fastapi.concurrency import run_in_threadpool
from fastapi.sse import ServerSentEvent
from sqlalchemy.orm import Session

from api.problems import UnauthorizedError
from autoprog.errors import NotFoundError, StoreUnavailableError
from autoprog.storage.database import Database
from autoprog.storage.events import finished_payload
from autoprog.storage.repositories import KeyRepository, SearchRepository
from autoprog.storage.tables import SearchEventRow

_LOOK_S = 0.3
_OUTAGE_S = 60.0  # a database that does not answer for so long ends the streams
_FINISHED = "finished"

Events = Sequence[ServerSentEvent]
_Found = tuple[Future[Events], Events | Exception]


@dataclass(frozen=True, slots=True)
class Followed:
    """A search as one stream has followed it so far."""

    owner_id: str
    search_id: str
    after: int  # number of the last event sent
    key_id: str | None  # None for the owner of a local server without keys


class Followers:
    """The streams of a process, over all its event loops; a thread looks for news while any of them waits.

    A stream that waits stands in `_waiting`. It leaves when it ends, and the thread takes it out to tell it its news:
    each is told at most once.
    """

    def __init__(self, database: Database, keys: Callable[[Session], KeyRepository]) -> None:
        self._database = database
        self._keys = keys
        self._lock = threading.Lock()
        self._waiting: dict[Future[Events], Followed] = {}
        self._is_looking = False
        self._answered = 0.0  # when the database last did

    async def follow(self, followed: Followed) -> AsyncIterator[ServerSentEvent]:
        """Yield a search's events, the last one `finished`; stop if search or key is gone.

        Raises StoreUnavailableError, at first at once and later if an outage lasts.
        """
        try:
            events = await run_in_threadpool(self._read, followed)  # what has happened so far
        except (NotFoundError, UnauthorizedError):
            return
        while True:
            for event in events:
                yield event
                if event.event == _FINISHED:
                    return
                followed = replace(followed, after=int(event.id or followed.after))
            try:
                events = await self._wait(followed)
            except (NotFoundError, UnauthorizedError):
                return

    async def _wait(self, followed: Followed) -> Events:
        news: Future[Events] = Future()
        try:
            with self._lock:
                self._waiting[news] = followed
                if not self._is_looking:
                    self._answered = time.monotonic()
                    threading.Thread(target=self._look_on, name="followers", daemon=True).start()
                    self._is_looking = True
            return await asyncio.wrap_future(news)
        finally:
            self._take_out(news)

    def _take_out(self, news: Future[Events]) -> bool:
        """Take a stream out of those that wait; return False if it was not among them any longer."""
        with self._lock:
            return self._waiting.pop(news, None) is not None

    def _look_on(self) -> None:
        """Tell those who wait their news, until nobody does."""
        try:
            while self._tell_news():
                pass
        except BaseException as error:
            with self._lock:
                self._is_looking = False  # the next to wait starts another thread
                left, self._waiting = self._waiting, {}
            for news in left:
                _complete(news, error)
            raise

    def _tell_news(self) -> bool:
        """Look once; return False if nobody waits."""
        time.sleep(_LOOK_S)
        with self._lock:
            asked = dict(self._waiting)
            self._is_looking = bool(asked)
        for news, found in self._look(asked) if asked else ():
            if self._take_out(news):
                _complete(news, found)
        return bool(asked)

    def _look(self, asked: Mapping[Future[Events], Followed]) -> list[_Found]:
        try:
            with self._database.session(read_only=True) as session:
                found = list(self._find(session, asked))
        except Exception as error:  # noqa: BLE001  every stream ends by it, as if it had looked itself
            is_short = time.monotonic() - self._answered < _OUTAGE_S
            return [] if isinstance(error, StoreUnavailableError) and is_short else [(news, error) for news in asked]
        self._answered = time.monotonic()
        return found

    def _find(self, session: Session, asked: Mapping[Future[Events], Followed]) -> Iterator[_Found]:
        """Yield what those are told who need not wait any longer."""
        live = self._keys(session).live({each.key_id for each in asked.values() if each.key_id is not None})
        places = SearchRepository(session).places({each.search_id for each in asked.values()})
        read: dict[tuple[str, int], Events | NotFoundError] = {}  # most streams of a search have come equally far
        for news, followed in asked.items():
            place = places.get(followed.search_id)
            if followed.key_id is not None and followed.key_id not in live:
                yield news, UnauthorizedError("the key was revoked")
            elif place is None:
                yield news, NotFoundError("the search was deleted")
            elif place.has_ended or place.last_event > followed.after:
                key = followed.search_id, followed.after
                if key not in read:
                    try:
                        read[key] = _read(session, followed)
                    except NotFoundError as error:  # deleted since its place was read
                        read[key] = error
                yield news, read[key]

    def _read(self, followed: Followed) -> Events:
        with self._database.session(read_only=True) as session:
            if followed.key_id is not None and not self._keys(session).live({followed.key_id}):
                raise UnauthorizedError("the key was revoked")
            return _read(session, followed)


def _complete(news: Future[Events], found: Events | BaseException) -> None:
    if not news.set_running_or_notify_cancel():  # its stream is just ending
        return
    if isinstance(found, BaseException):
        news.set_exception(found)
    else:
        news.set_result(found)


def _read(session: Session, followed: Followed) -> Events:
    searches = SearchRepository(session)
    search = searches.get(followed.owner_id, followed.search_id)
    # Read second: events of a search that is seen finished here are then complete.
    events = [_event(row) for row in searches.events(followed.owner_id, followed.search_id, after=followed.after)]
    if not events and search.finished_at is not None:
        payload = finished_payload(search.status, model_id=search.model_id, error=search.error)
        events = [ServerSentEvent(event=_FINISHED, id=str(followed.after), data=payload)]
    return events


def _event(row: SearchEventRow) -> ServerSentEvent:
    return ServerSentEvent(event=row.type, id=str(row.sequence), data=row.payload)
