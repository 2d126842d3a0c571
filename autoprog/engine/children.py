"""The child processes that run an engine's calls, as many as it has slots."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Sequence
from dataclasses import replace
from queue import LifoQueue
from threading import Event, Thread

from autoprog.engine.scratch import Scratch
from autoprog.engine.slot import Slot
from autoprog.errors import UnreadableValueError
from autoprog.work import Call, CallLimits, CallOutcome, CallStatus, read_value

_log = logging.getLogger(__name__)


class Children:
    """Child processes, one per slot, and the folder that they share; for use from as many threads."""

    def __init__(self, slots: int, preload: Sequence[str]) -> None:
        self._scratch = Scratch()
        self._slots = [Slot(preload, self._scratch.folder, slots) for _ in range(slots)]
        # The child that has just run a call has the most in memory.
        self._free: LifoQueue[Slot] = LifoQueue()
        self._starting = Thread(target=self._start, name="autoprog-start-children", daemon=True)

    def start(self) -> None:
        """Begin to start them; calls wait until there is one."""
        self._starting.start()

    def run(self, key: str, payload: bytes, limits: CallLimits, cancelled: Event) -> CallOutcome:
        """Run one call in a free child until it ends or is cancelled; raises EngineUnavailableError."""
        slot = self._free.get()
        try:
            return slot.run(key, payload, limits, cancelled)
        finally:
            self._free.put(slot)

    def close(self) -> None:
        """Kill them and remove their folder, once the running calls, which have to be cancelled, have ended."""
        self._starting.join()
        for _ in self._slots:
            self._free.get()
        for slot in self._slots:
            slot.stop()
        for slot in self._slots:
            slot.close()
        self._scratch.close()

    def _start(self) -> None:
        for slot in self._slots:
            try:
                slot.start()
            except Exception:  # noqa: BLE001  the slot's first call starts it, or tells why it cannot
                _log.exception("a child process was not started")
            self._free.put(slot)


def write_call(call: Call) -> bytes:
    """Write a call as `autoprog.engine.child.execute` reads it."""
    return pickle.dumps((call.modules, pickle.dumps((call.function, call.arguments))))


def read_outcome(outcome: CallOutcome, kind: object) -> CallOutcome:
    """Read the value of a child's outcome; the call has failed if it is not of the kind that its function declares."""
    if outcome.status is not CallStatus.SUCCEEDED:
        return outcome
    try:
        return replace(outcome, value=read_value(kind, outcome.value))
    except UnreadableValueError as error:
        return replace(outcome, status=CallStatus.FAILED, value=None, reason=f"its answer is refused: {error}")
