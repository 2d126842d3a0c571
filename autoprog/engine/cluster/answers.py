"""A worker's answer to a call: its outcome, or why the worker can run no calls. It is data, checked when read."""

from __future__ import annotations

import math
from dataclasses import dataclass

from autoprog.errors import EngineUnavailableError, UnreadableValueError
from autoprog.work import CallOutcome, CallStatus, read_value, write_value

_REASON_LENGTH = 300


@dataclass(frozen=True)
class _Answer:
    status: CallStatus | None  # None from a worker that can run no calls
    value: bytes | None = None  # of a call that succeeded, as its child wrote it
    reason: str | None = None
    duration_s: float = 0.0
    processor_s: float = 0.0


def write_answer(ended: CallOutcome | str) -> bytes:
    """Write an outcome whose value is bytes, or why there is none."""
    if isinstance(ended, str):
        return write_value(_Answer(None, reason=ended))
    return write_value(_Answer(ended.status, ended.value, ended.reason, ended.duration_s, ended.processor_s))


def read_answer(key: str, content: bytes) -> CallOutcome:
    """Read an outcome, whose value is still bytes; raises UnreadableValueError, EngineUnavailableError."""
    answer: _Answer = read_value(_Answer, content)
    # Two clocks may make a short time negative.
    if not all(math.isfinite(seconds) and seconds > -1 for seconds in (answer.duration_s, answer.processor_s)):
        raise UnreadableValueError("the call took a time that is none")
    reason = None if answer.reason is None else answer.reason[:_REASON_LENGTH]
    if answer.status is None:
        raise EngineUnavailableError(reason or "a worker can run no calls")
    if (answer.status is CallStatus.SUCCEEDED) != (answer.value is not None):
        raise UnreadableValueError("only a call that succeeded has a value, and it has one")
    return CallOutcome(key, answer.status, answer.value, reason, answer.duration_s, answer.processor_s)
