"""Counts of problems with rounds, kept in memory and updated from the rows of feedback.

A row of feedback never changes and is numbered under the lock of its problem, so that only later rows have to be read.
A snapshot in the database spares a new process all but the last thousand.
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

from autoprog.csmd import ArmClassifiers, Arms, Counts, SelectionProblem, problem_from_json
from autoprog.storage.files import Files
from autoprog.storage.repositories import SelectionFeedbackRepository
from autoprog.storage.test_selection_tables import SelectionProblemRow

SNAPSHOT_EVERY = 1000
"""Rows of feedback between snapshots."""

_IN_MEMORY = 32
_CLASSIFIERS_IN_MEMORY = 4


@dataclass(frozen=True, eq=False)
class LiveProblem:
    """A problem with the counts of the feedback read so far."""

    problem: SelectionProblem
    counts: Counts  # without open rounds
    sequence: int  # last row of feedback in the counts
    kept: int  # last row of feedback in the snapshot


class LiveProblems:
    """The problems used last; safe for several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._live: OrderedDict[str, LiveProblem] = OrderedDict()

    def arms(self, row: SelectionProblemRow) -> Arms:
        """Return the arms of a problem, without reading feedback."""
        return self._find(row).problem.arms

    def current(self, session: Session, row: SelectionProblemRow) -> LiveProblem:
        """Update a problem with all committed feedback; `session` must not have written any itself."""
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
        """Write a snapshot if many rows came since the last one; the transaction has locked the problem."""
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
    """Pack the outputs of the arms that a round has revealed, one bit each."""
    return np.packbits(predictions.astype(np.uint8)).tobytes()


def _unpacked(arms: Arms, rows: Sequence[tuple[int, int, bytes]]) -> Iterable[tuple[int, NDArray[np.integer]]]:
    for _, arm, outputs in rows:
        count = len(arms.revealed(arm))
        yield arm, np.unpackbits(np.frombuffer(outputs, dtype=np.uint8), count=count).astype(np.int8)


def arms_loader(files: Files) -> Callable[[str], ArmClassifiers]:
    """Return a cached loader of the classifiers of a problem's arms."""

    @lru_cache(maxsize=_CLASSIFIERS_IN_MEMORY)
    def load(sha256: str) -> ArmClassifiers:
        return ArmClassifiers.from_bytes(files.get("test_selection_arms", sha256))

    return load
