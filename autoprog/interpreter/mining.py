"""Frequent conjunctions of conditions, counted by stratum.

Levelwise search over free conjunctions, with counts by matrix products. A conjunction that matches as many patients as
one of its parts says nothing more than that part. So low support and lack of freeness prune all longer conjunctions.

    B_il    1 when patient i satisfies condition l          (n_patients, n_conditions)
    N_rlm   patients of stratum r who satisfy l and m       (n_strata, n_conditions, n_conditions)

References
----------
Agrawal, Imielinski & Swami 1993, SIGMOD, 207; Boulicaut, Bykowski & Rigotti 2003, Data Mining and Knowledge Discovery
7:5.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MINED_LENGTH = 3

_CHUNK = 16_384  # rows converted to float32 at once; counts up to 2^24 are exact in float32


@dataclass(frozen=True, eq=False)
class Conjunctions:
    """Conjunctions and the number of patients that they match."""

    members: NDArray[np.int16]  # ascending condition indices, padded with -1, shape = (n_conjunctions, MINED_LENGTH)
    counts: NDArray[np.int32]  # matching patients, shape = (n_conjunctions, n_strata)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Number of conditions of each conjunction."""
        lengths: NDArray[np.int64] = np.count_nonzero(self.members >= 0, axis=1)
        return lengths


def frequent_conjunctions(
    B: NDArray[np.bool_], strata: NDArray[np.integer], n_strata: int, min_count: int
) -> Conjunctions:
    """Find all free conjunctions of up to three conditions that match enough patients, shorter ones first."""
    order = np.argsort(strata, kind="stable")
    B, strata = B[order], strata[order]
    N = _co_occurrences(B, strata, n_strata)
    totals = N.sum(axis=0)
    singles = totals.diagonal()
    usable = (singles >= min_count) & (singles < len(B))
    free = (totals < np.minimum(singles[:, None], singles)) & usable[:, None] & usable
    pairs = _Pairs(totals, free & (totals >= min_count))
    first = np.flatnonzero(usable)
    i, j = np.nonzero(np.triu(pairs.frequent, k=1))
    members = [_padded(first), _padded(i, j)]
    counts = [N[:, first, first].T, N[:, i, j].T]
    for lowest in first:
        triples, triple_counts = _triples(int(lowest), B, strata, pairs, n_strata, min_count)
        members.append(triples)
        counts.append(triple_counts)
    return Conjunctions(np.concatenate(members), np.concatenate(counts))


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Patients whom each pair matches, and which pairs are free and frequent; both (n_conditions, n_conditions)."""

    totals: NDArray[np.int32]
    frequent: NDArray[np.bool_]


def _triples(
    i: int, B: NDArray[np.bool_], strata: NDArray[np.integer], pairs: _Pairs, n_strata: int, min_count: int
) -> tuple[NDArray[np.int16], NDArray[np.int32]]:
    """Find the free frequent conjunctions (i, j, k) with i < j < k, and their counts by stratum."""
    rest = slice(i + 1, None)
    rows = np.flatnonzero(B[:, i])
    N = _co_occurrences(B[rows, rest], strata[rows], n_strata)
    totals = N.sum(axis=0)
    with_i = pairs.totals[i, rest]
    parts = np.minimum(np.minimum(with_i[:, None], with_i), pairs.totals[rest, rest])
    candidates = pairs.frequent[rest, rest] & pairs.frequent[i, rest, None] & pairs.frequent[i, rest]
    j, k = np.nonzero(np.triu(candidates & (totals >= min_count) & (totals < parts), k=1))
    return _padded(np.full(len(j), i), i + 1 + j, i + 1 + k), N[:, j, k].T


def _co_occurrences(B: NDArray[np.bool_], strata: NDArray[np.integer], n_strata: int) -> NDArray[np.int32]:
    """Count N for rows that are sorted by stratum."""
    N = np.zeros((n_strata, B.shape[1], B.shape[1]), dtype=np.int32)
    bounds = np.searchsorted(strata, np.arange(n_strata + 1))
    for r in range(n_strata):
        for start in range(bounds[r], bounds[r + 1], _CHUNK):
            block = B[start : min(start + _CHUNK, bounds[r + 1])].astype(np.float32)
            N[r] += (block.T @ block).astype(np.int32)
    return N


def _padded(*columns: NDArray[np.integer]) -> NDArray[np.int16]:
    members = np.full((len(columns[0]), MINED_LENGTH), -1, dtype=np.int16)
    for position, column in enumerate(columns):
        members[:, position] = column
    return members
