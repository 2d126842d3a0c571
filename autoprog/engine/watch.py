"""Watching one call from outside its process: where it runs, what it holds, and why it ended."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import NamedTuple

from autoprog.engine.child import EXIT_OUT_OF_MEMORY
from autoprog.engine.memory import MIB, resident_bytes
from autoprog.search.ports import CallLimits, CallOutcome, CallStatus

_GONE_S = 0.5
_NEAR_THE_LIMIT = 0.8


class End(NamedTuple):
    """How a call ended that did not return, and why."""

    status: CallStatus
    reason: str


class Watch:
    """Follows the process of one call.

    Parameters
    ----------
    announced : Connection
        Where the child tells that it begins a call, or why it could not start.
    limits : CallLimits
        The call's hard limits.
    """

    def __init__(self, announced: Connection, limits: CallLimits) -> None:
        self.limits = limits
        self._announced = announced
        self._budget = limits.memory_mb * MIB
        self._pid: int | None = None
        self._began = self._seen = time.monotonic()
        self._baseline = self._peak = 0
        self._failure: str | None = None
        while announced.poll():  # what earlier calls left
            announced.recv()

    def breach(self) -> End | None:
        """Look at the process; how the call has ended if it took too much memory or its process is gone."""
        self._listen()
        if self._pid is None:
            return None
        now, resident = time.monotonic(), resident_bytes(self._pid)
        if resident is None:
            # Pebble reports every other way to end within this time, but waits for a process that left with code 0.
            return self.explain(0) if now - self._seen > _GONE_S else None
        self._seen = now
        self._peak = max(self._peak, resident - self._baseline)
        return self._out_of_memory() if self._peak > self._budget else None

    def explain(self, exit_code: int) -> End:
        """Tell why a process ended.

        Parameters
        ----------
        exit_code : int
            Its exit code; minus the number of the signal that killed it.

        Returns
        -------
        End
            Out of memory, or crashed.
        """
        self._listen()
        if exit_code == EXIT_OUT_OF_MEMORY:
            return self._out_of_memory()
        if exit_code == -signal.SIGKILL:
            return End(CallStatus.MEMORY, "its process was killed by the system, most likely for want of memory")
        if exit_code >= 0:
            return End(CallStatus.CRASHED, f"its process ended with exit code {exit_code}")
        if self._peak > _NEAR_THE_LIMIT * self._budget:
            return self._out_of_memory()
        return End(CallStatus.CRASHED, f"its process was killed by {signal.Signals(-exit_code).name}")

    def outcome(self, key: str, end: End) -> CallOutcome:
        """The outcome of a call that ended this way."""
        duration = time.monotonic() - self._began if self._pid is not None else 0.0
        return CallOutcome(key, end.status, reason=end.reason, duration_s=duration)

    def kill(self) -> None:
        """Kill the process that runs the call, if it has begun."""
        if self._pid is not None:
            with suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)

    def failed_start(self) -> str | None:
        """Why the child could not start, if it told."""
        self._listen()
        return self._failure

    def _listen(self) -> None:
        while self._announced.poll():
            message = self._announced.recv()
            if isinstance(message, str):
                self._failure = message
            else:
                self._pid, self._baseline = message
                self._began = self._seen = time.monotonic()

    def _out_of_memory(self) -> End:
        return End(CallStatus.MEMORY, f"needed more than its {self.limits.memory_mb} MiB")
