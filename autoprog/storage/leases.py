"""Leases on rows of work: one runner holds a row at a time, and whoever held it before is refused.

A claim gives a row to a runner for some seconds, which heartbeats extend, and raises its fencing token. Each write
locks the row under the token that the writer was given: a runner that was taken for dead, and was not, finds a greater
token there and stops.
"""

from __future__ import annotations

from datetime import timedelta
from typing import NamedTuple, TypeVar

from sqlalchemy import ColumnElement, Select, and_, case, func, or_, select, update
from sqlalchemy.orm import Session

from autoprog.errors import LeaseLostError
from autoprog.storage.database import database_now
from autoprog.storage.tables import JobRow, SearchRow, SearchStatus

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


def take_oldest(
    session: Session, table: type[Leased], runner_id: str, lease_s: float, *among: ColumnElement[bool]
) -> Hold | None:
    """Give a runner the oldest row that is queued, or running with an expired lease.

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

    Returns
    -------
    Hold or None
        None if there is no such row.
    """
    now = database_now(session)
    # What ends so far ahead was given before the clock was put back: its runner soon tells of itself, or is dead.
    ends = table.lease_until
    expired = and_(table.status == _RUNNING, or_(ends <= now, ends > now + timedelta(seconds=lease_s + _PUT_BACK_S)))
    is_free = and_(or_(table.status == _QUEUED, expired), *among)
    oldest = (
        select(table.id).where(is_free).order_by(table.created_at, table.id).limit(1).with_for_update(skip_locked=True)
    )
    take = (
        update(table)
        .where(table.id == oldest.scalar_subquery(), is_free)
        .values(
            status=_RUNNING,
            token=table.token + 1,
            losses=table.losses + case((table.runner_id.is_not(None), 1), else_=0),
            runner_id=runner_id,
            lease_until=now + timedelta(seconds=lease_s),
            started_at=func.coalesce(table.started_at, now),
        )
        .returning(table.id, table.token, table.losses)
    )
    taken = session.execute(take, execution_options={"synchronize_session": False}).one_or_none()
    return None if taken is None else Hold(taken.id, taken.token, taken.losses)


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
