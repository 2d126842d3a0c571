"""Seconds of a search's budget: those in which a runner was heard to work on it.

They are counted from one sign of life to the next, by the database's clock, and never for longer than the lease that
the runner had: neither the time in which nobody works on a search counts, nor a clock that is put forward.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from autoprog.storage.tables import SearchRow

# Between a command that starts a search and its first claim: the engine's start.
_START_S = 60.0


def begin(search: SearchRow, lease_s: float) -> None:
    """Count from the claim by which the lease has just begun, and add what starting took."""
    assert search.lease_until is not None  # noqa: S101  it is claimed
    now = search.lease_until - timedelta(seconds=lease_s)
    if search.token == 1 and search.heard_at is not None:
        search.spent_s += _within((now - search.heard_at).total_seconds(), _START_S)
    search.heard_at = now


def count(search: SearchRow, now: datetime) -> None:
    """Add what has passed since the last sign of life; before the lease is extended or ended."""
    search.spent_s = spent_s(search, now)
    search.heard_at = now


def spent_s(search: SearchRow, now: datetime) -> float:
    """Seconds of the budget that are spent, up to now."""
    if search.heard_at is None or search.lease_until is None:
        return search.spent_s
    lease_s = (search.lease_until - search.heard_at).total_seconds()
    return search.spent_s + _within((now - search.heard_at).total_seconds(), lease_s)


def _within(seconds: float, most: float) -> float:
    return max(0.0, min(seconds, most))
