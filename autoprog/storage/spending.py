"""Seconds of a search's budget that a runner was heard to work.

They are counted from one sign of life to the next by the database's clock, and at most for the length of the lease:
neither time without a runner nor a clock that is set forward counts.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from autoprog.storage.tables import SearchRow

_START_S = 60.0  # maximum, for the engine's start: from the command that starts a search to its first claim


def begin(search: SearchRow, lease_s: float) -> None:
    """Start counting at the new lease's claim, and add the start-up time."""
    assert search.lease_until is not None  # noqa: S101  it is claimed
    now = search.lease_until - timedelta(seconds=lease_s)
    if search.token == 1 and search.heard_at is not None:
        search.spent_s += _within((now - search.heard_at).total_seconds(), _START_S)
    search.heard_at = now


def count(search: SearchRow, now: datetime) -> None:
    """Add the time since the last sign of life; call before the lease is extended or ended."""
    search.spent_s = spent_s(search, now)
    search.heard_at = now


def spent_s(search: SearchRow, now: datetime) -> float:
    """Seconds of the budget that are spent up to now."""
    if search.heard_at is None or search.lease_until is None:
        return search.spent_s
    lease_s = (search.lease_until - search.heard_at).total_seconds()
    return search.spent_s + _within((now - search.heard_at).total_seconds(), lease_s)


def _within(seconds: float, most: float) -> float:
    return max(0.0, min(seconds, most))
