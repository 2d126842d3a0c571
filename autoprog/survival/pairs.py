"""Pairs of patients in the order of their times: how many are in the order of their risks too.

======  ==========================================================================  ======  =====
symbol  meaning                                                                     shape   range
======  ==========================================================================  ======  =====
key     place in time: i and j are a pair where key_i < key_j                       (n,)    int
rank    place among the distinct risks                                              (n,)    int
a, b    weights of a patient as the earlier and as the later one of a pair          (n,)    0 up
======  ==========================================================================  ======  =====

A pair weighs a_i b_j. It is concordant where rank_i > rank_j and tied where they are equal.

Two keys differ first at one of their bits, counted from the highest: there the earlier one has 0 and the later one 1.
So all pairs are met once, bit by bit, in groups whose higher bits agree. In each group the patients stand in the order
of their ranks, which a stable partition by the bit hands on to the next bit; what stands below or above a patient is
then a difference of cumulative sums. That is O(n log n) in time and O(n) in memory, without a loop over patients.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_Floats = NDArray[np.float64]
_Integers = NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class PairSums:
    """Weight of the pairs that each patient is a member of; every pair stands here twice.

    Attributes
    ----------
    concordant, tied, comparable : ndarray, shape = (n,)
        Weight of concordant, tied and all pairs.
    """

    concordant: _Floats
    tied: _Floats
    comparable: _Floats

    def __add__(self, other: PairSums) -> PairSums:
        """Pairs of both kinds."""
        return PairSums(self.concordant + other.concordant, self.tied + other.tied, self.comparable + other.comparable)


def pair_sums(key: _Integers, rank: _Integers, a: _Floats, b: _Floats) -> PairSums:
    """Weigh all pairs.

    Parameters
    ----------
    key : ndarray of int, shape = (n,)
        Place in time, 0 or more; patients with one key are no pair.
    rank : ndarray of int, shape = (n,)
        Place among the distinct risks, higher for a higher risk.
    a, b : ndarray, shape = (n,)
        Weights as the earlier and the later one.

    Returns
    -------
    PairSums
        In the order of the patients.
    """
    by_rank = np.lexsort((key, rank))
    concordant = np.zeros(len(key))
    order = by_rank
    for bit in range(int(key.max()).bit_length() - 1, -1, -1):
        place = key[order] >> bit
        is_later = place & 1 == 1
        group = _runs(_changes(place >> 1))
        concordant[order] += _concordant_at_a_bit(is_later, group, a[order], b[order])
        order = _partitioned(order, is_later, group)
    tied = np.empty(len(key))
    tied[by_rank] = _pairs_in_groups(rank[by_rank], key[by_rank], a[by_rank], b[by_rank])
    comparable = np.empty(len(key))
    comparable[order] = _pairs_in_groups(np.zeros_like(order), key[order], a[order], b[order])
    return PairSums(concordant, tied, comparable)


def _concordant_at_a_bit(is_later: NDArray[np.bool_], group: _Runs, a: _Floats, b: _Floats) -> _Floats:
    """Concordant weight of patients sorted by group, in it by rank, and of one rank by key.

    The earlier patient has the higher risk: the later ones before him count for him, the earlier ones after a later one
    for that one. Of one rank the earlier ones stand first, so that tied pairs do not count.
    """
    later = np.concatenate([[0.0], np.cumsum(np.where(is_later, b, 0.0))])
    earlier = np.concatenate([[0.0], np.cumsum(np.where(is_later, 0.0, a))])
    return np.asarray(np.where(is_later, b * (earlier[group.end] - earlier[1:]), a * (later[:-1] - later[group.start])))


def _partitioned(order: _Integers, is_later: NDArray[np.bool_], group: _Runs) -> _Integers:
    """The earlier ones of each group before the later ones, each part in its order."""
    earlier = np.concatenate([[0], np.cumsum(~is_later)])
    before = earlier[:-1]
    target = np.where(
        is_later, np.arange(len(order)) + earlier[group.end] - before, group.start + before - earlier[group.start]
    )
    partitioned = np.empty_like(order)
    partitioned[target] = order
    return partitioned


def _pairs_in_groups(group: _Integers, key: _Integers, a: _Floats, b: _Floats) -> _Floats:
    """Weight of all pairs within groups, of patients sorted by group and in it by key."""
    whole = _runs(_changes(group))
    same = _runs(_changes(group) | _changes(key))
    later = np.concatenate([[0.0], np.cumsum(b)])
    earlier = np.concatenate([[0.0], np.cumsum(a)])
    return np.asarray(a * (later[whole.end] - later[same.end]) + b * (earlier[same.start] - earlier[whole.start]))


class _Runs(NamedTuple):
    """The run that each place belongs to: its first place, and the place after its last."""

    start: _Integers
    end: _Integers


def _runs(is_first: NDArray[np.bool_]) -> _Runs:
    starts = np.flatnonzero(is_first)
    run = np.cumsum(is_first) - 1
    return _Runs(starts[run], np.append(starts[1:], len(is_first))[run])


def _changes(values: _Integers) -> NDArray[np.bool_]:
    """Where a value differs from the one before."""
    return np.concatenate([[True], values[1:] != values[:-1]])
