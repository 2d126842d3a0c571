"""Problems with rounds: their counts, kept in memory and brought up to date from the rows of feedback.

A row of feedback is never changed and is numbered under the lock of its problem, so that what was summed up once stays
right: only later rows have to be read. A snapshot in the database spares a new process all but the last thousand.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from autoprog.storage.files import Files
from autoprog.storage.repositories import SelectionFeedbackRepository
from autoprog.storage.test_selection_tables import SelectionProblemRow
from autoprog.test_selection import ArmClassifiers, Arms, Counts, SelectionProblem, problem_from_json

SNAPSHOT_EVERY = 1000
"""Rows of feedback from one snapshot to the next."""

_IN_MEMORY = 32
_CLASSIFIERS_IN_MEMORY = 4


@dataclass(frozen=True, eq=False)
class LiveProblem:
    """A problem as far as its feedback was read.

    Attributes
    ----------
    problem : SelectionProblem
        Arms and policy.
    counts : Counts
        Without the rounds that are open.
    sequence : int
        The last row of feedback in them.
    kept : int
        The last row in the snapshot.
    """

    problem: SelectionProblem
    counts: Counts
    sequence: int
    kept: int


class LiveProblems:
    """The problems that rounds were opened on lately; several threads may ask at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._live: OrderedDict[str, LiveProblem] = OrderedDict()

    def arms(self, row: SelectionProblemRow) -> Arms:
        """The arms of a problem; nothing is read for them."""
        return self._find(row).problem.arms

    def current(self, session: Session, row: SelectionProblemRow) -> LiveProblem:
        """Bring a problem up to date.

        Parameters
        ----------
        session : Session
            Reads feedback that is committed: it must not have written any itself.
        row : SelectionProblemRow
            The problem.

        Returns
        -------
        LiveProblem
            With all feedback that the transaction sees.
        """
        live = self._find(row)
        feedback = SelectionFeedbackRepository(session)
        if live.sequence == 0 and (snapshot := feedback.snapshot(row.id)) is not None:
            sequence, content = snapshot
            live = LiveProblem(live.problem, Counts.from_bytes(content), sequence, sequence)
        rows = feedback.after(row.id, live.sequence)
        if rows:
            problem = live.problem
            counts = problem.update_many(live.counts, _unpacked(problem.arms, rows))
            live = LiveProblem(problem, counts, rows[-1][0], live.kept)
        return self._keep(row.id, live)

    def keep_snapshot(self, session: Session, row: SelectionProblemRow, live: LiveProblem) -> None:
        """Write a snapshot where there are many rows since the last one; the transaction has locked the problem."""
        if live.sequence - live.kept < SNAPSHOT_EVERY:
            return
        SelectionFeedbackRepository(session).keep_snapshot(row.id, live.sequence, live.counts.to_bytes())
        self._keep(row.id, LiveProblem(live.problem, live.counts, live.sequence, live.sequence))

    def _find(self, row: SelectionProblemRow) -> LiveProblem:
        with self._lock:
            live = self._live.get(row.id)
        if live is None:
            problem = problem_from_json(row.document)
            live = self._keep(row.id, LiveProblem(problem, problem.empty(), 0, 0))
        return live

    def _keep(self, problem_id: str, live: LiveProblem) -> LiveProblem:
        with self._lock:
            known = self._live.get(problem_id)
            if known is None or (known.sequence, known.kept) < (live.sequence, live.kept):
                self._live[problem_id] = live
            self._live.move_to_end(problem_id)
            if len(self._live) > _IN_MEMORY:
                self._live.popitem(last=False)
        return live


def pack_outputs(predictions: NDArray[np.int8]) -> bytes:
    """Outputs of the arms that a round has revealed, a bit each."""
    return np.packbits(predictions.astype(np.uint8)).tobytes()


def _unpacked(arms: Arms, rows: Sequence[tuple[int, int, bytes]]) -> Iterable[tuple[int, NDArray[np.integer]]]:
    for _, arm, outputs in rows:
        count = len(arms.revealed(arm))
        yield arm, np.unpackbits(np.frombuffer(outputs, dtype=np.uint8), count=count).astype(np.int8)


def arms_loader(files: Files) -> Callable[[str], ArmClassifiers]:
    """Read the classifiers of problems, and keep the last ones.

    Parameters
    ----------
    files : Files
        Holds them.

    Returns
    -------
    callable
        SHA-256 of their file -> the classifiers of all arms of a problem.
    """

    @lru_cache(maxsize=_CLASSIFIERS_IN_MEMORY)
    def load(sha256: str) -> ArmClassifiers:
        return ArmClassifiers.from_bytes(files.get("test_selection_arms", sha256))

    return load
