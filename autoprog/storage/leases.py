"""Leases on searches and jobs: one runner holds a row at a time, and former holders are refused.

A claim leases a row for some seconds, which heartbeats extend, and raises its fencing token. Each write locks the row
under the writer's token: a runner that was wrongly taken for dead finds a greater token and stops.

`begin`, `extend`, `release` and `end` add up the seconds that a search has spent of its budget. They count from one
sign of life of its runner to the next by the database's clock, and at most the length of the lease: neither time
without a runner nor a clock that is set forward counts.

Runners write often and little: a search's statements name the columns that they need, and load no objects.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache
from typing import Any, NamedTuple, Protocol, TypeVar

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Executable,
    Row,
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


class Timed(Protocol):
    """A search's columns from which the time that it has spent is computed."""

    @property
    def spent_s(self) -> float:
        """Seconds that were spent up to `heard_at`."""

    @property
    def heard_at(self) -> datetime | None:
        """Last sign of life of its runner."""

    @property
    def lease_until(self) -> datetime | None:
        """End of its lease."""


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
    # Counted once an owner, not once a row that waits: tens of thousands may wait.
    held = (
        select(other.owner_id, func.count().label("n"))
        .where(other.status == _RUNNING, other.lease_until > now)
        .group_by(other.owner_id)
        .subquery()
    )
    running = func.coalesce(held.c.n, 0)
    is_asked_for = true() if kinds is None else JobRow.kind.in_(kinds)
    is_free = and_(or_(table.status == _QUEUED, expired), is_asked_for)
    may_run = true() if most_running is None else or_(table.status == _RUNNING, running < most_running)
    # The owner with fewest running comes first, then the one served longest ago, then the oldest row.
    turn = (
        case((table.status == _RUNNING, 0), else_=1),
        running,
        OwnerRow.served_at.asc().nulls_first(),
        table.created_at,
        table.id,
    )
    following = (
        select(table.id)
        .join(OwnerRow, OwnerRow.id == table.owner_id)
        .outerjoin(held, held.c.owner_id == table.owner_id)
        .where(is_free, may_run)
        .order_by(*turn)
        .limit(1)
        .with_for_update(of=table, skip_locked=True)
    )
    return (
        update(table)
        .where(table.id == following.scalar_subquery(), is_free)
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


def give_back(session: Session, job_id: str, token: int) -> None:
    """Let any runner take a job at once; does nothing if the lease is lost."""
    session.execute(
        update(JobRow).where(is_held(JobRow)).values(lease_until=database_now(session), runner_id=None),
        {"held_id": job_id, "held_token": token},
        execution_options={"synchronize_session": False},
    )


def lock_job(session: Session, job_id: str, token: int) -> JobRow:
    """Read a job that is held under a token, locked until the transaction ends. Raises LeaseLostError."""
    return _held_job(session, job_id, token, lock=True)


def read_job(session: Session, job_id: str, token: int) -> JobRow:
    """Read a job that is held under a token. Raises LeaseLostError."""
    return _held_job(session, job_id, token, lock=False)


def _held_job(session: Session, job_id: str, token: int, *, lock: bool) -> JobRow:
    query = select(JobRow).where(is_held(JobRow))
    held = {"held_id": job_id, "held_token": token}
    row = session.scalars(query.with_for_update() if lock else query, held).one_or_none()
    if row is None:
        raise lost(JobRow, job_id, token)
    return row


def end_lease(session: Session, row: JobRow) -> None:
    """End a job's lease and set its finish time; the caller sets the status."""
    row.runner_id = None
    row.lease_until = None
    row.finished_at = database_now(session)


def is_held(table: type[SearchRow | JobRow]) -> ColumnElement[bool]:
    """The condition that a row is held; its parameters are `held_id` and `held_token`."""
    held_id: BindParameter[str] = bindparam("held_id")
    held_token: BindParameter[int] = bindparam("held_token")
    return and_(table.id == held_id, table.token == held_token, table.status == _RUNNING)


def lost(table: type[SearchRow | JobRow], row_id: str, token: int) -> LeaseLostError:
    """Make the error of a former holder."""
    return LeaseLostError(f"{table.__tablename__} {row_id} is not held under token {token} any longer")


@cache
def _holding_search() -> Executable:
    columns = (
        SearchRow.id,
        SearchRow.owner_id,
        SearchRow.cohort_id,
        SearchRow.token,
        SearchRow.losses,
        SearchRow.spent_s,
        SearchRow.heard_at,
        SearchRow.lease_until,
        SearchRow.cancel_requested_at,
    )
    return select(*columns).where(is_held(SearchRow)).with_for_update()


def lock_search(session: Session, search_id: str, token: int) -> Row[Any]:
    """Read owner, cohort, lease and time of a search that is held under a token, and lock it. Raises LeaseLostError."""
    held = {"held_id": search_id, "held_token": token}
    row = session.connection().execute(_holding_search(), held).one_or_none()
    if row is None:
        raise lost(SearchRow, search_id, token)
    return row


_SET = update(SearchRow).where(SearchRow.id == bindparam("of"))


def set_columns(session: Session, search: Row[Any], values: Mapping[str, Any]) -> None:
    """Set columns of a locked search."""
    session.connection().execute(_SET, {"of": search.id, **values})


def begin(session: Session, hold: Hold, lease_s: float) -> None:
    """Start counting at a search's new claim, and add the start-up time."""
    search = lock_search(session, hold.id, hold.token)
    now, spent = search.lease_until - timedelta(seconds=lease_s), search.spent_s
    if hold.token == 1 and search.heard_at is not None:
        spent += _within((now - search.heard_at).total_seconds(), _START_S)
    set_columns(session, search, {"spent_s": spent, "heard_at": now})


def extend(session: Session, search: Row[Any], lease_s: float) -> None:
    """Extend a locked search's lease."""
    now = database_now(session)
    set_columns(session, search, {**_counted(search, now), "lease_until": now + timedelta(seconds=lease_s)})


def release(session: Session, search: Row[Any]) -> None:
    """Let any runner take a locked search at once."""
    now = database_now(session)
    set_columns(session, search, {**_counted(search, now), "lease_until": now, "runner_id": None})


def end(session: Session, search: Row[Any], values: Mapping[str, Any]) -> None:
    """End a locked search, and set its status and other columns."""
    now = database_now(session)
    ended = {"lease_until": None, "runner_id": None, "phase": None, "finished_at": now}
    set_columns(session, search, {**_counted(search, now), **ended, **values})


def _counted(search: Timed, now: datetime) -> dict[str, Any]:
    """The time that is spent up to now, a sign of life."""
    return {"spent_s": spent_s(search, now), "heard_at": now}


def spent_s(search: Timed, now: datetime) -> float:
    """Seconds of the budget that are spent up to now."""
    if search.heard_at is None or search.lease_until is None:
        return search.spent_s
    lease_s = (search.lease_until - search.heard_at).total_seconds()
    return search.spent_s + _within((now - search.heard_at).total_seconds(), lease_s)


def _within(seconds: float, most: float) -> float:
    return max(0.0, min(seconds, most))
