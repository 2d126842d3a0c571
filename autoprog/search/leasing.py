"""Work that a runner has claimed, from the claim to whatever end it comes to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import structlog

from autoprog.errors import AutoprogError, EngineUnavailableError, LeaseLostError, StoreUnavailableError
from autoprog.search.signals import Claim_contra, LeaseKeeper, ShutdownError, Signals, heartbeat

# Work that ends its runner every time (a posterior that exhausts the memory, say) must not do so for ever.
MAX_LOST_LEASES = 5
"""Runners in a row that may end over a piece of work before it is given up."""

_LEAVE_IT = (LeaseLostError, ShutdownError, EngineUnavailableError, StoreUnavailableError)


class WorkStore(LeaseKeeper[Claim_contra], Protocol[Claim_contra]):
    """Where searches, or jobs, are held and ended."""

    def release(self, claim: Claim_contra) -> None:
        """Give the work back as it stands; nothing happens if the lease is lost."""

    def fail(self, claim: Claim_contra, code: str, detail: str) -> None:
        """End the work without a result. Raises LeaseLostError."""


def run_leased(
    what: str,
    work: Callable[[], None],
    store: WorkStore[Claim_contra],
    claim: Claim_contra,
    *,
    signals: Signals,
    lease_s: float,
    log: structlog.stdlib.BoundLogger,
) -> bool:
    """Do a piece of work under its lease, and settle what becomes of it where it breaks off.

    Parameters
    ----------
    what : str
        The work in a word: "search", "job".
    work : callable
        Does it and writes its end; a failure that is its own it writes too.
    store : WorkStore
        Where it is held.
    claim : Claim or JobClaim
        The hold.
    signals : Signals
        Those that the work looks at.
    lease_s : float
        Seconds without a heartbeat after which another runner may take the work over.
    log : BoundLogger
        Names the work and the claim.

    Returns
    -------
    bool
        Whether the work is at an end for this runner; false where any runner may go on with it.
    """
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
        # Whoever claims the work when its lease has run out goes on from what is written. The lease is not given back:
        # so this counts as a loss, and does not go on for ever either.
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
