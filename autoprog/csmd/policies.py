"""Policies of the selection, and weak dominance, the condition under which they find the best arm without the truth.

A policy says how sure one must be that two arms disagree, as the index of a pair.

    D, N      observed disagreements of a pair, and its observations                     (...)
    phat      D / N                                                                      (...)
    t         number of the round, from 1; D and N are those before it                   (...)
    gap       difference of the pair's scaled costs, in errors                           (...)
    a         weight of log log t, at least 0                                            scalar
    alpha     width of the UCB1 index, above 1/2                                         scalar

    ts        p ~ Beta(1 + D, 1 + N - D)
    kl_ucb    the largest q in [phat, 1] with N kl(phat, q) <= max(0, log t + a log log t); 1 where N = 0
    ucb1      phat + sqrt(alpha log t / N), which may exceed 1; infinite where N = 0

The selection only asks whether an index reaches the gap, so no index is computed: kl_ucb reaches it exactly when
gap <= phat, or gap <= 1 and N kl(phat, gap) is within the bound.

Weak dominance holds where xi > 0.

    C         scaled costs                                                                     (n,)
    gamma     P(Y^i != Y), error of every arm                                                  (n,)
    p         P(Y^i != Y^j), disagreement of every two arms                                    (n, n)
    i*        optimal arm: the largest index among the minimisers of C + gamma                 scalar
    xi        minimum over j after i* of C_j - C_{i*} - p_{i* j}; infinite if there is none    scalar

In a cascade the j after i* are those of larger index; among subsets, all others that cost at least as much, nested or
not. If two arms of equal cost ever disagree, disagreements cannot tell the better one, and xi is below 0. Without the
truth neither i* nor xi is known.

References
----------
Unsupervised Online Feature Selection for Cost-Sensitive Medical Diagnosis, eq. 7 and algorithm 1 (policies), sections
II to IV and Table I (weak dominance); Garivier & Cappé 2011, COLT (kl-UCB).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import rel_entr

from autoprog.csmd.arms import Arms
from autoprog.errors import Fault, InvalidInputError

PolicyName = Literal["ts", "kl_ucb", "ucb1"]

SETTINGS: Mapping[str, PolicyName] = {"a": "kl_ucb", "alpha": "ucb1"}
"""Settings and the policies they belong to."""

# Sums of a cost and an error that look equal may differ by rounding.
_TIE = 1e-12
# Cells of a table that are copied as floats at once.
_MAX_COPIED = 1 << 22

_Floats = NDArray[np.float64]
_Counts = NDArray[np.integer[Any]]
_Answers = NDArray[np.bool_]


class Policy(Protocol):
    """How the estimates of disagreement are used."""

    @property
    def name(self) -> PolicyName:
        """Key of the policy in `POLICIES`."""

    @property
    def settings(self) -> Mapping[str, float]:
        """Keyword arguments of `make_policy`."""

    @property
    def opens_with_last(self) -> bool:
        """Whether the last arm is played until there is feedback."""

    def reaches(self, gap: _Floats, D: _Counts, N: _Counts, t: ArrayLike, rng: np.random.Generator) -> _Answers:
        """Whether the index of each pair is at least its gap, shape of D; a random policy draws anew at every call."""


@dataclass(frozen=True, slots=True)
class ThompsonSampling:
    """Thompson sampling: draws every disagreement from its posterior under a uniform prior."""

    name: ClassVar[PolicyName] = "ts"
    opens_with_last = False

    @property
    def settings(self) -> Mapping[str, float]:
        """Empty: the prior is uniform."""
        return {}

    def reaches(self, gap: _Floats, D: _Counts, N: _Counts, t: ArrayLike, rng: np.random.Generator) -> _Answers:  # noqa: ARG002  a posterior needs no time
        """Whether an independent draw for each pair is at least its gap."""
        return rng.beta(1 + D, 1 + N - D) >= gap


@dataclass(frozen=True, slots=True)
class KLUCB:
    """Upper confidence bound by the Kullback-Leibler divergence of Bernoulli distributions."""

    a: float = 0.0  # weight of log log t, finite and at least 0
    name: ClassVar[PolicyName] = "kl_ucb"
    opens_with_last = True

    def __post_init__(self) -> None:
        if not (np.isfinite(self.a) and self.a >= 0):
            raise InvalidInputError([Fault("/a", f"must be finite and at least 0, not {self.a}")])

    @property
    def settings(self) -> Mapping[str, float]:
        """Weight of log log t."""
        return {"a": self.a}

    def bound(self, t: ArrayLike) -> _Floats:
        """max(0, log t + a log log t), for rounds t >= 1."""
        log_t = np.log(np.asarray(t, dtype=np.float64))
        if self.a == 0:
            return log_t
        with np.errstate(divide="ignore"):
            return np.maximum(0.0, log_t + self.a * np.log(log_t))

    def reaches(self, gap: _Floats, D: _Counts, N: _Counts, t: ArrayLike, rng: np.random.Generator) -> _Answers:  # noqa: ARG002  nothing is drawn
        """Whether the index of each pair is at least its gap; shapes broadcast."""
        phat = D / np.maximum(N, 1)
        q = np.clip(gap, 0.0, 1.0)
        divergence = rel_entr(phat, q) + rel_entr(1.0 - phat, 1.0 - q)
        # Without observations, 0 times an infinite divergence would be nan; the bound is never negative.
        within = np.where(N > 0, N, 1) * np.where(N > 0, divergence, 0.0) <= self.bound(t)
        reached: _Answers = (gap <= phat) | ((gap <= 1.0) & within)
        return reached

    def index(self, D: _Counts, N: _Counts, t: ArrayLike) -> _Floats:
        """The index itself, for reports: in [0, 1], to 1e-12, by bisection, or in closed form where phat is 0 or 1."""
        D, N, bound = np.broadcast_arrays(D, N, self.bound(t))
        phat = D / np.maximum(N, 1)
        level = bound / np.maximum(N, 1)
        low, high = phat.copy(), np.ones_like(phat)
        for _ in range(50):
            q = (low + high) / 2
            inside = rel_entr(phat, q) + rel_entr(1.0 - phat, 1.0 - q) <= level
            low, high = np.where(inside, q, low), np.where(inside, high, q)
        closed = np.where(D == 0, -np.expm1(-level), low)
        index: _Floats = np.where((N == 0) | (D == N), 1.0, closed)
        return index


@dataclass(frozen=True, slots=True)
class UCB1:
    """Upper confidence bound by Hoeffding's inequality."""

    alpha: float = 0.51  # width, finite and above 1/2
    name: ClassVar[PolicyName] = "ucb1"
    opens_with_last = True

    def __post_init__(self) -> None:
        if not (np.isfinite(self.alpha) and self.alpha > 0.5):
            raise InvalidInputError([Fault("/alpha", f"must be finite and above 1/2, not {self.alpha}")])

    @property
    def settings(self) -> Mapping[str, float]:
        """Width of the index."""
        return {"alpha": self.alpha}

    def reaches(self, gap: _Floats, D: _Counts, N: _Counts, t: ArrayLike, rng: np.random.Generator) -> _Answers:  # noqa: ARG002  nothing is drawn
        """Whether the index of each pair, not clipped at 1, is at least its gap; shapes broadcast."""
        return self.index(D, N, t) >= gap

    def index(self, D: _Counts, N: _Counts, t: ArrayLike) -> _Floats:
        """phat + sqrt(alpha log t / N); infinite where nothing was observed."""
        log_t = np.log(np.asarray(t, dtype=np.float64))
        seen = np.maximum(N, 1)
        index: _Floats = np.where(N > 0, D / seen + np.sqrt(self.alpha * log_t / seen), np.inf)
        return index


POLICIES: Mapping[PolicyName, type[ThompsonSampling | KLUCB | UCB1]] = {
    "ts": ThompsonSampling,
    "kl_ucb": KLUCB,
    "ucb1": UCB1,
}


def make_policy(name: PolicyName, **settings: float) -> Policy:
    """Make a policy by its name.

    Parameters
    ----------
    name : {"ts", "kl_ucb", "ucb1"}
        With subsets, ts is CSMD-CTS, the others CSMD-ESCB.
    **settings : float
        `a` of kl_ucb, at least 0, 0 by default; `alpha` of ucb1, above 1/2, 0.51 by default.

    Returns
    -------
    Policy
        An instance of its class in `POLICIES`.

    Raises
    ------
    InvalidInputError
        If the name is unknown, or a setting belongs to another policy or is out of range.
    """
    if name not in POLICIES:
        raise InvalidInputError([Fault("/algorithm", f"must be one of {', '.join(POLICIES)}, not {name!r}")])
    faults = [
        Fault(f"/{setting}", f"is a setting of {SETTINGS[setting]}, not of {name}")
        for setting in settings
        if SETTINGS[setting] != name
    ]
    if faults:
        raise InvalidInputError(faults)
    return POLICIES[name](**settings)


@dataclass(frozen=True, slots=True)
class WeakDominance:
    """Whether the best arm can be found from disagreements alone."""

    optimal: int  # i*, from 0
    xi: float  # may be infinite

    @property
    def holds(self) -> bool:
        """Whether xi is above 0 by more than rounding."""
        return self.xi > _TIE


def optimal_arm(C: _Floats, gamma: _Floats) -> int:
    """Find the optimal arm from the true errors.

    Parameters
    ----------
    C, gamma : ndarray, shape = (n,)
        Scaled costs, and errors in [0, 1].

    Returns
    -------
    int
        i*, from 0: the last minimiser of C + gamma.
    """
    totals = C + gamma
    return int(np.flatnonzero(totals <= totals.min() + _TIE)[-1])


def weak_dominance(arms: Arms, gamma: _Floats, p: _Floats) -> WeakDominance:
    """Check weak dominance against the truth.

    Parameters
    ----------
    arms : Arms
    gamma : ndarray, shape = (n,)
        True errors of the arms, in [0, 1].
    p : ndarray, shape = (n, n)
        True disagreements, in [0, 1].

    Returns
    -------
    WeakDominance
        i* and xi; xi is infinite if no arm is after i*.
    """
    best = optimal_arm(arms.C, gamma)
    margins = compute_margins(arms, best, p[best])
    return WeakDominance(best, float(margins.min(initial=np.inf)))


def compute_margins(arms: Arms, arm: int, p: _Floats) -> _Floats:
    """C_j - C_i - p_ij for each j in `arms_after(arms, i)`; `p` are the disagreements with i, shape = (n,)."""
    after = arms_after(arms, arm)
    margins: _Floats = arms.C[after] - arms.C[arm] - p[after]
    return margins


def arms_after(arms: Arms, arm: int) -> NDArray[np.intp]:
    """Arms that weak dominance compares an arm with: later ones of a cascade, other subsets that cost no less."""
    if arms.structure == "cascade":
        return np.arange(arm + 1, len(arms))
    return np.flatnonzero((arms.C[arm] <= arms.C) & (np.arange(len(arms)) != arm))


def disagreements(predictions: NDArray[np.integer]) -> _Floats:
    """Count how often every two arms differ.

    Parameters
    ----------
    predictions : ndarray of int, shape = (rows, n)
        0 or 1 for every patient and arm.

    Returns
    -------
    ndarray, shape = (n, n)
        Share of the rows, symmetric, in [0, 1].
    """
    n_rows, n = predictions.shape
    step = max(1, _MAX_COPIED // n)
    both = np.zeros((n, n))
    for start in range(0, n_rows, step):
        Y = predictions[start : start + step].astype(np.float64)
        both += Y.T @ Y
    ones = np.diag(both)
    p: _Floats = (ones[:, None] + ones[None, :] - 2 * both) / n_rows
    return p
