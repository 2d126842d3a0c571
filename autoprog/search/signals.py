"""Why a running search or job must stop, and the heartbeat that finds out."""

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
    """Keeps the leases of searches, or of jobs."""

    def heartbeat(self, claim: Claim_contra, lease_s: float) -> bool | None:
        """Extend the lease; true if the client asked to cancel. Raises LeaseLostError."""


class ShutdownError(Exception):
    """The process is asked to end: leave the work as it is, for the next runner."""


@dataclass(frozen=True)
class Signals:
    """Set by others, looked at by the work between and during its calls.

    Attributes
    ----------
    cancel : threading.Event
        The client asked for the search's end; what was evaluated counts.
    lost : threading.Event
        Another runner holds the work, or it was deleted.
    shutdown : threading.Event
        This process is asked to end; shared by all its work.
    """

    shutdown: threading.Event
    cancel: threading.Event = field(default_factory=threading.Event)
    lost: threading.Event = field(default_factory=threading.Event)

    def leave(self) -> bool:
        """Whether to stop at once and write nothing more."""
        return self.lost.is_set() or self.shutdown.is_set()

    def check(self) -> None:
        """Raise LeaseLostError or ShutdownError where the work must be left."""
        if self.lost.is_set():
            raise LeaseLostError("another runner took this work over")
        if self.shutdown.is_set():
            raise ShutdownError


@contextmanager
def heartbeat(
    store: LeaseKeeper[Claim_contra], claim: Claim_contra, signals: Signals, lease_s: float
) -> Iterator[None]:
    """Keep a claim alive from a thread of its own, since an evaluation outlasts a lease.

    Parameters
    ----------
    store : LeaseKeeper
        Where the lease stands.
    claim : Claim or JobClaim
        The hold to extend, three times a lease.
    signals : Signals
        `cancel` and `lost` are set as the store tells.
    lease_s : float
        Seconds until another runner may take the work if this process dies.
    """
    done = threading.Event()

    def beat() -> None:
        while not done.wait(lease_s / 3):
            try:
                if store.heartbeat(claim, lease_s):
                    signals.cancel.set()
            except LeaseLostError:
                signals.lost.set()
                return
            except Exception:  # noqa: BLE001  a database that is away may be back before the lease ends
                _log.warning("heartbeat_failed", claim=str(claim), exc_info=True)

    thread = threading.Thread(target=beat, name=f"heartbeat of {claim}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
