"""Leases on rows of work: one runner holds a row at a time, and whoever held it before is refused.

A claim gives a row to a runner for some seconds, which heartbeats extend, and raises its fencing token. Each write
locks the row under the token that the writer was given: a runner that was taken for dead, and was not, finds a greater
token there and stops.
"""

from __future__ import annotations

from datetime import timedelta
from typing import NamedTuple, TypeVar

from sqlalchemy import ColumnElement, Select, and_, case, func, or_, select, true, update
from sqlalchemy.orm import Session, aliased

from autoprog.errors import LeaseLostError
from autoprog.storage.database import database_now
from autoprog.storage.tables import JobRow, OwnerRow, SearchRow, SearchStatus

Leased = TypeVar("Leased", SearchRow, JobRow)

# Searches and jobs spell these two alike.
_QUEUED, _RUNNING = SearchStatus.QUEUED.value, SearchStatus.RUNNING.value
# Longer than the leases of different runners differ.
_PUT_BACK_S = 60.0


class Hold(NamedTuple):
    """A row that a runner has just been given.

    Attributes
    ----------
    id : str
        The row's.
    token : int
        Fencing token of this claim.
    losses : int
        Leases on the row that ran out.
    """

    id: str
    token: int
    losses: int


def take_next(
    session: Session,
    table: type[Leased],
    runner_id: str,
    lease_s: float,
    *among: ColumnElement[bool],
    most_running: int | None = None,
) -> Hold | None:
    """Give a runner the row that is next: one whose lease has run out, else a queued one of the owner whose turn it is.

    It is the turn of whoever has fewest running, of these of the one for whom nothing was taken for longest; of an
    owner the oldest is first.

    Parameters
    ----------
    session : Session
        The transaction to work in.
    table : type
        `SearchRow` or `JobRow`.
    runner_id : str
        Names the runner.
    lease_s : float
        Seconds until another runner may take the row.
    *among : ColumnElement
        Further conditions on the row.
    most_running : int or None
        Of one owner; None for any number.

    Returns
    -------
    Hold or None
        None if there is no such row.
    """
    now = database_now(session)
    # What ends so far ahead was given before the clock was put back: its runner soon tells of itself, or is dead.
    ahead = now + timedelta(seconds=lease_s + _PUT_BACK_S)
    expired = and_(table.status == _RUNNING, or_(table.lease_until <= now, table.lease_until > ahead))
    other = aliased(table)
    running = (
        select(func.count())
        .where(other.owner_id == table.owner_id, other.status == _RUNNING, other.lease_until > now)
        .scalar_subquery()
    )
    served_at = select(OwnerRow.served_at).where(OwnerRow.id == table.owner_id).scalar_subquery()
    is_free = and_(or_(table.status == _QUEUED, expired), *among)
    may_run = true() if most_running is None else or_(table.status == _RUNNING, running < most_running)
    turn = (case((table.status == _RUNNING, 0), else_=1), running, served_at.asc().nulls_first(), table.created_at)
    following = (
        select(table.id).where(is_free, may_run).order_by(*turn, table.id).limit(1).with_for_update(skip_locked=True)
    )
    take = (
        update(table)
        .where(table.id == following.with_for_update(skip_locked=True).scalar_subquery(), is_free)
        .values(
            status=_RUNNING,
            token=table.token + 1,
            losses=table.losses + case((table.runner_id.is_not(None), 1), else_=0),
            runner_id=runner_id,
            lease_until=now + timedelta(seconds=lease_s),
            started_at=func.coalesce(table.started_at, now),
        )
        .returning(table.id, table.token, table.losses, table.owner_id)
    )
    taken = session.execute(take, execution_options={"synchronize_session": False}).one_or_none()
    if taken is None:
        return None
    session.execute(update(OwnerRow).where(OwnerRow.id == taken.owner_id).values(served_at=now))
    return Hold(taken.id, taken.token, taken.losses)


def give_back(session: Session, table: type[Leased], row_id: str, token: int) -> None:
    """Let any runner take a row at once; nothing happens if the lease is lost already."""
    session.execute(
        update(table).where(_is_held(table, row_id, token)).values(lease_until=database_now(session), runner_id=None),
        execution_options={"synchronize_session": False},
    )


def lock_held(session: Session, table: type[Leased], row_id: str, token: int) -> Leased:
    """Read a row that is held under a token, locked until the transaction ends. Raises LeaseLostError."""
    return _held(session, select(table).with_for_update(), table, row_id, token)


def read_held(session: Session, table: type[Leased], row_id: str, token: int) -> Leased:
    """Read a row that is held under a token. Raises LeaseLostError."""
    return _held(session, select(table), table, row_id, token)


def end_lease(session: Session, row: SearchRow | JobRow) -> None:
    """Mark a held row as finished now, held by nobody; the caller sets its status."""
    row.runner_id = None
    row.lease_until = None
    row.finished_at = database_now(session)


def _is_held(table: type[Leased], row_id: str, token: int) -> ColumnElement[bool]:
    return and_(table.id == row_id, table.token == token, table.status == _RUNNING)


def _held(session: Session, query: Select[Leased], table: type[Leased], row_id: str, token: int) -> Leased:
    row = session.scalars(query.where(_is_held(table, row_id, token))).one_or_none()
    if row is None:
        msg = f"{table.__tablename__} {row_id} is not held under token {token} any longer"
        raise LeaseLostError(msg)
    return row
