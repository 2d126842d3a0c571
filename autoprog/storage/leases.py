"""Leases on searches and jobs: one runner holds a row at a time, and former holders are refused.

A claim leases a row for some seconds, which heartbeats extend, and raises its fencing token. Each write locks the row
under the writer's token: a runner that was wrongly taken for dead finds a greater token and stops.

`begin` and `count` add up the seconds that a search has spent of its budget. They count from one sign of life of its
runner to the next by the database's clock, and at most the length of the lease: neither time without a runner nor a
clock that is set forward counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import cache
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Select,
    Update,
    and_,
    bindparam,
    case,
    func,
    or_,
    select,
    true,
    update,
)
from sqlalchemy.orm import Session, aliased
from sqlalchemy.sql.dml import ReturningUpdate

from autoprog.errors import LeaseLostError
from autoprog.storage.database import database_now
from autoprog.storage.tables import JobRow, OwnerRow, SearchRow, SearchStatus

Leased = TypeVar("Leased", SearchRow, JobRow)

# Searches and jobs spell these two alike.
_QUEUED, _RUNNING = SearchStatus.QUEUED.value, SearchStatus.RUNNING.value
_PUT_BACK_S = 60.0  # more than the leases of different runners differ
_START_S = 60.0  # limit of the engine's start, which counts: from the command that starts a search to its first claim
_CLAIM_LOCK = 7_242_003  # advisory lock that nothing else takes


class Hold(NamedTuple):
    """A runner's new lease on a row."""

    id: str
    token: int  # fencing token of this claim
    losses: int  # leases on the row that ran out


def take_next(
    session: Session,
    table: type[Leased],
    runner_id: str,
    lease_s: float,
    *,
    kinds: Sequence[str] | None = None,  # of jobs; None for all, and for searches
    most_running: int | None = None,  # per owner; None for no limit
) -> Hold | None:
    """Lease the next row to a runner: one whose lease has run out, else a queued one of the owner whose turn it is."""
    if most_running is not None and session.get_bind().dialect.name == "postgresql":
        # One claim at a time: two at once would not count what the other is about to take.
        session.execute(select(func.pg_advisory_xact_lock(_CLAIM_LOCK)))
    now = database_now(session)
    parameters = {
        "at_now": now,
        "at_ahead": now + timedelta(seconds=lease_s + _PUT_BACK_S),
        "at_until": now + timedelta(seconds=lease_s),
        "by_runner": runner_id,
    }
    take = _taking(table, None if kinds is None else tuple(kinds), most_running)
    taken = session.connection().execute(take, parameters).one_or_none()  # the session has read no row of these yet
    if taken is None:
        return None
    session.connection().execute(_serving(), {"of_owner": taken.owner_id, "at_now": now})
    return Hold(taken.id, taken.token, taken.losses)


# Runners ask every half second, and to write a statement takes ten times as long as to run it.
@cache
def _taking(
    table: type[Leased], kinds: tuple[str, ...] | None, most_running: int | None
) -> ReturningUpdate[str, int, int, str]:
    """The statement of `take_next`."""
    now, ahead, until = (bindparam(name, type_=table.lease_until.type) for name in ("at_now", "at_ahead", "at_until"))
    # A lease that ends this far ahead predates a clock that was set back: its runner soon sends a heartbeat or is dead.
    expired = and_(table.status == _RUNNING, or_(table.lease_until <= now, table.lease_until > ahead))
    other = aliased(table)
    running = (
        select(func.count())
        .where(other.owner_id == table.owner_id, other.status == _RUNNING, other.lease_until > now)
        .scalar_subquery()
    )
    served_at = select(OwnerRow.served_at).where(OwnerRow.id == table.owner_id).scalar_subquery()
    is_asked_for = true() if kinds is None else JobRow.kind.in_(kinds)
    is_free = and_(or_(table.status == _QUEUED, expired), is_asked_for)
    may_run = true() if most_running is None else or_(table.status == _RUNNING, running < most_running)
    # The owner with fewest running comes first, then the one served longest ago, then the oldest row.
    turn = (case((table.status == _RUNNING, 0), else_=1), running, served_at.asc().nulls_first(), table.created_at)
    following = (
        select(table.id).where(is_free, may_run).order_by(*turn, table.id).limit(1).with_for_update(skip_locked=True)
    )
    return (
        update(table)
        .where(table.id == following.with_for_update(skip_locked=True).scalar_subquery(), is_free)
        .values(
            status=_RUNNING,
            token=table.token + 1,
            losses=table.losses + case((table.runner_id.is_not(None), 1), else_=0),
            runner_id=bindparam("by_runner", type_=table.runner_id.type),
            lease_until=until,
            started_at=func.coalesce(table.started_at, now),
        )
        .returning(table.id, table.token, table.losses, table.owner_id)
    )


@cache
def _serving() -> Update:
    """The statement that notes whom `take_next` served."""
    return update(OwnerRow).where(OwnerRow.id == bindparam("of_owner")).values(served_at=bindparam("at_now"))


def give_back(session: Session, table: type[Leased], row_id: str, token: int) -> None:
    """Let any runner take a row at once; does nothing if the lease is lost."""
    session.execute(
        update(table).where(_is_held(table)).values(lease_until=database_now(session), runner_id=None),
        {"held_id": row_id, "held_token": token},
        execution_options={"synchronize_session": False},
    )


def lock_held(session: Session, table: type[Leased], row_id: str, token: int) -> Leased:
    """Read a row that is held under a token, locked until the transaction ends. Raises LeaseLostError."""
    return _held(session, table, row_id, token, lock=True)


def read_held(session: Session, table: type[Leased], row_id: str, token: int) -> Leased:
    """Read a row that is held under a token. Raises LeaseLostError."""
    return _held(session, table, row_id, token, lock=False)


def end_lease(session: Session, row: SearchRow | JobRow) -> None:
    """End a row's lease and set its finish time; the caller sets the status."""
    row.runner_id = None
    row.lease_until = None
    row.finished_at = database_now(session)


def _is_held(table: type[SearchRow | JobRow]) -> ColumnElement[bool]:
    held_id: BindParameter[str] = bindparam("held_id")
    held_token: BindParameter[int] = bindparam("held_token")
    return and_(table.id == held_id, table.token == held_token, table.status == _RUNNING)


@cache
def _holding(table: type[SearchRow | JobRow], *, lock: bool) -> Select[Any]:
    query = select(table).where(_is_held(table))
    return query.with_for_update() if lock else query


def _held(session: Session, table: type[Leased], row_id: str, token: int, *, lock: bool) -> Leased:
    held = {"held_id": row_id, "held_token": token}
    row: Leased | None = session.scalars(_holding(table, lock=lock), held).one_or_none()
    if row is None:
        msg = f"{table.__tablename__} {row_id} is not held under token {token} any longer"
        raise LeaseLostError(msg)
    return row


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
