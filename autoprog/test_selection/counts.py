"""What a problem has learnt: sums over its feedback.

    D, N          disagreements and observations of every pair of arms                     (P,)
    plays         rounds in which an arm was chosen                                        (n,)
    feedback      of those, rounds whose predictions have come                             (n,)
    reversals     of the rounds in which at least three nested arms were seen (`chains`), those in which the outputs
                  change to and fro as tests are added

Every entry is a sum over rows of feedback: their order does not matter, and a snapshot with the rows that came after it
is the whole state. Whether a row was counted before is for the keeper of the rows to know.
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

from autoprog.errors import ArtifactError
from autoprog.test_selection.arms import Arms


@dataclass(frozen=True, eq=False)
class Counts:
    """Sums over the rounds of a problem.

    Attributes
    ----------
    D, N : ndarray of int32, shape = (P,)
        Disagreements and observations, pairs as in `Arms`.
    plays, feedback : ndarray of int64, shape = (n,)
        Rounds opened, and rounds with feedback, by arm.
    chains, reversals : int
        Rounds with at least three nested arms, and those of them that speak against strong dominance.
    """

    D: NDArray[np.int32]
    N: NDArray[np.int32]
    plays: NDArray[np.int64]
    feedback: NDArray[np.int64]
    chains: int = 0
    reversals: int = 0

    @classmethod
    def empty(cls, arms: Arms) -> Self:
        """Counts of a problem without experience."""
        pairs, n = arms.n_pairs, len(arms)
        return cls(np.zeros(pairs, np.int32), np.zeros(pairs, np.int32), np.zeros(n, np.int64), np.zeros(n, np.int64))

    @property
    def rounds(self) -> int:
        """Rounds opened so far; the next has the number t = rounds + 1."""
        return int(self.plays.sum())

    @property
    def nbytes(self) -> int:
        """Bytes that the arrays hold."""
        return sum(array.nbytes for array in (self.D, self.N, self.plays, self.feedback))

    def to_bytes(self) -> bytes:
        """A snapshot; compressed, the same for the same counts on one version of the libraries."""
        file = io.BytesIO()
        seen = np.array([self.chains, self.reversals])
        np.savez_compressed(file, D=self.D, N=self.N, plays=self.plays, feedback=self.feedback, seen=seen)
        return file.getvalue()

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        """Read a snapshot.

        Parameters
        ----------
        content : bytes
            As `to_bytes` wrote it; nothing in it is run.

        Returns
        -------
        Counts
            The same.

        Raises
        ------
        ArtifactError
            If it is damaged.
        """
        try:
            with np.load(io.BytesIO(content), allow_pickle=False) as file:
                chains, reversals = file["seen"].tolist()
                return cls(file["D"], file["N"], file["plays"], file["feedback"], chains, reversals)
        except (BadZipFile, zlib.error, OSError, ValueError, KeyError, EOFError) as error:
            raise ArtifactError(f"the snapshot of a test selection problem is damaged: {error}") from error


def record_play(counts: Counts, arm: int) -> Counts:
    """Counts after a round was opened.

    Parameters
    ----------
    counts : Counts
        Before.
    arm : int
        The arm that was chosen, from 0.

    Returns
    -------
    Counts
        New; the given ones stay.
    """
    plays = counts.plays.copy()
    plays[arm] += 1
    return Counts(counts.D, counts.N, plays, counts.feedback, counts.chains, counts.reversals)


def update(arms: Arms, counts: Counts, rows: Iterable[tuple[int, NDArray[np.integer]]]) -> Counts:
    """Counts after feedback.

    Parameters
    ----------
    arms : Arms
        Of the problem.
    counts : Counts
        Before.
    rows : iterable of (int, ndarray)
        The arm that was played, and the outputs, 0 or 1, of `arms.revealed(arm)`, in that order; as
        `check_predictions` makes them.

    Returns
    -------
    Counts
        New; the given ones stay. The same whatever the order of the rows.
    """
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
    """Whether the outputs speak against strong dominance, whatever the truth is.

    If an arm that is right stays right when tests are added, then with every added test outputs can only turn from
    wrong to right: all changes are from 0 to 1, or all from 1 to 0.

    Parameters
    ----------
    arms : Arms
        Of the problem.
    arm : int
        The arm that was played, from 0.
    predictions : ndarray
        Outputs of `arms.revealed(arm)`.

    Returns
    -------
    bool
        True if both kinds of change occur.
    """
    fewer, more = arms.coverings(arm)
    change = predictions[more].astype(np.int8) - predictions[fewer]
    return bool((change > 0).any() and (change < 0).any())
