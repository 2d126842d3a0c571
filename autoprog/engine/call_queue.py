"""A queue's calls as tasks of a Dask cluster, which are sent again if the cluster loses them."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from queue import Empty, SimpleQueue
from typing import NamedTuple
from uuid import uuid4

from distributed import CancelledError, Client, Future, KilledWorker
from distributed.client import ClosedClientError

from autoprog.engine.worker import supervise
from autoprog.errors import EngineUnavailableError
from autoprog.work import Call, CallLimits, CallOutcome, CallStatus

ANSWER_S = 2.0
"""Seconds to wait for a scheduler's answer when an old answer, or none, would also do."""

_POLL_S = 0.05
_CHECK_S = 1.0
_GATHER_S = 60


class _Pending(NamedTuple):
    payload: bytes
    limits: CallLimits


class DaskCallQueue:
    """Calls on their way; see `autoprog.work.CallQueue`. For use by one thread."""

    # `connect` may raise OSError; without scheduler or worker the queue waits `patience_s`; it asks `stop` every 50 ms.
    def __init__(self, connect: Callable[[], Client], patience_s: float, stop: Callable[[], bool]) -> None:
        self._connect = connect
        self._patience_s = patience_s
        self._stop = stop
        self._stopped = self._closed = False
        self._client: Client | None = None
        self._keys: set[str] = set()
        self._pending: dict[str, _Pending] = {}
        self._futures: dict[str, Future] = {}
        self._ended: SimpleQueue[tuple[str, Future]] = SimpleQueue()
        self._checked = self._retry = time.monotonic()
        self._away_since: float | None = None
        self._slots = 0

    @property
    def slots(self) -> int:
        """Number of calls that run at once, as a worker last reported; 0 until one has."""
        if not self._slots:
            self._slots = self._counted()
        return self._slots

    def submit(self, call: Call, limits: CallLimits) -> None:
        """Send a call, or keep it until a scheduler answers; raises ValueError if its key was used before."""
        if self._closed:
            raise RuntimeError("the queue is closed")
        if call.key in self._keys:
            raise ValueError(f"a call was submitted as {call.key!r} before")
        self._pending[call.key] = _Pending(_payload(call), limits)
        self._keys.add(call.key)
        if not self._is_stopped():
            self._send_waiting()

    def withdraw(self, key: str) -> None:
        """Kill a running call, or do not start a waiting one; it gets no outcome."""
        if self._pending.pop(key, None) is not None:
            self._call_back([key])

    def outcomes(self) -> Iterator[CallOutcome]:
        """Yield the outcome of each call as it ends, until none is pending; raises EngineUnavailableError."""
        while self._pending:
            outcome = self._cancelled() if self._is_stopped() else self._next()
            if outcome is not None:
                yield outcome

    def close(self) -> None:
        """Kill running calls and cancel waiting ones."""
        self._closed = True
        self._pending.clear()
        self._call_back(list(self._futures))

    def _is_stopped(self) -> bool:
        if not self._stopped and self._stop():
            self._stopped = True
            self._call_back(list(self._futures))
        return self._stopped

    def _cancelled(self) -> CallOutcome:
        key = next(iter(self._pending))
        del self._pending[key]
        return CallOutcome(key, CallStatus.CANCELLED, reason="cancelled")

    def _next(self) -> CallOutcome | None:
        """Wait briefly for an outcome; None if there is none."""
        if len(self._futures) < len(self._pending):
            self._send_waiting()
        if time.monotonic() - self._checked > _CHECK_S:
            self._check()
        try:
            key, future = self._ended.get(timeout=_POLL_S)
        except Empty:
            return None
        if self._futures.get(key) is not future:  # withdrawn, or sent again since
            return None
        outcome = self._outcome(key, future)
        del self._futures[key]
        if outcome is not None:
            del self._pending[key]
        return outcome

    def _reach(self) -> Client | None:
        """Return the client, or None if no scheduler answers; it tries again after a second."""
        if self._client is not None and self._client.status == "running":
            return self._client
        if time.monotonic() < self._retry:
            return None
        try:
            self._client, self._futures = self._connect(), {}
        except (OSError, ClosedClientError):
            self._client, self._retry = None, time.monotonic() + _CHECK_S
        return self._client

    def _send_waiting(self) -> None:
        """Send every call that is not on its way."""
        client = self._reach()
        if client is None:
            return
        with suppress(OSError, ClosedClientError):  # the scheduler was lost meanwhile; unsent calls still wait
            for key in self._pending:
                if key not in self._futures:
                    self._send(client, key)

    def _check(self) -> None:
        """Check that some worker can run the calls."""
        slots = self._counted()
        self._checked = time.monotonic()
        if slots:
            self._slots, self._away_since = slots, None
        elif self._away_since is None:
            self._away_since = self._checked
        elif self._checked - self._away_since > self._patience_s:
            raise EngineUnavailableError(f"no worker could be reached for {self._patience_s:g} s")

    def _counted(self) -> int:
        client = self._reach()
        try:
            return 0 if client is None else count_slots(client, ANSWER_S)
        except (OSError, ClosedClientError):
            return 0

    def _send(self, client: Client, key: str) -> None:
        task, call = f"call-{uuid4().hex}", self._pending[key]
        future = client.submit(supervise, task, key, call.payload, call.limits, key=task, pure=False)
        self._futures[key] = future
        future.add_done_callback(lambda ended: self._ended.put((key, ended)))

    def _call_back(self, keys: Sequence[str]) -> None:
        futures = [self._futures.pop(key) for key in keys if key in self._futures]
        if futures and self._client is not None and self._client.status == "running":
            with suppress(OSError, ClosedClientError):  # a lost scheduler takes its tasks with it
                self._client.cancel(futures)

    def _outcome(self, key: str, future: Future) -> CallOutcome | None:
        """Return the outcome of a call, or None if the cluster lost it."""
        if future.status == "error":
            error = future.exception(timeout=_GATHER_S)
            if isinstance(error, KilledWorker):
                return CallOutcome(key, CallStatus.CRASHED, reason="every worker that ran it died")
            raise EngineUnavailableError(str(error)) from error
        try:
            outcome: CallOutcome = future.result(timeout=_GATHER_S)
        except (OSError, CancelledError):
            return None
        if outcome.status is CallStatus.CANCELLED:
            return None
        if outcome.status is CallStatus.SUCCEEDED:
            return replace(outcome, value=pickle.loads(outcome.value))  # noqa: S301  (from our worker's child)
        return outcome


def _payload(call: Call) -> bytes:
    """Write a call as `autoprog.engine.child.execute` reads it."""
    return pickle.dumps((call.modules, pickle.dumps((call.function, call.arguments))))


def count_slots(client: Client, answer_s: float) -> int:
    """Count the calls that a cluster's workers run at once; raises OSError without an answer within `answer_s`."""
    threads: dict[str, int] = client.sync(client.scheduler.ncores, callback_timeout=answer_s)
    return sum(threads.values())
