"""The engine of one machine: a thread for each slot takes calls in their order and watches the child that runs them."""

from __future__ import annotations

import atexit
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from threading import Event, Lock, Thread
from types import TracebackType
from typing import Self

from autoprog.engine.children import Children, read_outcome, write_call
from autoprog.engine.pending_calls import POLL_S, PendingCalls
from autoprog.errors import EngineUnavailableError
from autoprog.work import Call, CallLimits, CallOutcome, declared_value


@dataclass(frozen=True, slots=True)
class EngineHealth:
    """Whether calls can run now.

    Attributes
    ----------
    reachable : bool
        Whether the engine answers.
    slots : int
        Calls that run at once; 0 without a worker.
    """

    reachable: bool
    slots: int


@dataclass(frozen=True, eq=False, slots=True)
class _Order:
    """A call on its way to a child, and where its outcome, or an error of the engine, is awaited."""

    key: str
    kind: object  # of value that its function declares
    payload: bytes
    limits: CallLimits
    ended: SimpleQueue[tuple[_Order, CallOutcome | Exception]]
    cancelled: Event = field(default_factory=Event)


class LocalEngine:
    """Engine that runs calls in child processes of this process; close it.

    Parameters
    ----------
    slots : int
        Calls at once, at least 1.
    preload : sequence of str
        Plug-in modules that the children import to register algorithms.

    Notes
    -----
    The children take a few seconds to start; calls wait for them.
    """

    def __init__(self, slots: int, preload: Sequence[str] = ()) -> None:
        self._slots = slots
        self._children = Children(slots, preload)
        self._waiting: SimpleQueue[_Order | None] = SimpleQueue()
        self._running: set[_Order] = set()
        self._lock = Lock()
        self._closed = Event()
        self._children.start()
        self._threads = [Thread(target=self._work, name=f"autoprog-slot-{n}", daemon=True) for n in range(slots)]
        for thread in self._threads:
            thread.start()
        atexit.register(self.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Kill the children; a queue that still has calls raises EngineUnavailableError."""
        atexit.unregister(self.close)
        with self._lock:
            if self._closed.is_set():
                return
            self._closed.set()
            for order in self._running:
                order.cancelled.set()
        for _ in self._threads:
            self._waiting.put(None)
        for thread in self._threads:
            thread.join()
        self._children.close()

    @property
    def slots(self) -> int:
        """Number of calls that run at once."""
        return self._slots

    def health(self) -> EngineHealth:
        """Tell whether calls can run: until the engine is closed."""
        return EngineHealth(reachable=not self._closed.is_set(), slots=0 if self._closed.is_set() else self._slots)

    @contextmanager
    def open(self, stop: Callable[[], bool]) -> Iterator[LocalCallQueue]:
        """Open a queue of calls; see `autoprog.work.Dispatcher`.

        Parameters
        ----------
        stop : callable () -> bool
            Asked every 50 ms while outcomes are awaited; once true, running calls are killed and no others started.

        Yields
        ------
        LocalCallQueue
            Its calls start in their order, after those of other queues that came before.
        """
        with closing(LocalCallQueue(self._slots, self._waiting, self._closed, stop)) as queue:
            yield queue

    def _work(self) -> None:
        for order in iter(self._waiting.get, None):
            with self._lock:
                if self._closed.is_set() or order.cancelled.is_set():
                    continue
                self._running.add(order)
            try:
                order.ended.put((order, self._children.run(order.key, order.payload, order.limits, order.cancelled)))
            except Exception as error:  # noqa: BLE001  raised again by the thread that awaits the outcome
                order.ended.put((order, error))
            with self._lock:
                self._running.discard(order)


class LocalCallQueue(PendingCalls[_Order]):
    """Calls on their way to the children of this process; see `autoprog.work.CallQueue`. For use by one thread."""

    def __init__(
        self, slots: int, waiting: SimpleQueue[_Order | None], engine_closed: Event, stop: Callable[[], bool]
    ) -> None:
        super().__init__(stop)
        self._slots = slots
        self._waiting = waiting
        self._engine_closed = engine_closed
        self._ended: SimpleQueue[tuple[_Order, CallOutcome | Exception]] = SimpleQueue()

    @property
    def slots(self) -> int:
        """Number of calls that run at once."""
        return self._slots

    def _write(self, call: Call, limits: CallLimits) -> _Order:
        return _Order(call.key, declared_value(call.function), write_call(call), limits, self._ended)

    def _send(self, key: str) -> None:
        self._waiting.put(self._pending[key])

    def _call_back(self, calls: Mapping[str, _Order]) -> None:
        for order in calls.values():
            order.cancelled.set()

    def _next(self) -> CallOutcome | None:
        if self._engine_closed.is_set():
            raise EngineUnavailableError("the engine was closed")
        try:
            order, ended = self._ended.get(timeout=POLL_S)
        except Empty:
            return None
        # An order that is pending is cancelled only by the engine's end.
        if self._pending.get(order.key) is not order or order.cancelled.is_set():
            return None
        if isinstance(ended, Exception):
            raise ended
        del self._pending[order.key]
        return read_outcome(ended, order.kind)
