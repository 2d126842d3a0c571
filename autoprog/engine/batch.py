"""The calls of one run as tasks of a Dask cluster, and what is done when the cluster loses them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pickle import loads
from queue import Empty, SimpleQueue
from uuid import uuid4

from distributed import CancelledError, Client, Future, KilledWorker
from distributed.client import ClosedClientError

from autoprog.engine.worker import supervise
from autoprog.errors import EngineUnavailableError
from autoprog.search.ports import CallLimits, CallOutcome, CallStatus

_CHECK_S = 1.0
_ANSWER_S = 2
_GATHER_S = 60


class Batch:
    """Calls on their way.

    Parameters
    ----------
    payloads : dict of str to bytes
        Pickled (function, arguments) by the call's key.
    limits : CallLimits
        Of each call.
    connect : callable
        Gives a connected client, or raises OSError.
    patience_s : float
        Seconds without a scheduler or without a worker until the batch is given up.
    """

    def __init__(
        self, payloads: dict[str, bytes], limits: CallLimits, connect: Callable[[], Client], patience_s: float
    ) -> None:
        self._payloads = dict(payloads)
        self._limits = limits
        self._connect = connect
        self._patience_s = patience_s
        self._client: Client | None = None
        self._futures: dict[str, Future] = {}
        self._ended: SimpleQueue[tuple[str, Future]] = SimpleQueue()
        self._checked = self._reached = time.monotonic()

    @property
    def pending(self) -> tuple[str, ...]:
        """Keys of the calls without an outcome."""
        return tuple(self._payloads)

    def next(self, timeout_s: float) -> CallOutcome | None:
        """Wait for an outcome.

        Parameters
        ----------
        timeout_s : float
            Seconds.

        Returns
        -------
        CallOutcome or None
            With its value; None if there is none within the time.

        Raises
        ------
        EngineUnavailableError
            If there was no worker for too long, or one cannot start its children.
        """
        if len(self._futures) < len(self._payloads) or time.monotonic() - self._checked > _CHECK_S:
            self._send_and_check()
        try:
            key, future = self._ended.get(timeout=timeout_s)
        except Empty:
            return None
        if self._futures.get(key) is not future:  # sent again since
            return None
        outcome = self._outcome(key, future)
        del self._futures[key]
        if outcome is not None:
            del self._payloads[key]
        return outcome

    def close(self) -> None:
        """Kill what runs and call back what waits."""
        if self._futures and self._client is not None and self._client.status == "running":
            self._client.cancel(list(self._futures.values()))

    def _send_and_check(self) -> None:
        """Send every call that is not on its way; once a second, see whether there is anyone to run it."""
        try:
            client = self._connect()
            if client is not self._client:
                self._client, self._futures = client, {}
            for key in self._payloads:
                if key not in self._futures:
                    self._send(client, key)
            if time.monotonic() - self._checked < _CHECK_S:
                return
            slots = count_slots(client)
        except (OSError, ClosedClientError):
            slots = 0
        self._checked = time.monotonic()
        if slots:
            self._reached = self._checked
        elif self._checked - self._reached > self._patience_s:
            raise EngineUnavailableError(f"no worker could be reached for {self._patience_s:g} s")

    def _send(self, client: Client, key: str) -> None:
        task = f"call-{uuid4().hex}"
        future = client.submit(supervise, task, key, self._payloads[key], self._limits, key=task, pure=False)
        self._futures[key] = future
        future.add_done_callback(lambda ended: self._ended.put((key, ended)))

    def _outcome(self, key: str, future: Future) -> CallOutcome | None:
        """What came of a call; None if the cluster lost it."""
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
            return replace(outcome, value=loads(outcome.value))  # noqa: S301  (pickled by a child of our worker)
        return outcome


def count_slots(client: Client) -> int:
    """Calls that the workers of a cluster run at the same time. Raises OSError."""
    threads: dict[str, int] = client.sync(client.scheduler.ncores, callback_timeout=_ANSWER_S)
    return sum(threads.values())
