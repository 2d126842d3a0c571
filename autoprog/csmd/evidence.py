"""What a live problem has learnt from feedback, and its evidence for or against the assumptions of the theory.

    D, N          disagreements and observations of every pair of arms                     (P,)
    plays         rounds in which an arm was chosen                                        (n,)
    feedback      those of them that have feedback                                         (n,)
    chains        rounds in which at least three nested arms were seen                     scalar
    reversals     those of them whose outputs change in both directions as tests are added scalar
    phat          D / N                                                                    (P,)
    i             arm that the selection takes with phat as the estimates                  scalar
    margin        minimum over j after i of C_j - C_i - p_ij, in errors                    scalar

Since all counts are sums, the order of feedback does not matter, and a snapshot with the later rows is the whole state.
The caller must ensure that no row is counted twice.

Weak dominance concerns the best arm, which is unknown without the truth. The margin of i can be estimated: above 0 no
later arm can be better than i; whether an earlier arm is better stays open. Strong dominance (an arm that is right
stays right when tests are added) implies weak dominance. It can be refuted, by a round whose outputs change in both
directions as tests are added, but never proved.

Intervals hold at every time, although the data decide which arms are played: p is excluded once the likelihood averaged
over a uniform prior exceeds that at p by 1 / (1 - level). By Ville's inequality this ever happens to the true p with
probability at most 1 - level. For a margin, 1 - level is divided by its number of pairs.

References
----------
Unsupervised Online Feature Selection for Cost-Sensitive Medical Diagnosis, sections II to IV; Robbins 1970, Annals of
Mathematical Statistics 41:1397, and Howard, Ramdas, McAuliffe & Sekhon 2021, Annals of Statistics 49:1055 (intervals).
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, xlog1py, xlogy

from autoprog.csmd.arms import Arms
from autoprog.csmd.policies import UCB1, Policy, arms_after
from autoprog.csmd.selection import select
from autoprog.errors import ArtifactError

LEVEL = 0.95
"""Probability of the intervals."""

_BISECTIONS = 45
# Arms of equal cost that a text names.
_NAMED = 10

_Floats = NDArray[np.float64]


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
    """Count a round that was opened with an arm (from 0), and return the new counts."""
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


@dataclass(frozen=True, slots=True)
class DisagreementEstimate:
    """How often two arms, given by their ids, disagree."""

    first: str
    second: str
    observations: int  # N
    estimate: float | None  # phat; None without observations
    lower: float  # interval of level `LEVEL` for this pair alone
    upper: float


@dataclass(frozen=True, slots=True)
class DominanceEvidence:
    """Evidence for or against weak dominance."""

    arm: str  # id of i, the arm that the estimates choose
    is_fallback: bool  # chosen only because no arm is in both selection sets
    # The margin and its interval; None if an arm after i was never observed beside it, or no arm is after i.
    margin: float | None
    lower: float | None
    upper: float | None
    # If i is the best arm: "supported", "refuted" or "open" for an interval above 0, at or below 0, or around 0;
    # "unknown" if other arms cost the same, so that no round can tell; "vacuous" if no arm is after i.
    verdict: str
    says: str  # the verdict in words, with its limits


@dataclass(frozen=True, slots=True)
class StrongDominanceEvidence:
    """Evidence against strong dominance."""

    rounds: int  # rounds that could refute it
    reversals: int  # those that do
    share: float | None  # of reversals; None without such rounds
    lower: float  # interval of the share
    upper: float
    says: str


def confidence_sequence(D: NDArray[Any], N: NDArray[Any], level: float) -> tuple[_Floats, _Floats]:
    """Intervals for a probability that hold at all times at once.

    Parameters
    ----------
    D, N : ndarray, successes and observations
    level : float in (0, 1), probability that every interval of a growing sample holds the true value

    Returns
    -------
    lower, upper : ndarray
        In [0, 1], to 1e-12, rounded outwards.
    """
    D, N = np.asarray(D, dtype=np.float64), np.asarray(N, dtype=np.float64)
    least = betaln(D + 1, N - D + 1) + np.log(1 - level)
    phat = D / np.maximum(N, 1)

    def inside(p: _Floats) -> NDArray[np.bool_]:
        kept: NDArray[np.bool_] = xlogy(D, p) + xlog1py(N - D, -p) >= least
        return kept

    ends = []
    for end in (np.zeros_like(phat), np.ones_like(phat)):
        out, within = end, phat
        for _ in range(_BISECTIONS):
            middle = (out + within) / 2
            kept = inside(middle)
            out, within = np.where(kept, out, middle), np.where(kept, middle, within)
        ends.append(np.where(inside(end), end, out))
    return ends[0], ends[1]


def disagreement_estimates(
    arms: Arms, counts: Counts, start: int = 0, stop: int | None = None
) -> list[DisagreementEstimate]:
    """Estimates of the pairs `start` to `stop`, all by default; 10 tests as subsets have half a million pairs."""
    part = slice(start, stop)
    D, N = counts.D[part], counts.N[part]
    lower, upper = confidence_sequence(D, N, LEVEL)
    i, j = (ends[part] for ends in arms.pairs)
    return [
        DisagreementEstimate(
            arms.arms[i[k]].id,
            arms.arms[j[k]].id,
            int(N[k]),
            int(D[k]) / int(N[k]) if N[k] else None,
            float(lower[k]),
            float(upper[k]),
        )
        for k in range(len(N))
    ]


def estimated_choice(arms: Arms, counts: Counts) -> tuple[int, bool]:
    """Select an arm by the estimates alone, without exploring.

    Parameters
    ----------
    arms : Arms
    counts : Counts

    Returns
    -------
    arm : int
        From 0; i in the notation above.
    is_fallback : bool
        Whether it is played only because no arm is in both selection sets.
    """
    # A pair without observations counts as never disagreeing.
    phat = counts.D / np.maximum(counts.N, 1)
    arm = select(arms, lambda pairs, gap: phat[pairs] >= gap)
    others = np.delete(np.arange(len(arms)), arm)
    first, second = np.minimum(others, arm), np.maximum(others, arm)
    gap = arms.C[second] - arms.C[first]
    reached = phat[second * (second - 1) // 2 + first] >= gap
    lost = (reached == (others > arm)) & arms.decides(gap)
    return arm, bool(lost.any())


def dominance_evidence(arms: Arms, counts: Counts) -> DominanceEvidence:
    """Weigh the evidence for and against weak dominance.

    Parameters
    ----------
    arms : Arms
    counts : Counts

    Returns
    -------
    DominanceEvidence
        For the arm of `estimated_choice`: the margin over the arms after it, an interval of it, and a verdict in words.
    """
    arm, is_fallback = estimated_choice(arms, counts)
    name, after = arms.arms[arm].id, arms_after(arms, arm)
    if not len(after):
        says = f"arm {name} is {_last(arms)}: there is no later arm that it could fall behind without being seen to"
        return DominanceEvidence(name, is_fallback, None, None, None, "vacuous", says)
    first, second = np.minimum(after, arm), np.maximum(after, arm)
    pairs = second * (second - 1) // 2 + first
    D, N = counts.D[pairs], counts.N[pairs]
    gap = arms.C[after] - arms.C[arm]
    low, high = confidence_sequence(D, N, 1 - (1 - LEVEL) / len(after))
    margin, lower, upper = (float((gap - p).min()) if N.all() else None for p in (D / np.maximum(N, 1), high, low))
    equals = after[~arms.decides(gap)]
    if len(equals):
        says = _of_equal_cost(arms, arm, equals)
        return DominanceEvidence(name, is_fallback, margin, lower, upper, "unknown", says)
    if lower is None or upper is None:
        says = f"arm {name} was never observed beside {int((N == 0).sum()):,} of the {len(after):,} arms after it"
        return DominanceEvidence(name, is_fallback, None, None, None, "open", says)
    verdict = "supported" if lower > 0 else "refuted" if upper <= 0 else "open"
    return DominanceEvidence(name, is_fallback, margin, lower, upper, verdict, _in_words(name, verdict))


def _last(arms: Arms) -> str:
    """Name the last arm; with a trade-off per arm the last of a cascade need not be the dearest."""
    return "the last arm" if arms.structure == "cascade" else "the dearest arm"


def _of_equal_cost(arms: Arms, arm: int, equals: NDArray[np.intp]) -> str:
    named = ", ".join(arms.arms[other].id for other in equals[:_NAMED])
    more = f" and {len(equals) - _NAMED:,} more" if len(equals) > _NAMED else ""
    which = "that with the most tests" if arms.ties == "more_tests" else "that with the fewest tests"
    others = f"arm {named}" if len(equals) == 1 else f"arms {named}"
    return (
        f"Arm {arms.arms[arm].id} costs the same as {others}{more}. Which of them is right more often cannot be seen "
        f"without the truth, whatever the rounds say: {which} is played."
    )


def _in_words(name: str, verdict: str) -> str:
    tail = "Whether an earlier arm is better cannot be seen without the truth."
    if verdict == "supported":
        return f"No later arm can be better than arm {name}: all cost more than they could put right. {tail}"
    if verdict == "refuted":
        return (
            f"If arm {name} is the best, weak dominance fails: a later arm differs from it more often than it costs "
            "more, and the estimates cannot tell which of the two is right. Regret may then grow with every round."
        )
    return f"Whether a later arm could be better than arm {name} is not settled by the rounds so far. {tail}"


def strong_dominance_evidence(counts: Counts) -> StrongDominanceEvidence:
    """Evidence against strong dominance; the first reversal excludes a share of 0."""
    n, reversals = counts.chains, counts.reversals
    low, high = confidence_sequence(np.array(reversals), np.array(n), LEVEL)
    lower, upper = float(low), float(high)
    if not n:
        says = "No round has shown three nested arms: nothing speaks for or against strong dominance."
        return StrongDominanceEvidence(0, 0, None, 0.0, 1.0, says)
    if reversals:
        says = (
            f"Strong dominance fails: in {reversals:,} of {n:,} rounds the outputs change to and fro as tests are "
            "added, so that an arm was right and one with more tests wrong."
        )
    else:
        says = (
            f"None of {n:,} rounds refutes strong dominance. It is not proved by that: where later tests are always "
            "wrong no round would refute it either."
        )
    return StrongDominanceEvidence(n, reversals, reversals / n, lower, upper, says)


def problem_warnings(arms: Arms, counts: Counts, policy: Policy) -> tuple[str, ...]:
    """Say where the theory promises nothing for a problem.

    Parameters
    ----------
    arms : Arms
    counts : Counts
        All rounds opened so far and their feedback.
    policy : Policy

    Returns
    -------
    tuple of str
        Sentences; empty where nothing is known to be wrong.
    """
    warnings: list[str] = []
    if arms.structure == "subset" and len(arms) > 1:
        warnings.append(
            "with subsets weak dominance is rarely true unless the cheapest or the full set is the best: watch its "
            "estimate, and expect no convergence where it is refuted"
        )
        if (ties := len(arms) - len(np.unique(arms.C))) > 0:
            played = "most" if arms.ties == "more_tests" else "fewest"
            warnings.append(
                f"{ties:,} subsets cost the same as another: of such, the one with the {played} tests is played, and "
                "whether another would be right more often cannot be seen"
            )
    elif (np.diff(arms.C) < 0).any():
        warnings.append("scaled costs do not grow along the cascade: an earlier arm costs more than a later one")
    if isinstance(policy, UCB1) and np.ptp(arms.C) > 1:
        warnings.append(
            "scaled costs differ by more than 1, more than any error can: the index of ucb1, which is not cut at 1, "
            "plays dear arms that could be ruled out at once"
        )
    if not counts.feedback.any():
        return tuple(warnings)
    evidence = dominance_evidence(arms, counts)
    if evidence.is_fallback:
        warnings.append(
            f"no arm is in both selection sets by the estimates: {_last(arms)} is played, which may cost every round"
        )
    if evidence.verdict == "refuted":
        warnings.append(evidence.says)
    waiting = int(counts.plays.sum() - counts.feedback.sum())
    if waiting > counts.plays.sum() / 2:
        warnings.append(
            f"{waiting:,} of {counts.rounds:,} rounds are without feedback: estimates are biased if whether it comes "
            "depends on the outputs"
        )
    return tuple(warnings)
