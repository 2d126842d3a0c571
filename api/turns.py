"""Turns to compute: few requests compute at once, the others wait on the event loop, where they take no thread.

So reads of a status find a thread however much is asked for, and one owner's requests do not keep another's waiting:
whoever has fewest running is next. A request whose client leaves while it waits is not begun.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections import Counter, deque
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import Future
from contextlib import asynccontextmanager

from starlette.requests import ClientDisconnect

from api.problems import QueueFullError

_LOOK_S = 0.2
_RETRY_AFTER_S = 5

AT_ONCE = max(2, os.cpu_count() or 1)
"""Requests that compute at the same time: more would only share the cores."""

MAX_WAITING = 100
"""Requests of one owner that wait for their turn."""


class Turns:
    """Who computes and who waits, over all threads and event loops of a process.

    Parameters
    ----------
    at_once : int
        Turns that are given at the same time, at least 1.
    most_waiting : int
        Requests of one owner that wait.
    """

    def __init__(self, at_once: int = AT_ONCE, most_waiting: int = MAX_WAITING) -> None:
        self._at_once = at_once
        self._most_waiting = most_waiting
        self._lock = threading.Lock()
        self._running: Counter[str] = Counter()
        self._lines: dict[str, deque[Future[None]]] = {}
        self._given = 0
        self._last: dict[str, int] = {}  # number of the last turn that an owner was given who has others in hand

    @asynccontextmanager
    async def turn(self, owner_id: str, has_left: Callable[[], Awaitable[bool]]) -> AsyncIterator[None]:
        """Wait for a turn, and keep it as long as the block runs.

        Parameters
        ----------
        owner_id : str
            Who asks.
        has_left : callable
            Whether nobody waits for the answer any longer; asked now and then while waiting.

        Raises
        ------
        QueueFullError
            If enough of this owner's requests wait already.
        ClientDisconnect
            If the client has left.
        """
        mine = self._stand_in_line(owner_id)
        try:
            given = asyncio.wrap_future(mine)
            while not mine.done():
                await asyncio.wait({given}, timeout=_LOOK_S)
                if not mine.done() and await has_left():
                    raise ClientDisconnect
            yield
        finally:
            self._leave(owner_id, mine)

    def _stand_in_line(self, owner_id: str) -> Future[None]:
        mine: Future[None] = Future()
        with self._lock:
            line = self._lines.get(owner_id, deque())
            if len(line) >= self._most_waiting:
                detail = f"{self._most_waiting} requests wait to be computed, as many as may: ask again later"
                raise QueueFullError(detail, retry_after_s=_RETRY_AFTER_S)
            self._lines[owner_id] = line
            line.append(mine)
            self._give()
        return mine

    def _leave(self, owner_id: str, mine: Future[None]) -> None:
        with self._lock:
            if mine.done():
                self._running[owner_id] -= 1
                self._running += Counter()  # forgets whoever has none
            else:
                self._lines[owner_id].remove(mine)
                if not self._lines[owner_id]:
                    del self._lines[owner_id]
            self._give()

    def _give(self) -> None:
        """Let those be next who have fewest running, and of these whoever was not given a turn for longest."""
        while self._lines and self._running.total() < self._at_once:
            owner_id = min(self._lines, key=lambda each: (self._running[each], self._last.get(each, 0)))
            line = self._lines[owner_id]
            line.popleft().set_result(None)
            if not line:
                del self._lines[owner_id]
            self._running[owner_id] += 1
            self._given += 1
            self._last[owner_id] = self._given
        self._last = {each: number for each, number in self._last.items() if each in self._lines or self._running[each]}
