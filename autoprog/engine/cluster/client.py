"""Dask's client for calls: what workers answer reaches it as bytes, which it neither unpickles nor prints."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from weakref import WeakSet

from distributed import Client, Future
from distributed.client import ClosedClientError
from distributed.comm import Comm
from distributed.security import Security

from autoprog.engine.cluster.transport import PeerBytes, RefusedMessageError, RemoteError, guarded_address

MOST_SLOTS_OF_A_WORKER, MOST_SLOTS = 1024, 65_536
"""What a worker, and all of them, may claim: a search plans its batches and its time by their number."""


class LostTaskError(Exception):
    """No worker ran a task to its end."""


def slots_of(threads: object) -> int:
    """Count the calls that run at once in what a scheduler says of its workers; raises RemoteError."""
    if not isinstance(threads, dict) or not all(type(number) is int for number in threads.values()):
        raise RemoteError("the scheduler does not say how many calls run at once")
    claimed: list[int] = list(threads.values())
    if any(number < 0 for number in claimed):
        raise RemoteError("a worker claims fewer slots than none")
    return min(sum(min(number, MOST_SLOTS_OF_A_WORKER) for number in claimed), MOST_SLOTS)


class CallClient(Client):  # type: ignore[misc]
    """Client of a scheduler over guarded connections; see `transport`."""

    status: str

    def __init__(self, address: str, security: Security | None, connect_s: float) -> None:
        # Dask forgets connections on which it did not understand the scheduler.
        self._opened: WeakSet[Comm] = WeakSet()
        super().__init__(
            guarded_address(address),
            security=security,
            timeout=connect_s,
            set_as_default=False,
            name="autoprog",
            direct_to_workers=False,
        )

    async def _start(self, *arguments: object, **options: object) -> Client:
        """Connect; raises OSError, whatever the scheduler answers."""
        self.connection_args["opened"] = self.rpc.connection_args["opened"] = self._opened
        try:
            return await super()._start(*arguments, **options)
        except (OSError, ImportError):
            raise
        except Exception as error:  # with TLS a ValueError, if the connection broke off; any from a scheduler that lies
            await self._close()
            raise ConnectionError("the scheduler does not answer as one does") from error

    async def _close(self, fast: bool = False) -> None:  # noqa: FBT001, FBT002  Dask's signature
        """Disconnect."""
        try:
            await super()._close(fast)
        finally:
            for connection in list(self._opened):
                connection.abort()

    @contextmanager
    def losses(self) -> Iterator[None]:
        """Raise OSError in the block whenever the client has lost its scheduler, whatever it says itself."""
        try:
            yield
        except ClosedClientError as error:
            raise ConnectionError("the scheduler was lost") from error
        except RuntimeError as error:  # a client that gives up ends its loop, while others may still wait for it
            if self.status == "running":
                raise
            raise ConnectionError("the scheduler was lost") from error

    def count_slots(self, answer_s: float) -> int:
        """Count the calls that workers run at once; raises OSError without an answer within `answer_s`."""
        with self.losses():
            threads = self.sync(self.scheduler.ncores, callback_timeout=answer_s)
        return slots_of(threads)

    def fetch(self, future: Future, answer_s: float) -> bytes | None:
        """Fetch what a finished task returned, as bytes; None if it was lost. Raises OSError, RefusedMessageError."""
        # One task a message: what one worker sent must not spoil the answers of others.
        with self.losses():
            reply = self.sync(self.scheduler.gather, keys=[future.key], callback_timeout=answer_s)
        if not isinstance(reply, dict) or not isinstance(data := reply.get("data", {}), dict):
            raise RefusedMessageError("an answer in a form that is none")
        if reply.get("status") != "OK":
            return None
        sealed = data.get(future.key)
        if not isinstance(sealed, PeerBytes):
            raise RefusedMessageError("an answer without data")
        return sealed.open()

    async def _handle_report(self) -> None:
        """Listen to the scheduler; a client that cannot any more does not count as running."""
        with suppress(Exception):  # a message that its handler does not expect
            await super()._handle_report()
        if self.status == "running":
            self.status = "connecting"

    async def _reconnect(self) -> None:
        """Stay away: the engine connects by a new client, and sends its calls again."""
        self.scheduler_comm = None

    def _handle_task_erred(self, key: str | None = None, **_: object) -> None:
        """Note that a task failed. Why stands in a pickle; tasks of ours raise nothing."""
        state = self.futures.get(key)
        if state is not None:
            state.set_error(LostTaskError(), None)

    async def _handle_event(self, **_: object) -> None:
        """Ignore what workers would print or warn of here."""
