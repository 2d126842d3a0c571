"""Work that takes longer than a request: calls on the engine, leases, and the runner of searches and of jobs."""

from autoprog.work.calls import Call, CallLimits, CallOutcome, CallQueue, CallStatus, Dispatcher, run_calls
from autoprog.work.leases import MAX_LOST_LEASES, run_leased
from autoprog.work.runner import LeasedRunner, poll
from autoprog.work.signals import ShutdownError, Signals
from autoprog.work.values import declared_value, read_value, write_value

__all__ = [
    "MAX_LOST_LEASES",
    "Call",
    "CallLimits",
    "CallOutcome",
    "CallQueue",
    "CallStatus",
    "Dispatcher",
    "LeasedRunner",
    "ShutdownError",
    "Signals",
    "declared_value",
    "poll",
    "read_value",
    "run_calls",
    "run_leased",
    "write_value",
]
