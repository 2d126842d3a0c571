"""Input of the scores: how each query divides the mass of each node of a batch.

=========  =====================================================================================  =========
symbol     meaning                                                                                shape
=========  =====================================================================================  =========
n, N       nodes of the batch, queries                                                            1
T_a        objects of node a; those of all nodes are one array, sorted by node and then target    (m,)
segment    a run of objects of the same node and the same target                                  (s,)
pi_i       weight of object i                                                                     (m,)
pi_a       weight of node a                                                                       (n,)
pi_r       weight of the objects of a that answer 1 to a query                                    (n, N)
pi_l       weight of those that answer 0                                                          (n, N)
pi_r^k     pi_r of one segment                                                                    (s, N)
=========  =====================================================================================  =========

Sums of whole weights are exact. Otherwise pi_a - pi_r of an empty child may be 1e-17 instead of 0, so the bits decide
which children are empty, and the weight of these is set to 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from autoprog.diagnosis.responses import Responses, bits_at, sums_by_code

_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]

# (pi_r^k, pi_l^k, pi_a^k) -> a number for each, 0 where pi_r^k is 0.
Term = Callable[[_Floats, _Floats, _Floats], _Floats]
# Sums over segments that are held in memory at once.
_SEGMENT_CELLS = 1 << 18


class Nodes(Protocol):
    """How every query divides every node of a batch."""

    @property
    def mass(self) -> _Floats:
        """pi_a, shape (n,)."""

    @property
    def right(self) -> _Floats:
        """pi_r, shape (n, N)."""

    @property
    def left(self) -> _Floats:
        """pi_l, shape (n, N)."""

    def over_targets(self, f: Callable[[_Floats], _Floats]) -> _Floats:
        """sum_k f(pi_a^k), shape (n,)."""

    def divided(self, *terms: Term) -> tuple[_Floats, ...]:
        """sum_k g(pi_r^k, pi_l^k, pi_a^k) for each g, shape (n, N) each; g must be 0 where pi_r^k is 0."""


@dataclass(frozen=True, eq=False)
class RowNodes:
    """A batch of nodes, divided by summing its rows."""

    responses: Responses
    objects: _Ints  # T_a of all nodes, sorted by node and then target, shape (m,)
    starts: _Ints  # start of each node in `objects`, shape (n,); no node is empty
    target_of: _Ints  # of every object of the model, shape (M,)
    weights: _Floats  # of every object of the model, shape (M,)
    exact: bool  # whether all weights are whole numbers

    @cached_property
    def mass(self) -> _Floats:
        """pi_a, shape (n,)."""
        return np.add.reduceat(self.weights[self.objects], self.starts)

    @property
    def right(self) -> _Floats:
        """pi_r, shape (n, N)."""
        return self._both[0]

    @property
    def left(self) -> _Floats:
        """pi_l, shape (n, N)."""
        return self._both[1]

    @cached_property
    def _both(self) -> tuple[_Floats, _Floats]:
        if not self._is_few:
            return self._halves(self.objects, self.starts, self.mass)
        first = np.flatnonzero(np.diff(self._segments[2], prepend=-1))
        right, left = (np.add.reduceat(half, first, axis=0) for half in self._few)
        return right, left

    @cached_property
    def _segments(self) -> tuple[_Ints, _Ints, _Ints]:
        """Start, end and node of each segment."""
        target = self.target_of[self.objects]
        new = np.empty(len(target), dtype=bool)
        np.not_equal(target[1:], target[:-1], out=new[1:])
        new[self.starts] = True
        starts = np.flatnonzero(new)
        node = np.searchsorted(self.starts, starts, side="right") - 1
        return starts, np.append(starts[1:], len(target)), node

    @cached_property
    def _segment_mass(self) -> _Floats:
        return np.add.reduceat(self.weights[self.objects], self._segments[0])

    @cached_property
    def _is_few(self) -> bool:
        """Whether the segments are few enough that computing the sums of all at once fits in memory and saves time."""
        n = len(self._segments[0])
        return (
            self.responses.sparse is None
            and n * self.responses.n_queries <= _SEGMENT_CELLS
            and n < len(self.objects) // 2
        )

    @cached_property
    def _few(self) -> tuple[_Floats, _Floats]:
        """pi_r^k and pi_l^k of all segments, where `_is_few`."""
        return self._halves(self.objects, self._segments[0], self._segment_mass)

    def over_targets(self, f: Callable[[_Floats], _Floats]) -> _Floats:
        """sum_k f(pi_a^k), shape (n,)."""
        return sums_by_code(self._segments[2], f(self._segment_mass), len(self.starts))

    def divided(self, *terms: Term) -> tuple[_Floats, ...]:
        """sum_k g(pi_r^k, pi_l^k, pi_a^k) for each g, shape (n, N) each; g must be 0 where pi_r^k is 0."""
        starts, ends, node = self._segments
        mass = self._segment_mass[:, None]
        N = self.responses.n_queries
        if self._is_few:
            first = np.flatnonzero(np.diff(node, prepend=-1))
            whole = np.broadcast_to(mass, self._few[0].shape)
            return tuple(np.add.reduceat(g(*self._few, whole), first, axis=0) for g in terms)
        totals = tuple(np.zeros((len(self.starts), N)) for _ in terms)
        single = ends - starts == 1
        self._add_singles(np.flatnonzero(single), terms, totals)
        many = np.flatnonzero(~single)
        step = max(1, _SEGMENT_CELLS // N)
        for i in range(0, len(many), step):
            self._add_segments(many[i : i + step], terms, totals)
        return totals

    def _add_singles(self, some: _Ints, terms: tuple[Term, ...], totals: tuple[_Floats, ...]) -> None:
        """Add the targets with a single object in their node, which goes wholly to one side."""
        starts, _, node = self._segments
        alone = self._segment_mass[some]
        done: list[tuple[_Floats, _Floats]] = []
        first = np.flatnonzero(np.diff(node[some], prepend=-1))
        for g, total in zip(terms, totals, strict=True):
            values = g(alone, np.zeros_like(alone), alone)
            if not values.any():
                continue
            known = next((sums for former, sums in done if np.array_equal(former, values)), None)
            if known is None:
                known = run_sums(self.responses, self.objects[starts[some]], values, first)
                done.append((values, known))
            total[node[some][first]] += known

    def _add_segments(self, some: _Ints, terms: tuple[Term, ...], totals: tuple[_Floats, ...]) -> None:
        starts, ends, node = self._segments
        lengths = ends[some] - starts[some]
        at = np.cumsum(lengths) - lengths
        objects = self.objects[np.arange(lengths.sum()) + np.repeat(starts[some] - at, lengths)]
        mass = self._segment_mass[some]
        if self.responses.sparse is not None:
            self._add_ones(objects, at, node[some], terms, totals)
            return
        right, left = self._halves(objects, at, mass)
        first = np.flatnonzero(np.diff(node[some], prepend=-1))
        whole = np.broadcast_to(mass[:, None], right.shape)
        for g, total in zip(terms, totals, strict=True):
            # a node may continue in the next chunk of segments, so its sum accumulates
            total[node[some][first]] += np.add.reduceat(g(right, left, whole), first, axis=0)

    def _add_ones(
        self, objects: _Ints, starts: _Ints, node: _Ints, terms: tuple[Term, ...], totals: tuple[_Floats, ...]
    ) -> None:
        """As `_add_segments`, but only over queries that some object of a segment answers 1; the others add 0."""
        product = _sparse_sums(self.responses, objects, self.weights[objects], starts)
        segment = np.repeat(np.arange(len(starts)), np.diff(product.indptr))
        mass = np.add.reduceat(self.weights[objects], starts)[segment]
        right: _Floats = product.data
        left = mass - right
        if not self.exact:
            all_ones = np.bitwise_and.reduceat(self.responses.rows[objects], starts, axis=0)
            np.maximum(left, np.finfo(np.float64).tiny, out=left)
            left[bits_at(all_ones, segment, product.indices)] = 0.0
        N = self.responses.n_queries
        first, last = int(node[0]), int(node[-1]) + 1
        cell = (node[segment] - first) * N + product.indices
        for g, total in zip(terms, totals, strict=True):
            added = sums_by_code(cell, g(right, left, mass), (last - first) * N)
            total[first:last] += added.reshape(-1, N)

    def _halves(self, objects: _Ints, starts: _Ints, mass: _Floats) -> tuple[_Floats, _Floats]:
        right = run_sums(self.responses, objects, self.weights[objects], starts)
        left = mass[:, None] - right
        if not self.exact:
            all_ones = np.bitwise_and.reduceat(self.responses.rows[objects], starts, axis=0)
            empty = np.unpackbits(all_ones, axis=1, count=self.responses.n_queries).astype(bool)
            np.maximum(left, np.finfo(np.float64).tiny, out=left)
            left[empty] = 0.0
        return right, left


def run_sums(responses: Responses, objects: _Ints, weights: _Floats, starts: _Ints) -> _Floats:
    """Sum the weights of the objects that answer 1, per run (none empty) and query, shape (runs, N)."""
    if responses.sparse is not None:
        return np.asarray(_sparse_sums(responses, objects, weights, starts).toarray())
    indptr = np.append(starts, len(objects))
    total = np.zeros((len(starts), responses.n_queries))
    step = responses.chunk_rows
    for begin in range(0, len(objects), step):
        end = min(begin + step, len(objects))
        matrix = responses.matrix(objects[begin:end]).astype(np.float64)
        first = int(np.searchsorted(indptr, begin, side="right")) - 1
        last = int(np.searchsorted(indptr, end, side="left"))
        pointers = np.clip(indptr[first : last + 1], begin, end) - begin
        runs = csr_array((weights[begin:end], np.arange(end - begin), pointers), shape=(last - first, end - begin))
        total[first:last] += runs @ matrix
    return total


def _sparse_sums(responses: Responses, objects: _Ints, weights: _Floats, starts: _Ints) -> csr_array:
    """As `run_sums` where ones are rare; zero cells are left out."""
    indptr = np.append(starts, len(objects)).astype(np.int32)
    shape = (len(starts), responses.n_objects)
    return csr_array((weights, objects.astype(np.int32), indptr), shape=shape) @ responses.sparse
