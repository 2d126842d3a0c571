"""Queries on rounds of test selection, their feedback, and its sums.

Rounds are opened and feedback is written under the lock of the problem's row: numbers follow the order of commits, so
that a reader who has seen a sequence number has seen all smaller ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from autoprog.errors import ConflictError
from autoprog.storage.database import database_now, new_id
from autoprog.storage.repositories._owned import PartRepository, erase, get_owned
from autoprog.storage.test_selection_tables import (
    SelectionFeedbackRow,
    SelectionProblemRow,
    SelectionRoundRow,
    SelectionSnapshotRow,
)


@dataclass(frozen=True, slots=True)
class ArmTally:
    """Rounds of one arm.

    Attributes
    ----------
    plays : int
        Rounds with this arm.
    closed : int
        Those with feedback.
    cost, closed_cost : float
        Cost of the tests done, in all rounds and in the closed ones.
    """

    plays: int
    closed: int
    cost: float
    closed_cost: float


class SelectionRoundRepository(PartRepository[SelectionRoundRow]):
    """Rounds of all owners' problems."""

    _table = SelectionRoundRow
    _whole, _key = SelectionProblemRow, "problem_id"

    def open(self, problem: SelectionProblemRow, arm: int, measurements: Mapping[str, Any] | None) -> SelectionRoundRow:
        """Open the round that `lock_for_round` counted in this transaction; None as measurements awaits predictions."""
        row = SelectionRoundRow(
            id=new_id(),
            owner_id=problem.owner_id,
            problem_id=problem.id,
            number=problem.n_rounds,
            arm=arm,
            measurements=None if measurements is None else dict(measurements),
            version=1,
            cost=0.0,
            created_at=database_now(self._session),
        )
        self._session.add(row)
        self._session.flush()
        return row

    def measure(self, row: SelectionRoundRow, measurements: Mapping[str, Any], cost: float) -> None:
        """Update a round's measurements and cost; the transaction has locked the problem."""
        row.measurements, row.cost, row.version = dict(measurements), cost, row.version + 1
        self._session.flush()

    def close(
        self,
        problem: SelectionProblemRow,
        row: SelectionRoundRow,
        *,
        outputs: bytes,
        outcome: Mapping[str, Any],
        cost: float,
    ) -> None:
        """Close a round of the locked problem.

        Parameters
        ----------
        problem : SelectionProblemRow
            The problem, locked by the transaction.
        row : SelectionRoundRow
            Its open round, read after the lock was taken.
        outputs : bytes
            One bit per arm that the chosen one reveals.
        outcome : mapping
            The prediction and its basis, as JSON.
        cost : float
            Cost of the tests done.
        """
        now = database_now(self._session)
        problem.n_feedback += 1
        row.outcome, row.cost, row.closed_at = dict(outcome), cost, now
        self._session.add(
            SelectionFeedbackRow(
                problem_id=problem.id,
                sequence=problem.n_feedback,
                round_id=row.id,
                arm=row.arm,
                outputs=outputs,
                created_at=now,
            )
        )
        self._session.flush()

    def delete(self, owner_id: str, problem_id: str, round_id: str) -> None:
        """Delete an open round; its number is not reused. Raises NotFoundError, or ConflictError if it has feedback."""
        get_owned(self._session, SelectionProblemRow, owner_id, problem_id, lock=True)
        row = self.of(owner_id, problem_id, round_id, lock=True)
        if row.closed_at is not None:
            raise ConflictError("the round is closed: its feedback has been counted")
        erase(self._session, SelectionRoundRow, SelectionRoundRow.id == row.id)

    def tallies(self, problem_id: str) -> dict[int, ArmTally]:
        """Count the rounds of a problem by arm; arms never chosen are absent."""
        table, closed = SelectionRoundRow, SelectionRoundRow.closed_at.is_not(None)
        query = (
            select(
                table.arm,
                func.count(),
                func.count(table.closed_at),
                func.sum(table.cost),
                func.coalesce(func.sum(table.cost).filter(closed), 0.0),
            )
            .where(table.problem_id == problem_id)
            .group_by(table.arm)
        )
        return {
            arm: ArmTally(plays, closed_rounds, cost, closed_cost)
            for arm, plays, closed_rounds, cost, closed_cost in self._session.execute(query)
        }


class SelectionFeedbackRepository:
    """Feedback of all problems, in the order of writing.

    Parameters
    ----------
    session : Session
        The transaction.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    def after(self, problem_id: str, sequence: int) -> Sequence[tuple[int, int, bytes]]:
        """Read later feedback than a sequence number (0 for all) as (sequence number, arm, outputs)."""
        table = SelectionFeedbackRow
        query = (
            select(table.sequence, table.arm, table.outputs)
            .where(table.problem_id == problem_id, table.sequence > sequence)
            .order_by(table.sequence)
        )
        return [(number, arm, outputs) for number, arm, outputs in self._session.execute(query)]

    def snapshot(self, problem_id: str) -> tuple[int, bytes] | None:
        """Read the sums over the first rows and the last of these; None if absent."""
        row = self._session.get(SelectionSnapshotRow, problem_id, populate_existing=True)
        return None if row is None else (row.sequence, row.counts)

    def keep_snapshot(self, problem_id: str, sequence: int, counts: bytes) -> None:
        """Store the sums over all rows up to a committed one; the transaction has locked the problem."""
        row = self._session.get(SelectionSnapshotRow, problem_id, populate_existing=True)
        if row is None:
            self._session.add(SelectionSnapshotRow(problem_id=problem_id, sequence=sequence, counts=counts))
        elif row.sequence < sequence:
            row.sequence, row.counts = sequence, counts
        self._session.flush()
