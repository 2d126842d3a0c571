"""Sums over a problem's feedback: everything it has learnt.

    D, N          disagreements and observations of every pair of arms                     (P,)
    plays         rounds in which an arm was chosen                                        (n,)
    feedback      those of them that have feedback                                         (n,)
    chains        rounds in which at least three nested arms were seen                     scalar
    reversals     those of them whose outputs change in both directions as tests are added scalar

Since all are sums, the order of feedback does not matter, and a snapshot with the later rows is the whole state. The
caller must ensure that no row is counted twice.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from autoprog.csmd.arms import Arms
from autoprog.errors import ArtifactError


@dataclass(frozen=True, eq=False)
class Counts:
    """Sums over the rounds of a problem."""

    D: NDArray[np.int32]  # shape = (P,), pairs as in `Arms`
    N: NDArray[np.int32]
    plays: NDArray[np.int64]  # rounds opened, by arm, shape = (n,)
    feedback: NDArray[np.int64]  # rounds with feedback
    chains: int = 0  # rounds with at least three nested arms
    reversals: int = 0  # those of them that refute strong dominance

    @classmethod
    def empty(cls, arms: Arms) -> Self:
        """Counts of a problem without feedback."""
        pairs, n = arms.n_pairs, len(arms)
        return cls(np.zeros(pairs, np.int32), np.zeros(pairs, np.int32), np.zeros(n, np.int64), np.zeros(n, np.int64))

    @property
    def rounds(self) -> int:
        """Number of opened rounds; the next has the number t = rounds + 1."""
        return int(self.plays.sum())

    @property
    def nbytes(self) -> int:
        """Bytes that the arrays hold."""
        return sum(array.nbytes for array in (self.D, self.N, self.plays, self.feedback))

    def to_bytes(self) -> bytes:
        """Write a compressed snapshot, with the same bytes for the same counts and library versions."""
        file = io.BytesIO()
        seen = np.array([self.chains, self.reversals])
        np.savez_compressed(file, D=self.D, N=self.N, plays=self.plays, feedback=self.feedback, seen=seen)
        return file.getvalue()

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        """Read a snapshot that `to_bytes` wrote, or raise ArtifactError; nothing in it is executed."""
        try:
            with np.load(io.BytesIO(content), allow_pickle=False) as file:
                chains, reversals = file["seen"].tolist()
                return cls(file["D"], file["N"], file["plays"], file["feedback"], chains, reversals)
        except (BadZipFile, zlib.error, OSError, ValueError, KeyError, EOFError) as error:
            raise ArtifactError(f"the snapshot of a test selection problem is damaged: {error}") from error


def record_play(counts: Counts, arm: int) -> Counts:
    """New counts after a round was opened with the arm of this index."""
    plays = counts.plays.copy()
    plays[arm] += 1
    return Counts(counts.D, counts.N, plays, counts.feedback, counts.chains, counts.reversals)


def update(arms: Arms, counts: Counts, rows: Iterable[tuple[int, NDArray[np.integer]]]) -> Counts:
    """New counts after feedback, from played arms and the outputs of `arms.revealed(arm)`, 0 or 1, in any order."""
    D, N, feedback = counts.D.copy(), counts.N.copy(), counts.feedback.copy()
    chains, reversals = counts.chains, counts.reversals
    i, j = arms.pairs
    outputs = np.zeros(len(arms), dtype=np.int8)
    for arm, predictions in rows:
        outputs[arms.revealed(arm)] = predictions
        pairs = arms.revealed_pairs(arm)
        N[pairs] += 1
        D[pairs] += outputs[i[pairs]] != outputs[j[pairs]]
        feedback[arm] += 1
        if len(arms.arms[arm].tests) >= 3:
            chains += 1
            reversals += is_reversal(arms, arm, predictions)
    return Counts(D, N, counts.plays, feedback, chains, reversals)


def is_reversal(arms: Arms, arm: int, predictions: NDArray[np.integer]) -> bool:
    """Whether the outputs of `arms.revealed(arm)` refute strong dominance, whatever the truth is."""
    # If a right arm stays right as tests are added, outputs only turn from wrong to right: all 0 to 1, or all 1 to 0.
    fewer, more = arms.coverings(arm)
    change = predictions[more].astype(np.int8) - predictions[fewer]
    return bool((change > 0).any() and (change < 0).any())
