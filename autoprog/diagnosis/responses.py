"""Which object shows which finding: a 0/1 matrix of which every cell takes one bit.

========  ======================================================================  =====================
symbol    meaning                                                                 shape
========  ======================================================================  =====================
M, N      objects, queries                                                        1
B         response of object i to query q, 0 or 1                                 (M, N)
rows      B packed along its rows, most significant bit first                     (M, ceil(N / 8))
known     cells that are not empty, packed alike; None where none is empty        (M, ceil(N / 8))
========  ======================================================================  =====================
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

# Cells that are unpacked at once: what stays in the cache of a core.
CHUNK_CELLS = 1 << 18
# Below this share of ones a sparse product is the quicker one.
_SPARSE = 0.04


@dataclass(frozen=True, eq=False)
class Responses:
    """A packed 0/1 matrix of objects by queries.

    Attributes
    ----------
    rows : ndarray of uint8, shape = (M, ceil(N / 8))
        Bits beyond N are 0; the bit of an empty cell is 0.
    n_queries : int
        N.
    known : ndarray of uint8, shape = (M, ceil(N / 8)), or None
        Bits of the cells that are not empty.
    """

    rows: NDArray[np.uint8]
    n_queries: int
    known: NDArray[np.uint8] | None = None

    @classmethod
    def pack(cls, matrix: NDArray[np.bool_] | NDArray[np.integer], known: NDArray[np.bool_] | None = None) -> Responses:
        """Pack a matrix of zeros and ones.

        Parameters
        ----------
        matrix : ndarray, shape = (M, N)
            Anything but 0 counts as 1; check before.
        known : ndarray of bool, shape = (M, N), optional
            Which cells are not empty; all where left out.

        Returns
        -------
        Responses
            The packed matrix.
        """
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
        """B as compressed rows of float64 ones; None where so many are 1 that this would not pay."""
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
        """How many rows to unpack at once, at least 1."""
        return max(8, CHUNK_CELLS // max(self.n_queries, 1) // 8 * 8)

    def matrix(self, objects: slice | NDArray[np.int64] | None = None) -> NDArray[np.uint8]:
        """Rows of B, unpacked.

        Parameters
        ----------
        objects : slice or ndarray of int, shape = (m,), optional
            Which; all where left out.

        Returns
        -------
        ndarray of uint8, shape = (m, N)
            Zeros and ones.
        """
        rows = self.rows if objects is None else self.rows[objects]
        return np.unpackbits(rows, axis=1, count=self.n_queries)

    def known_matrix(self, objects: slice | NDArray[np.int64] | None = None) -> NDArray[np.uint8]:
        """Which cells of these rows are not empty, as `matrix` gives the rows."""
        if self.known is None:
            return np.ones_like(self.matrix(objects))
        rows = self.known if objects is None else self.known[objects]
        return np.unpackbits(rows, axis=1, count=self.n_queries)

    def at(self, objects: NDArray[np.int64], queries: NDArray[np.int64] | int) -> NDArray[np.bool_]:
        """Single cells of B.

        Parameters
        ----------
        objects : ndarray of int, shape = (m,)
            Rows.
        queries : ndarray of int, shape = (m,), or int
            A column for each, or one for all.

        Returns
        -------
        ndarray of bool, shape = (m,)
            True for 1.
        """
        return bits_at(self.rows, objects, queries)

    def known_at(self, objects: NDArray[np.int64], queries: NDArray[np.int64] | int) -> NDArray[np.bool_]:
        """Which single cells are not empty, as `at` gives the cells."""
        if self.known is None:
            return np.ones(len(objects), dtype=bool)
        return bits_at(self.known, objects, queries)

    def row_classes(self) -> NDArray[np.int64]:
        """Code of each object's row; equal rows, and only they, share one.

        Returns
        -------
        ndarray of int, shape = (M,)
            From 0.
        """
        both = self.rows if self.known is None else np.hstack([self.rows, self.known])
        keys = np.ascontiguousarray(both).view(np.dtype((np.void, both.shape[1]))).ravel()
        return np.unique(keys, return_inverse=True)[1].astype(np.int64).ravel()

    def _starts(self, step: int) -> range:
        return range(0, self.n_objects, step)


def bits_at(
    rows: NDArray[np.uint8], objects: NDArray[np.integer], queries: NDArray[np.integer] | int
) -> NDArray[np.bool_]:
    """Single cells of a matrix that is packed along its rows, as `Responses.at` gives them."""
    queries = np.asarray(queries)
    byte = rows[:, queries >> 3][objects] if queries.ndim == 0 else rows[objects, queries >> 3]
    return np.asarray(byte >> (7 - (queries & 7)).astype(np.uint8) & 1, dtype=bool)
