"""What every queue of calls does, wherever they run; see `autoprog.work.CallQueue`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import Generic, TypeVar

from autoprog.work import Call, CallLimits, CallOutcome, CallStatus

POLL_S = 0.05
"""Seconds between two questions whether a queue is to stop."""

Sent = TypeVar("Sent")


class PendingCalls(ABC, Generic[Sent]):
    """Calls on their way, for use by one thread; a queue says what it keeps of a call, and where the call goes."""

    def __init__(self, stop: Callable[[], bool]) -> None:
        self._stop = stop
        self._stopped = self._closed = False
        self._keys: set[str] = set()
        self._pending: dict[str, Sent] = {}

    @property
    @abstractmethod
    def slots(self) -> int:
        """Number of calls that run at once; 0 until one can."""

    def submit(self, call: Call, limits: CallLimits) -> None:
        """Add a call; raises ValueError if its key was used before, TypeError if it does not say what it returns."""
        if self._closed:
            raise RuntimeError("the queue is closed")
        if call.key in self._keys:
            raise ValueError(f"a call was submitted as {call.key!r} before")
        self._pending[call.key] = self._write(call, limits)
        self._keys.add(call.key)
        if not self._is_stopped():
            self._send(call.key)

    def withdraw(self, key: str) -> None:
        """Kill a running call, or do not start a waiting one; it gets no outcome."""
        if key in self._pending:
            self._call_back({key: self._pending.pop(key)})

    def outcomes(self) -> Iterator[CallOutcome]:
        """Yield the outcome of each call as it ends, until none is pending; raises EngineUnavailableError."""
        while self._pending:
            outcome = self._cancelled() if self._is_stopped() else self._next()
            if outcome is not None:
                yield outcome

    def close(self) -> None:
        """Kill running calls and cancel waiting ones."""
        self._closed = True
        self._call_back(self._pending)
        self._pending.clear()

    def _is_stopped(self) -> bool:
        if not self._stopped and self._stop():
            self._stopped = True
            self._call_back(self._pending)
        return self._stopped

    def _cancelled(self) -> CallOutcome:
        key = next(iter(self._pending))
        del self._pending[key]
        return CallOutcome(key, CallStatus.CANCELLED, reason="cancelled")

    @abstractmethod
    def _write(self, call: Call, limits: CallLimits) -> Sent:
        """Return what is kept of a call until it ends."""

    @abstractmethod
    def _send(self, key: str) -> None:
        """Send a pending call."""

    @abstractmethod
    def _call_back(self, calls: Mapping[str, Sent]) -> None:
        """Kill these calls where they run, and do not start those that wait."""

    @abstractmethod
    def _next(self) -> CallOutcome | None:
        """Wait briefly for an outcome, which is then no longer pending; None if there is none."""
