"""A queue's calls as tasks of a Dask cluster, which are sent again if the cluster loses them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import NamedTuple
from uuid import uuid4

from distributed import CancelledError, Future
from distributed.client import ClosedClientError

from autoprog.engine.children import read_outcome, write_call
from autoprog.engine.cluster.answers import read_answer
from autoprog.engine.cluster.client import CallClient
from autoprog.engine.cluster.transport import RefusedMessageError, RemoteError
from autoprog.engine.cluster.worker import supervise
from autoprog.engine.pending_calls import POLL_S, PendingCalls
from autoprog.errors import EngineUnavailableError, UnreadableValueError
from autoprog.work import Call, CallLimits, CallOutcome, CallStatus, declared_value

ANSWER_S = 2.0
"""Seconds to wait for a scheduler's answer when an old answer, or none, would also do."""

_CHECK_S = 1.0
_FETCH_S = 60
_MAX_LOSSES = 3


class _Pending(NamedTuple):
    kind: object  # of value that its function declares
    payload: bytes
    limits: CallLimits


class DaskCallQueue(PendingCalls[_Pending]):
    """Calls on their way to a cluster; see `autoprog.work.CallQueue`. For use by one thread."""

    # `connect` may raise OSError; without scheduler or worker the queue waits `patience_s`; it asks `stop` every 50 ms.
    def __init__(self, connect: Callable[[], CallClient], patience_s: float, stop: Callable[[], bool]) -> None:
        super().__init__(stop)
        self._connect = connect
        self._patience_s = patience_s
        self._client: CallClient | None = None
        self._futures: dict[str, Future] = {}
        self._losses: Counter[str] = Counter()
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

    def _write(self, call: Call, limits: CallLimits) -> _Pending:
        return _Pending(declared_value(call.function), write_call(call), limits)

    def _send(self, key: str) -> None:  # noqa: ARG002  with every other call that waits for a scheduler
        self._send_waiting()

    def _next(self) -> CallOutcome | None:
        if len(self._futures) < len(self._pending):
            self._send_waiting()
        if time.monotonic() - self._checked > _CHECK_S:
            self._check()
        try:
            key, future = self._ended.get(timeout=POLL_S)
        except Empty:
            return None
        if self._futures.get(key) is not future:  # withdrawn, or sent again since
            return None
        outcome = self._outcome(key, future)
        del self._futures[key]
        if outcome is not None:
            del self._pending[key]
        return outcome

    def _reach(self) -> CallClient | None:
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
        with suppress(OSError), client.losses():  # the scheduler was lost meanwhile; unsent calls still wait
            for key in self._pending:
                if key not in self._futures:
                    self._send_to(client, key)

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
        if client is None:
            return 0
        try:
            return client.count_slots(ANSWER_S)
        except OSError:
            return 0

    def _send_to(self, client: CallClient, key: str) -> None:
        task, call = f"call-{uuid4().hex}", self._pending[key]
        future = client.submit(supervise, task, key, call.payload, call.limits, key=task, pure=False)
        self._futures[key] = future
        future.add_done_callback(lambda ended: self._ended.put((key, ended)))

    def _call_back(self, calls: Mapping[str, _Pending]) -> None:
        futures = [self._futures.pop(key) for key in calls if key in self._futures]
        if futures and self._client is not None and self._client.status == "running":
            with suppress(OSError), self._client.losses():  # a lost scheduler takes its tasks with it
                self._client.cancel(futures)

    def _outcome(self, key: str, future: Future) -> CallOutcome | None:
        """Return the outcome of a call, or None if the cluster lost it."""
        if future.status == "error":  # tasks of ours raise nothing
            return CallOutcome(key, CallStatus.CRASHED, reason="no worker could run it, or all that did died")
        if future.status != "finished" or self._client is None:
            return None
        try:
            return self._fetch(self._client, key, future)
        except (RefusedMessageError, RemoteError, UnreadableValueError) as error:
            return CallOutcome(key, CallStatus.FAILED, reason=f"its answer is refused: {error}")
        except TimeoutError:  # the worker does not answer, unless it is the scheduler
            return self._lost(key) if self._counted() else None
        except (OSError, CancelledError):
            return None

    def _fetch(self, client: CallClient, key: str, future: Future) -> CallOutcome | None:
        content = client.fetch(future, _FETCH_S)
        if content is None:
            return self._lost(key)
        outcome = read_answer(key, content)
        return None if outcome.status is CallStatus.CANCELLED else read_outcome(outcome, self._pending[key].kind)

    def _lost(self, key: str) -> CallOutcome | None:
        """Return the outcome of a call whose answer no worker gives; at first none, so that it is sent again."""
        self._losses[key] += 1
        if self._losses[key] < _MAX_LOSSES:
            return None
        return CallOutcome(key, CallStatus.CRASHED, reason=f"its answer was lost {_MAX_LOSSES} times")
