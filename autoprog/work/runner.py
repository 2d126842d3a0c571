"""The runner of leased work: claims one piece after another from a store and runs each to its end."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

import structlog

from autoprog.work.leases import MAX_LOST_LEASES, WorkStore, run_leased
from autoprog.work.signals import Signals

_log = structlog.get_logger()


class Claim(Protocol):
    """One runner's hold on one piece of work."""

    @property
    def token(self) -> int:
        """Fencing token; it grows with every claim."""

    @property
    def losses(self) -> int:
        """Runners in a row whose lease ran out."""


C = TypeVar("C", bound=Claim)


class LeasedRunner(ABC, Generic[C]):
    """Runner of queued work; if it dies, another runner of the same store takes the work over after `lease_s`."""

    what: str  # "search" or "job", for messages and the log

    def __init__(self, store: WorkStore[C], *, runner_id: str, lease_s: float, poll_s: float) -> None:
        self._leases = store
        self._runner_id = runner_id
        self._lease_s = lease_s
        self._poll_s = poll_s
        self._shutdown = threading.Event()

    def stop(self) -> None:
        """Ask the runner to end; work that runs is left to the next runner."""
        self._shutdown.set()

    def run_forever(self) -> None:
        """Work until `stop` is called."""
        poll(self.run_one, self._shutdown, self._poll_s)

    def run_one(self) -> bool:
        """Do the next work of the queue; return whether some was claimed and finished."""
        claim = self._claim()
        if claim is None:
            return False
        signals = Signals(self._shutdown)
        log = _log.bind(**{f"{self.what}_id": self._id(claim), "token": claim.token})

        def work() -> None:
            self._work_on(claim, signals, log)

        return run_leased(self.what, work, self._leases, claim, signals=signals, lease_s=self._lease_s, log=log)

    @staticmethod
    def _given_up(claim: Claim, after: int = MAX_LOST_LEASES) -> str | None:
        """The reason for giving the work up, after too many runners have died over it; None before."""
        if claim.losses < after:
            return None
        return f"given up: {claim.losses} runners in a row ended while they worked on it"

    @abstractmethod
    def _claim(self) -> C | None:
        """Claim the next work."""

    @abstractmethod
    def _id(self, claim: C) -> str:
        """The work's id."""

    @abstractmethod
    def _work_on(self, claim: C, signals: Signals, log: structlog.stdlib.BoundLogger) -> None:
        """Do the work and write its end."""


def poll(run_one: Callable[[], bool], shutdown: threading.Event, poll_s: float) -> None:
    """Run work as long as there is some, and look again every `poll_s` seconds; errors are logged."""
    while not shutdown.is_set():
        try:
            found = run_one()
        except Exception:  # noqa: BLE001  the queue must outlive a fault of the database
            _log.exception("runner_error")
            found = False
        if not found:
            shutdown.wait(poll_s)
