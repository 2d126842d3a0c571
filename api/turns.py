"""Turns to compute: few requests compute at once; the others wait on the event loop, where they hold no thread.

So a request for a status always finds a thread, and one owner's requests do not delay another's: the owner with fewest
running is next. A request whose client leaves while it waits is not begun.
"""

from __future__ import annotations

import asyncio
import math
import os
import threading
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import Future
from contextlib import asynccontextmanager

from starlette.requests import ClientDisconnect

from api.problems import QueueFullError

_LOOK_S = 1.0
_RETRY_AFTER_S = 5

AT_ONCE = max(2, os.cpu_count() or 1)
"""Largest number of requests that compute at once; more would only share the cores."""

MAX_WAITING = 100
"""Largest number of one owner's requests that wait for their turn."""


class OutOfPatienceError(Exception):
    """No turn came in time."""


class Turns:
    """The requests that compute and wait, over all threads and event loops of a process."""

    def __init__(self, at_once: int = AT_ONCE, most_waiting: int = MAX_WAITING) -> None:
        self._at_once = at_once
        self._most_waiting = most_waiting
        self._lock = threading.Lock()
        self._running: Counter[str] = Counter()
        self._lines: dict[str, deque[Future[None]]] = {}
        self._given = 0
        self._last: dict[str, int] = {}  # number of the last turn of each owner with requests running or waiting

    @asynccontextmanager
    async def turn(
        self, owner_id: str, has_left: Callable[[], Awaitable[bool]] | None = None, patience_s: float = math.inf
    ) -> AsyncIterator[None]:
        """Wait for a turn and hold it while the block runs.

        Raises QueueFullError, ClientDisconnect if `has_left` says so, and OutOfPatienceError after `patience_s`.
        """
        mine = self._stand_in_line(owner_id)
        try:
            if not mine.done():
                await _wait(mine, has_left, patience_s)
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
                self._running += Counter()  # drops owners with no running request
            else:
                self._lines[owner_id].remove(mine)
                if not self._lines[owner_id]:
                    del self._lines[owner_id]
            self._give()

    def _give(self) -> None:
        """Give free turns to the owners with fewest running requests; among equals, to the one that waited longest."""
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


async def _wait(mine: Future[None], has_left: Callable[[], Awaitable[bool]] | None, patience_s: float) -> None:
    given, end = asyncio.wrap_future(mine), time.monotonic() + patience_s
    while not mine.done():
        left_s = end - time.monotonic()
        if left_s <= 0:
            raise OutOfPatienceError
        # Hundreds may wait at once, so each wakes as rarely as it can.
        wait_s = left_s if has_left is None else min(_LOOK_S, left_s)
        await asyncio.wait({given}, timeout=None if math.isinf(wait_s) else wait_s)
        if has_left is not None and not mine.done() and await has_left():
            raise ClientDisconnect
