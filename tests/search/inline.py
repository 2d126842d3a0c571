"""A dispatcher without processes, for tests of what a search makes of outcomes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from autoprog.work import Call, CallLimits, CallOutcome, CallStatus


class InlineDispatcher:
    """Runs calls one after another in this thread, when their outcomes are asked for.

    Parameters
    ----------
    before : callable (number of the call over all queues) -> CallStatus or None
        Called before each call; a status that it returns becomes the call's outcome.
    first_last : bool
        Whether the call that was submitted last runs first: what a search remembers must not depend on the order of
        arrival.
    """

    slots = 1

    def __init__(self, before: Callable[[int], CallStatus | None] = lambda _: None, *, first_last: bool = True) -> None:
        self.before, self.first_last = before, first_last
        self.calls = 0

    @contextmanager
    def open(self, stop: Callable[[], bool]) -> Iterator[InlineQueue]:
        queue = InlineQueue(self, stop)
        yield queue
        queue.close()


class InlineQueue:
    def __init__(self, dispatcher: InlineDispatcher, stop: Callable[[], bool]) -> None:
        self._dispatcher = dispatcher
        self._stop = stop
        self._stopped = self._closed = False
        self._pending: dict[str, Call] = {}
        self._keys: set[str] = set()

    @property
    def slots(self) -> int:
        return self._dispatcher.slots

    def submit(self, call: Call, limits: CallLimits) -> None:
        if self._closed:
            raise RuntimeError("the queue is closed")
        if call.key in self._keys:
            raise ValueError(f"a call was submitted as {call.key!r} before")
        self._keys.add(call.key)
        self._pending[call.key] = call

    def withdraw(self, key: str) -> None:
        self._pending.pop(key, None)

    def outcomes(self) -> Iterator[CallOutcome]:
        while self._pending:
            keys = list(self._pending)
            yield self._outcome(self._pending.pop(keys[-1] if self._dispatcher.first_last else keys[0]))

    def close(self) -> None:
        self._pending.clear()
        self._closed = True

    def _outcome(self, call: Call) -> CallOutcome:
        forced = None
        if not self._stopped:
            forced = self._dispatcher.before(self._dispatcher.calls)
            self._dispatcher.calls += 1
            self._stopped = self._stop()
        if self._stopped:
            return CallOutcome(call.key, CallStatus.CANCELLED, reason="cancelled")
        if forced is not None:
            return CallOutcome(call.key, forced, reason="as the test says")
        try:
            return CallOutcome(
                call.key, CallStatus.SUCCEEDED, call.function(*call.arguments), duration_s=0.01, processor_s=0.01
            )
        except Exception as error:  # noqa: BLE001  as the engine does
            return CallOutcome(call.key, CallStatus.FAILED, reason=f"{type(error).__name__}: {error}")
