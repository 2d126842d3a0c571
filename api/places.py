"""Places for requests that use the database; the others wait on the event loop, where they hold nothing.

A request keeps its connection until its response is ready, for which it needs a thread. Without places all threads may
wait for connections, while all that have one wait for a thread.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from anyio import Semaphore, fail_after
from anyio.lowlevel import RunVar

from autoprog.errors import StoreUnavailableError


class Places:
    """A number of places, at least 1; each event loop has as many of its own.

    Parameters
    ----------
    most : int
        Number of places.
    patience_s : float
        Seconds after which a request no longer waits.
    """

    def __init__(self, most: int, patience_s: float) -> None:
        self._most = max(1, most)
        self._patience_s = patience_s
        self._of_loop: RunVar[Semaphore] = RunVar(f"places of {id(self)}")

    @asynccontextmanager
    async def take(self) -> AsyncIterator[None]:
        """Wait for a place and hold it while the block runs; raises StoreUnavailableError if it takes too long."""
        places = self._of_loop.get(None)
        if places is None:
            places = Semaphore(self._most)
            self._of_loop.set(places)
        try:
            with fail_after(self._patience_s):
                await places.acquire()
        except TimeoutError:
            msg = "too many requests wait for the database"
            raise StoreUnavailableError(msg) from None
        try:
            yield
        finally:
            places.release()
