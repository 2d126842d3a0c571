"""Watch a call from outside its process: where it runs, what memory it holds, and why it ended."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import NamedTuple

import psutil

from autoprog.engine.child import EXIT_OUT_OF_MEMORY, MIB, resident_bytes
from autoprog.work import CallLimits, CallOutcome, CallStatus


def processor_seconds(pid: int) -> float | None:
    """Return a process's user and system seconds over all threads; None if there is no such process."""
    try:
        times = psutil.Process(pid).cpu_times()
    except psutil.NoSuchProcess:
        return None
    return float(times.user + times.system)


_GONE_S = 0.5
_NEAR_THE_LIMIT = 0.8


# Backstops by the clock: a call may take `_CLOCK` times its processor seconds, as it does on a busy machine. It only
# waits, and is ended after its very seconds, if it computed in less than the share `_WAITING` of them.
_CLOCK, _WAITING = 10.0, 0.05
# Before a call begins, its child loads the call's modules, which takes seconds of a processor.
_LOADING_S = 120.0


class End(NamedTuple):
    """How and why a call ended that did not return."""

    status: CallStatus
    reason: str


class Watch:
    """Observer of the process of one call."""

    def __init__(self, announced: Connection, limits: CallLimits) -> None:
        self.limits = limits
        self._announced = announced
        self._budget = limits.memory_mb * MIB
        self._pid: int | None = None
        self._began = self._seen = time.monotonic()
        self._baseline = self._peak = 0
        self._computed_before = self._computed = 0.0
        self._failure: str | None = None
        while announced.poll():  # messages of earlier calls, and of a child that ended before a call asked for it
            message = announced.recv()
            if isinstance(message, str):
                self._failure = message

    @property
    def clock_s(self) -> float:
        """Seconds by the clock after which the call is ended even if it never begins."""
        return _LOADING_S + _CLOCK * self.limits.time_s

    def breach(self) -> End | None:
        """Return how the call has ended if it exceeded its memory or time, or its process is gone."""
        self._listen()
        if self._pid is None:
            return None
        now, resident = time.monotonic(), resident_bytes(self._pid)
        if resident is None:
            # Pebble reports every other end within this time, but waits for a process that exited with code 0.
            return self.explain(0) if now - self._seen > _GONE_S else None
        self._seen = now
        self._peak = max(self._peak, resident - self._baseline)
        if self._peak > self._budget:
            return self._out_of_memory()
        computed = processor_seconds(self._pid)
        if computed is not None:
            self._computed = computed - self._computed_before
        return self.too_late() if self._has_spent(now - self._began) else None

    def too_late(self) -> End:
        """Return the end of a call that exceeded its time."""
        return End(CallStatus.TIMEOUT, f"took longer than its {self.limits.time_s:g} s")

    def _has_spent(self, elapsed_s: float) -> bool:
        limit_s = self.limits.time_s
        waits = elapsed_s > limit_s and self._computed < _WAITING * elapsed_s
        return self._computed > limit_s or waits or elapsed_s > _CLOCK * limit_s

    def explain(self, exit_code: int) -> End:
        """Return why a process ended, by its exit code or the negative number of its signal."""
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
        """Return the outcome of a call that ended this way."""
        duration = time.monotonic() - self._began if self._pid is not None else 0.0
        return CallOutcome(key, end.status, reason=end.reason, duration_s=duration, processor_s=self._computed)

    def kill(self) -> None:
        """Kill the process that runs the call, if it has begun."""
        if self._pid is not None:
            with suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)

    def failed_start(self) -> str | None:
        """Return why the child could not start, if it reported that."""
        self._listen()
        return self._failure

    def _listen(self) -> None:
        while self._announced.poll():
            message = self._announced.recv()
            if isinstance(message, str):
                self._failure = message
            else:
                self._pid, self._baseline, self._computed_before = message
                self._began = self._seen = time.monotonic()

    def _out_of_memory(self) -> End:
        return End(CallStatus.MEMORY, f"needed more than its {self.limits.memory_mb} MiB")
