"""Selection of the arm to play, from what is known of every pair.

    i < j         two arms, in the order of the selection
    reaches       whether the estimate of P(Y^i != Y^j) is at least gap = C_j - C_i

    B^l   arms j that every arm i before them reaches:  C_j - C_i <= p_ij
    B^h   arms i that no arm j after them reaches:      C_j - C_i >  p_ij
    the first arm in both sets is played; the last arm (`Arms.last`) if there is none

A pair rules out exactly one of its arms, i if it reaches and j if not, so an arm is in both sets when no pair rules it
out. Two subsets of equal cost never rule each other out.

References
----------
Unsupervised Online Feature Selection for Cost-Sensitive Medical Diagnosis, eqs. 1, 4, 8 and 9.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autoprog.csmd.arms import Arms, total_cost

Reaches = Callable[[NDArray[np.intp], NDArray[np.float64]], NDArray[np.bool_]]


def select(arms: Arms, reaches: Reaches) -> int:
    """Choose an arm; `reaches` (pairs, gaps) is asked at most once for each pair, so it may draw when asked."""
    n = len(arms)
    numbers = np.arange(n)
    possible, open_ = np.ones(n, dtype=np.bool_), np.ones(n, dtype=np.bool_)
    for arm in range(n):
        if not possible[arm]:
            continue
        open_[arm] = False
        others = numbers[open_]
        first, second = np.minimum(others, arm), np.maximum(others, arm)
        pairs = second * (second - 1) // 2 + first
        gap = arms.C[second] - arms.C[first]
        deciding = arms.decides(gap)
        others = others[deciding]
        first_is_lost = reaches(pairs[deciding], gap[deciding])
        lost = first_is_lost == (others > arm)
        if not lost.any():
            return arm
        possible[arm] = False
        possible[others[~lost]] = False
    return arms.last


def incidence(arms: Arms) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Matrices `change` (P, n) and `base` (n,): an arm is ruled out by base + reaches @ change pairs."""
    i, j = arms.pairs
    weight = arms.decides(arms.gap).astype(np.float32)
    change = np.zeros((arms.n_pairs, len(arms)), dtype=np.float32)
    pairs = np.arange(arms.n_pairs)
    change[pairs, i] = weight
    change[pairs, j] = -weight
    base = np.zeros(len(arms), dtype=np.float32)
    np.add.at(base, j, weight)
    return change, base


def select_many(
    reaches: NDArray[np.bool_], change: NDArray[np.float32], base: NDArray[np.float32], last: int
) -> NDArray[np.intp]:
    """Choose an arm in R repetitions at once, from reaches (R, P) and the matrices of `incidence`."""
    free = reaches.astype(np.float32) @ change + base == 0
    chosen = free.argmax(axis=1)
    return np.where(free.any(axis=1), chosen, last)


@dataclass(frozen=True, slots=True)
class BedsideState:
    """State of a round."""

    done: tuple[str, ...]  # names of the arm's tests whose features have all arrived, in the order of ordering
    next_test: str | None  # None when the arm is complete
    cost: float  # total of the ordered tests: those of which any feature has arrived
    cost_to_come: float  # total of the arm's other tests

    @property
    def complete(self) -> bool:
        """Whether the arm can predict."""
        return self.next_test is None


def bedside_state(arms: Arms, arm: int, measured: Collection[str]) -> BedsideState:
    """State of a round.

    Parameters
    ----------
    arms : Arms, whose tests name their features
    arm : int, the arm that was chosen, from 0
    measured : collection of str
        Names of the features that have arrived or proved unobtainable; other tests' features are ignored.

    Returns
    -------
    BedsideState
        In a cascade tests are ordered as given, in a subset cheapest first.
    """
    order = list(arms.arms[arm].tests)
    # Cheapest first: the patient may be lost before the last test.
    if arms.structure == "subset":
        order.sort(key=lambda k: (arms.tests[k].cost, k))
    have = set(measured)
    begun = [k for k in order if have & set(arms.tests[k].features)]
    open_ = [k for k in order if set(arms.tests[k].features) - have]
    done = tuple(arms.tests[k].name for k in order if k not in open_)
    rest = [k for k in order if k not in begun]
    return BedsideState(
        done,
        arms.tests[open_[0]].name if open_ else None,
        total_cost(arms.tests, begun),
        total_cost(arms.tests, rest),
    )
