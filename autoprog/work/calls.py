"""Calls: functions that run in child processes of some workers; `autoprog.engine` implements the dispatcher."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol


class CallStatus(StrEnum):
    """How a call on the engine ended."""

    SUCCEEDED = "succeeded"
    TIMEOUT = "timeout"
    MEMORY = "memory"
    CRASHED = "crashed"
    FAILED = "failed"  # the function raised
    CANCELLED = "cancelled"


@dataclass(frozen=True)
class Call:
    """A function to run in a child process of some worker."""

    key: str  # unique within its queue
    # Module-level, importable by the child. It declares what it returns: data, which comes back by `write_value`.
    function: Callable[..., Any]
    arguments: tuple[Any, ...] = ()  # positional; must be picklable
    modules: tuple[str, ...] = ()  # that the child imports first, before its limits count


@dataclass(frozen=True, slots=True)
class CallLimits:
    """Hard limits of one call."""

    # Processor seconds from the start of the function; then its process is killed. On a busy machine it may take ten
    # times as long by the clock, unless it waits without computing.
    time_s: float
    # MiB that the call may allocate beyond what its process held before. Below 16 not even a small pipeline on a few
    # hundred patients is fitted: reading a cohort alone takes 9.
    memory_mb: int


@dataclass(frozen=True)
class CallOutcome:
    """Outcome of one call."""

    key: str
    status: CallStatus
    value: Any = field(default=None)  # what the function returned; None unless succeeded
    reason: str | None = None  # why it did not succeed; never a patient's value
    duration_s: float = 0.0  # wall-clock seconds of the function
    processor_s: float = 0.0  # seconds that it computed


class CallQueue(Protocol):
    """Queue of calls, used from one thread; see `Dispatcher.open`."""

    @property
    def slots(self) -> int:
        """Calls that run at the same time, as counted about a second ago; 0 until there is a worker."""

    def submit(self, call: Call, limits: CallLimits) -> None:
        """Add a call; calls start in this order as slots come free. Raises ValueError if the key was used before."""

    def withdraw(self, key: str) -> None:
        """Kill a call that runs, drop one that waits; no outcome follows. Does nothing if none is pending."""

    def outcomes(self) -> Iterator[CallOutcome]:
        """Yield the outcome of each call when it ends, until none is pending.

        The caller may submit and withdraw between two outcomes; withdrawn calls have none. Once the queue is stopped,
        every call that is pending or submitted later has the status cancelled.
        Raises EngineUnavailableError when no worker can be reached.
        """


class Dispatcher(Protocol):
    """Runner of calls in child processes, as many at once as there are slots."""

    @property
    def slots(self) -> int:
        """Calls that run at the same time now; workers may come and go."""

    def open(self, stop: Callable[[], bool]) -> AbstractContextManager[CallQueue]:
        """Open a queue; once `stop` turns true or it is left, running calls are killed and the rest never start."""


def run_calls(
    dispatcher: Dispatcher, calls: Sequence[Call], limits: CallLimits, stop: Callable[[], bool]
) -> Iterator[CallOutcome]:
    """Run calls with distinct keys and yield every outcome as it comes; closing the iterator kills what still runs."""
    with dispatcher.open(stop) as queue:
        for call in calls:
            queue.submit(call, limits)
        yield from queue.outcomes()
