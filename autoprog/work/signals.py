"""Signals that stop a running search or job, and the heartbeat that sets them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import structlog

from autoprog.errors import LeaseLostError

_log = structlog.get_logger()

Claim_contra = TypeVar("Claim_contra", contravariant=True)


class LeaseKeeper(Protocol[Claim_contra]):
    """Keeper of the leases of searches or of jobs."""

    def heartbeat(self, claim: Claim_contra, lease_s: float) -> bool | None:
        """Extend the lease; true if the client asked to cancel. Raises LeaseLostError."""


class ShutdownError(Exception):
    """The process must end; the work is left as it is for the next runner."""


@dataclass(frozen=True)
class Signals:
    """Signals that others set, and that the work checks between and during its calls."""

    shutdown: threading.Event  # this process must end; shared by all its work
    cancel: threading.Event = field(default_factory=threading.Event)  # the client ends it; what was evaluated counts
    lost: threading.Event = field(default_factory=threading.Event)  # another runner has the work, or it was deleted

    def leave(self) -> bool:
        """Whether to stop at once and write nothing more."""
        return self.lost.is_set() or self.shutdown.is_set()

    def check(self) -> None:
        """Raise LeaseLostError or ShutdownError if the work must be left."""
        if self.lost.is_set():
            raise LeaseLostError("another runner took this work over")
        if self.shutdown.is_set():
            raise ShutdownError


@contextmanager
def heartbeat(
    store: LeaseKeeper[Claim_contra], claim: Claim_contra, signals: Signals, lease_s: float
) -> Iterator[None]:
    """Extend a lease three times a period from a thread, since an evaluation outlasts a lease."""
    done = threading.Event()

    def beat() -> None:
        while not done.wait(lease_s / 3):
            try:
                if store.heartbeat(claim, lease_s):
                    signals.cancel.set()
            except LeaseLostError:
                signals.lost.set()
                return
            except Exception:  # noqa: BLE001  the database may be back before the lease ends
                _log.warning("heartbeat_failed", claim=str(claim), exc_info=True)

    thread = threading.Thread(target=beat, name=f"heartbeat of {claim}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
