"""When the selection can find the best arm without ever seeing the truth.

========  =======================================================================  =======  =====
symbol    meaning                                                                  shape    unit
========  =======================================================================  =======  =====
C         scaled costs                                                             (n,)     error
gamma     P(Y^i != Y), error of every arm                                          (n,)     1
p         P(Y^i != Y^j), disagreement of every two arms                            (n, n)   1
i*        optimal arm: the largest index among the minimisers of C + gamma
xi        min over j after i* of C_j - C_{i*} - p_{i* j}; infinite where none is   scalar   error
========  =======================================================================  =======  =====

Weak dominance holds where xi > 0. In a cascade the j after i* are those of a larger index; of subsets, those that cost
as much or more, nested or not. Of two arms of equal cost that ever disagree, disagreements cannot tell the better: xi
is below 0. Without the truth i* is not known, and neither is xi.

References
----------
Unsupervised Online Feature Selection for Cost-Sensitive Medical Diagnosis, sections II to IV and Table I.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autoprog.test_selection.arms import Arms

_Floats = NDArray[np.float64]

# Sums of a cost and an error that a reader sees to be equal may differ by rounding.
_TIE = 1e-12


@dataclass(frozen=True, slots=True)
class WeakDominance:
    """Whether the best arm can be told from disagreements alone.

    Attributes
    ----------
    optimal : int
        i*, from 0.
    xi : float
        May be infinite.
    """

    optimal: int
    xi: float

    @property
    def holds(self) -> bool:
        """Whether xi is above 0."""
        return self.xi > 0


def optimal_arm(C: _Floats, gamma: _Floats) -> int:
    """The optimal arm.

    Parameters
    ----------
    C, gamma : ndarray, shape = (n,)
        Scaled costs and errors.

    Returns
    -------
    int
        i*, from 0.
    """
    totals = C + gamma
    return int(np.flatnonzero(totals <= totals.min() + _TIE)[-1])


def weak_dominance(arms: Arms, gamma: _Floats, p: _Floats) -> WeakDominance:
    """xi of an instance.

    Parameters
    ----------
    arms : Arms
        Of the problem; their costs count.
    gamma : ndarray, shape = (n,)
        Errors, in [0, 1].
    p : ndarray, shape = (n, n)
        Disagreements, in [0, 1].

    Returns
    -------
    WeakDominance
        Of these errors and disagreements, which are taken as true.
    """
    best = optimal_arm(arms.C, gamma)
    margins = compute_margins(arms, best, p[best])
    return WeakDominance(best, float(margins.min(initial=np.inf)))


def compute_margins(arms: Arms, arm: int, p: _Floats) -> _Floats:
    """C_j - C_i - p_ij of the arms j after an arm i.

    Parameters
    ----------
    arms : Arms
        Of the problem.
    arm : int
        i, from 0.
    p : ndarray, shape = (n,)
        Disagreements with i.

    Returns
    -------
    ndarray
        One for each j of `arms_after`.
    """
    after = arms_after(arms, arm)
    margins: _Floats = arms.C[after] - arms.C[arm] - p[after]
    return margins


def arms_after(arms: Arms, arm: int) -> NDArray[np.intp]:
    """The arms that weak dominance compares an arm with: later ones of a cascade, other subsets that cost no less."""
    if arms.structure == "cascade":
        return np.arange(arm + 1, len(arms))
    return np.flatnonzero((arms.C[arm] <= arms.C) & (np.arange(len(arms)) != arm))


def disagreements(predictions: NDArray[np.integer]) -> _Floats:
    """Disagreement of every two arms over a table.

    Parameters
    ----------
    predictions : ndarray, shape = (rows, n)
        0 or 1.

    Returns
    -------
    ndarray, shape = (n, n)
        Shares of the rows; symmetric.
    """
    Y = predictions.astype(np.float64)
    both = Y.T @ Y
    ones = Y.sum(axis=0)
    p: _Floats = (ones[:, None] + ones[None, :] - 2 * both) / len(Y)
    return p
