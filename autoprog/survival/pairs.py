"""Pairs of patients ordered by time: how many are also ordered by risk.

    key     place in time: i and j are a pair where key_i < key_j                       (n,)    int
    rank    place among the distinct risks                                              (n,)    int
    a, b    weights of a patient as the earlier and as the later one of a pair          (n,)    0 up

A pair weighs a_i b_j. It is concordant where rank_i > rank_j and tied where they are equal.

At the highest bit in which two keys differ the earlier one has 0 and the later one 1. So every pair is met once, bit by
bit, in groups whose higher bits agree. A stable partition by each bit keeps a group sorted by rank; the weight below or
above a patient is then a difference of cumulative sums. Time is O(n log n), memory O(n), without a loop over patients.
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
    """Weight of each patient's concordant, tied and all pairs, shape = (n,); every pair counts for both members."""

    concordant: _Floats
    tied: _Floats
    comparable: _Floats

    def __add__(self, other: PairSums) -> PairSums:
        """Add pairs of two kinds."""
        return PairSums(self.concordant + other.concordant, self.tied + other.tied, self.comparable + other.comparable)


def pair_sums(key: _Integers, rank: _Integers, a: _Floats, b: _Floats) -> PairSums:
    """Sum the weights of all pairs by patient; patients with the same key are no pair."""
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
    """Concordant weight of patients sorted by group, then rank, then key."""
    # An earlier patient is concordant with the later ones of lower rank, who stand before; a later one with the earlier
    # ones, who stand after. Within a rank the earlier ones stand first, so that tied pairs do not count.
    later = np.concatenate([[0.0], np.cumsum(np.where(is_later, b, 0.0))])
    earlier = np.concatenate([[0.0], np.cumsum(np.where(is_later, 0.0, a))])
    return np.asarray(np.where(is_later, b * (earlier[group.end] - earlier[1:]), a * (later[:-1] - later[group.start])))


def _partitioned(order: _Integers, is_later: NDArray[np.bool_], group: _Runs) -> _Integers:
    """Put the earlier ones of each group before the later ones, each part in its order."""
    earlier = np.concatenate([[0], np.cumsum(~is_later)])
    before = earlier[:-1]
    target = np.where(
        is_later, np.arange(len(order)) + earlier[group.end] - before, group.start + before - earlier[group.start]
    )
    partitioned = np.empty_like(order)
    partitioned[target] = order
    return partitioned


def _pairs_in_groups(group: _Integers, key: _Integers, a: _Floats, b: _Floats) -> _Floats:
    """Weight of all pairs within groups, of patients sorted by group, then key."""
    whole = _runs(_changes(group))
    same = _runs(_changes(group) | _changes(key))
    later = np.concatenate([[0.0], np.cumsum(b)])
    earlier = np.concatenate([[0.0], np.cumsum(a)])
    return np.asarray(a * (later[whole.end] - later[same.end]) + b * (earlier[same.start] - earlier[whole.start]))


class _Runs(NamedTuple):
    """First place, and place after the last, of the run that each place belongs to."""

    start: _Integers
    end: _Integers


def _runs(is_first: NDArray[np.bool_]) -> _Runs:
    starts = np.flatnonzero(is_first)
    run = np.cumsum(is_first) - 1
    return _Runs(starts[run], np.append(starts[1:], len(is_first))[run])


def _changes(values: _Integers) -> NDArray[np.bool_]:
    """Whether a value differs from the one before."""
    return np.concatenate([[True], values[1:] != values[:-1]])
