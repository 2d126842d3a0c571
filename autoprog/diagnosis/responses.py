"""The responses of objects to queries: a 0/1 matrix with one bit per cell.

========  ======================================================================  =====================
symbol    meaning                                                                 shape
========  ======================================================================  =====================
M, N      objects, queries                                                        1
B         response of object i to query q, 0 or 1                                 (M, N)
rows      B packed along its rows, most significant bit first                     (M, ceil(N / 8))
known     mask of the known cells, packed alike; None where all are known         (M, ceil(N / 8))
========  ======================================================================  =====================
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

# Cells that are unpacked at once; they fit into the cache of a core.
CHUNK_CELLS = 1 << 18
# Below this share of ones a sparse product is faster.
_SPARSE = 0.04


@dataclass(frozen=True, eq=False)
class Responses:
    """A packed 0/1 matrix of objects by queries."""

    rows: NDArray[np.uint8]  # shape (M, ceil(N / 8)); bits beyond N and bits of unknown cells are 0
    n_queries: int
    known: NDArray[np.uint8] | None = None  # shape (M, ceil(N / 8))

    @classmethod
    def pack(cls, matrix: NDArray[np.bool_] | NDArray[np.integer], known: NDArray[np.bool_] | None = None) -> Responses:
        """Pack a matrix, shape (M, N), in which anything but 0 counts as 1; `known` marks known cells (default all)."""
        if known is None or known.all():
            return cls(np.packbits(matrix, axis=1), int(matrix.shape[1]))
        filled = np.where(known, matrix, 0)
        return cls(np.packbits(filled, axis=1), int(matrix.shape[1]), np.packbits(known, axis=1))

    @property
    def n_objects(self) -> int:
        """M."""
        return int(self.rows.shape[0])

    @property
    def n_cells(self) -> int:
        """M x N."""
        return self.n_objects * self.n_queries

    @cached_property
    def density(self) -> float:
        """Share of ones, in [0, 1]."""
        return float(np.bitwise_count(self.rows).sum(dtype=np.int64)) / max(self.n_cells, 1)

    @cached_property
    def sparse(self) -> csr_array | None:
        """B as compressed rows of float64 ones; None where the density is too high."""
        if self.density > _SPARSE:
            return None
        step = self.chunk_rows
        parts = [np.flatnonzero(self.matrix(slice(i, i + step))) + i * self.n_queries for i in self._starts(step)]
        objects, queries = np.divmod(np.concatenate(parts), self.n_queries)
        ends = np.searchsorted(objects, np.arange(self.n_objects + 1))
        shape = (self.n_objects, self.n_queries)
        return csr_array((np.ones(len(queries)), queries.astype(np.int32), ends.astype(np.int32)), shape=shape)

    @property
    def chunk_rows(self) -> int:
        """Number of rows to unpack at once, at least 1."""
        return max(8, CHUNK_CELLS // max(self.n_queries, 1) // 8 * 8)

    def matrix(self, objects: slice | NDArray[np.int64] | None = None) -> NDArray[np.uint8]:
        """Unpacked rows of B, shape (m, N); all by default."""
        rows = self.rows if objects is None else self.rows[objects]
        return np.unpackbits(rows, axis=1, count=self.n_queries)

    def known_matrix(self, objects: slice | NDArray[np.int64] | None = None) -> NDArray[np.uint8]:
        """Which cells of these rows are known, as 0/1, shape (m, N)."""
        if self.known is None:
            return np.ones_like(self.matrix(objects))
        rows = self.known if objects is None else self.known[objects]
        return np.unpackbits(rows, axis=1, count=self.n_queries)

    def at(self, objects: NDArray[np.int64] | slice, queries: NDArray[np.int64] | int) -> NDArray[np.bool_]:
        """Single cells of B, shape (m,): for each object, its own query or one for all; of a slice of objects, one."""
        return bits_at(self.rows, objects, queries)

    def known_at(self, objects: NDArray[np.int64], queries: NDArray[np.int64] | int) -> NDArray[np.bool_]:
        """Which single cells are known, shape (m,), indexed as in `at`."""
        if self.known is None:
            return np.ones(len(objects), dtype=bool)
        return bits_at(self.known, objects, queries)

    def row_classes(self) -> NDArray[np.int64]:
        """Code of each object's row, from 0, shape (M,); equal rows, and only they, share one."""
        both = self.rows if self.known is None else np.hstack([self.rows, self.known])
        keys = np.ascontiguousarray(both).view(np.dtype((np.void, both.shape[1]))).ravel()
        return np.unique(keys, return_inverse=True)[1].astype(np.int64).ravel()

    def _starts(self, step: int) -> range:
        return range(0, self.n_objects, step)


def bits_at(
    rows: NDArray[np.uint8], objects: NDArray[np.integer] | slice, queries: NDArray[np.integer] | int
) -> NDArray[np.bool_]:
    """Single cells of a matrix packed along its rows, indexed as in `Responses.at`."""
    queries = np.asarray(queries)
    byte = rows[:, queries >> 3][objects] if queries.ndim == 0 else rows[objects, queries >> 3]
    return np.asarray(byte >> (7 - (queries & 7)).astype(np.uint8) & 1, dtype=bool)


def sums_by_code(codes: NDArray[np.int64], weights: NDArray[np.float64], size: int = 0) -> NDArray[np.float64]:
    """Sum the weights of each code (from 0); the result has length max(size, 1 + largest code)."""
    return np.asarray(np.bincount(codes, weights, minlength=size), dtype=np.float64)
