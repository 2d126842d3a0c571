"""Work under a lease, from a runner's claim to whatever end it comes to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import structlog

from autoprog.errors import AutoprogError, EngineUnavailableError, LeaseLostError, StoreUnavailableError
from autoprog.work.signals import Claim_contra, LeaseKeeper, ShutdownError, Signals, heartbeat

# Work that kills every runner (a posterior that exhausts the memory, say) must not do so for ever.
MAX_LOST_LEASES = 5
"""Leases lost in a row after which work is given up."""

_LEAVE_IT = (LeaseLostError, ShutdownError, EngineUnavailableError, StoreUnavailableError)


class WorkStore(LeaseKeeper[Claim_contra], Protocol[Claim_contra]):
    """Store that holds and ends searches or jobs."""

    def release(self, claim: Claim_contra) -> None:
        """Give the work back as it stands; does nothing if the lease is lost."""

    def fail(self, claim: Claim_contra, code: str, detail: str) -> None:
        """End the work without a result. Raises LeaseLostError."""


def run_leased(
    what: str,  # "search" or "job"
    work: Callable[[], None],
    store: WorkStore[Claim_contra],
    claim: Claim_contra,
    *,
    signals: Signals,
    lease_s: float,
    log: structlog.stdlib.BoundLogger,
) -> bool:
    """Run work that writes its own end; false if any runner may continue it, true if this runner is done with it."""
    log.info("claimed")
    try:
        with heartbeat(store, claim, signals, lease_s):
            _attempt(what, work, store, claim, log)
    except LeaseLostError:
        log.warning("lease_lost")
    except (ShutdownError, EngineUnavailableError) as error:
        store.release(claim)
        log.warning("released", reason=type(error).__name__)
        return False
    except StoreUnavailableError as error:
        # The lease is not given back, so that this counts as lost and cannot go on for ever either; another runner
        # continues from what is written when the lease has expired.
        log.warning("store_unavailable", reason=str(error))
        return False
    return True


def _attempt(
    what: str,
    work: Callable[[], None],
    store: WorkStore[Claim_contra],
    claim: Claim_contra,
    log: structlog.stdlib.BoundLogger,
) -> None:
    try:
        work()
    except _LEAVE_IT:
        raise
    except Exception as error:
        log.exception("crashed")
        code = error.code if isinstance(error, AutoprogError) else AutoprogError.code
        store.fail(claim, code, f"the {what} ended by an error of this server; its log tells more")
