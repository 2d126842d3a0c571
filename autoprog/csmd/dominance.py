"""Weak dominance: when the selection can find the best arm without ever seeing the truth.

    C         scaled costs                                                                     (n,)
    gamma     P(Y^i != Y), error of every arm                                                  (n,)
    p         P(Y^i != Y^j), disagreement of every two arms                                    (n, n)
    i*        optimal arm: the largest index among the minimisers of C + gamma                 scalar
    xi        minimum over j after i* of C_j - C_{i*} - p_{i* j}; infinite if there is none    scalar

Weak dominance holds where xi > 0. In a cascade the j after i* are those of larger index; among subsets, all others that
cost at least as much, nested or not. If two arms of equal cost ever disagree, disagreements cannot tell the better one,
and xi is below 0. Without the truth neither i* nor xi is known.

References
----------
Unsupervised Online Feature Selection for Cost-Sensitive Medical Diagnosis, sections II to IV and Table I.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autoprog.csmd.arms import Arms

_Floats = NDArray[np.float64]

# Sums of a cost and an error that look equal may differ by rounding.
_TIE = 1e-12


@dataclass(frozen=True, slots=True)
class WeakDominance:
    """Whether the best arm can be found from disagreements alone."""

    optimal: int  # i*, from 0
    xi: float  # may be infinite

    @property
    def holds(self) -> bool:
        """Whether xi is above 0."""
        return self.xi > 0


def optimal_arm(C: _Floats, gamma: _Floats) -> int:
    """Index i* of the optimal arm: the last minimiser of C + gamma, scaled costs and errors of shape (n,)."""
    totals = C + gamma
    return int(np.flatnonzero(totals <= totals.min() + _TIE)[-1])


def weak_dominance(arms: Arms, gamma: _Floats, p: _Floats) -> WeakDominance:
    """Compute i* and xi from the true errors `gamma` (n,) and disagreements `p` (n, n), all in [0, 1]."""
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
    """Share of the rows in which two arms differ, symmetric (n, n), from predictions 0 or 1 of shape (rows, n)."""
    Y = predictions.astype(np.float64)
    both = Y.T @ Y
    ones = Y.sum(axis=0)
    p: _Floats = (ones[:, None] + ones[None, :] - 2 * both) / len(Y)
    return p
