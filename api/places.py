"""Places for requests that use the database; the others wait on the event loop, where they hold nothing.

A request keeps its connection until its response is ready, for which it needs a thread. Without places all threads may
wait for connections, while all that have one wait for a thread.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from api.turns import OutOfPatienceError, Turns
from autoprog.errors import StoreUnavailableError


class Places:
    """A number of places, at least 1, for the requests of a process: who has fewest is next.

    Parameters
    ----------
    most : int
        Number of places.
    patience_s : float
        Seconds after which a request no longer waits.
    """

    def __init__(self, most: int, patience_s: float) -> None:
        self._turns = Turns(max(1, most), most_waiting=sys.maxsize)
        self._patience_s = patience_s

    @asynccontextmanager
    async def take(self, who: str) -> AsyncIterator[None]:
        """Wait for an owner's place and hold it while the block runs; raises StoreUnavailableError if it takes long."""
        try:
            async with self._turns.turn(who, patience_s=self._patience_s):
                yield
        except OutOfPatienceError:
            msg = "too many requests wait for the database"
            raise StoreUnavailableError(msg) from None
