"""Counting answers by bits: one node of many objects that are all equally likely.

=========  ===================================================================================  ===================
symbol     meaning                                                                              shape
=========  ===================================================================================  ===================
columns    B packed along its columns; objects stand by target, each target in whole bytes      (N, W) words
position   bit of each object in a column                                                       (M,)
mask       objects that are left, packed alike                                                  (W,) words
=========  ===================================================================================  ===================

How many objects that are left answer 1 is the number of bits in `column & mask`: 64 objects a word.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from autoprog.diagnosis.model import DiagnosisModel
from autoprog.diagnosis.nodes import Term

_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]

# Columns that are counted together: what stays in the cache of a core.
_WORDS = 1 << 15
# Targets of fewer objects than this on average would waste more bits than they hold.
_LEAST_OBJECTS = 16
_WORD = 64


@dataclass(frozen=True, eq=False)
class BitColumns:
    """The responses of a model, column by column.

    Attributes
    ----------
    columns : ndarray of uint64, shape = (N, W)
        Bits of the objects.
    position : ndarray of int, shape = (M,)
        Where the bit of each object stands, most significant bit of a byte first.
    target_bytes : ndarray of int, shape = (number of targets + 1,), or None
        Where the bytes of each target begin, and where the last ends; None where each object is a target.
    weight : float
        Of every object.
    """

    columns: NDArray[np.uint64]
    position: _Ints
    target_bytes: _Ints | None
    weight: float

    @classmethod
    def of(cls, model: DiagnosisModel) -> BitColumns | None:
        """Lay out the responses of a model.

        Parameters
        ----------
        model : DiagnosisModel
            Any.

        Returns
        -------
        BitColumns or None
            None where the objects are not equally likely, or their groups are too small.
        """
        M = model.n_objects
        if not model.has_uniform_prior:
            return None
        if model.stop == "object":
            position, target_bytes, n_bits = np.arange(M), None, M
        else:
            sizes = np.bincount(model.target_of, minlength=len(model.targets))
            if _LEAST_OBJECTS * len(sizes) > M:
                return None
            target_bytes = np.concatenate([[0], np.cumsum(-(-sizes // 8))])
            order = np.argsort(model.target_of, kind="stable")
            within = np.arange(M) - np.repeat(np.cumsum(sizes) - sizes, sizes)
            position = np.empty(M, dtype=np.int64)
            position[order] = np.repeat(8 * target_bytes[:-1], sizes) + within
            n_bits = 8 * int(target_bytes[-1])
        columns = _transposed(model, position, -(-n_bits // _WORD) * _WORD)
        return cls(columns, position, target_bytes, float(model.weights[0]))

    def mask(self, objects: _Ints) -> NDArray[np.uint64]:
        """The packed set of these objects, shape (W,)."""
        bits = np.zeros(self.columns.shape[1] * _WORD, dtype=np.uint8)
        bits[self.position[objects]] = 1
        return np.packbits(bits).view(np.uint64)


def _transposed(model: DiagnosisModel, position: _Ints, n_bits: int) -> NDArray[np.uint64]:
    """Pack the columns, some objects at a time."""
    columns = np.zeros((model.n_queries, n_bits // 8), dtype=np.uint8)
    holder = np.full(n_bits, -1)
    holder[position] = np.arange(model.n_objects)
    step = model.responses.chunk_rows
    for begin in range(0, n_bits, step):
        some = holder[begin : begin + step]
        matrix = model.responses.matrix(np.maximum(some, 0))
        matrix[some < 0] = 0
        packed = np.packbits(np.ascontiguousarray(matrix.T), axis=1)
        columns[:, begin // 8 : begin // 8 + packed.shape[1]] = packed
    return columns.view(np.uint64)


@dataclass(frozen=True, eq=False)
class BitNode:
    """A batch of one node; as `autoprog.diagnosis.nodes.Nodes`.

    Attributes
    ----------
    bits : BitColumns
        The model's.
    objects : ndarray of int, shape = (m,)
        Those that are left, at least one.
    """

    bits: BitColumns
    objects: _Ints

    @cached_property
    def _mask(self) -> NDArray[np.uint64]:
        return self.bits.mask(self.objects)

    @property
    def mass(self) -> _Floats:
        """pi_a, shape (1,)."""
        return np.array([self.bits.weight * len(self.objects)])

    @cached_property
    def right(self) -> _Floats:
        """pi_r, shape (1, N)."""
        columns = self.bits.columns
        counts = np.empty(len(columns))
        step = max(1, _WORDS // columns.shape[1])
        for i in range(0, len(columns), step):
            counts[i : i + step] = np.bitwise_count(columns[i : i + step] & self._mask).sum(axis=1, dtype=np.int64)
        return self.bits.weight * counts[None, :]

    @property
    def left(self) -> _Floats:
        """pi_l, shape (1, N)."""
        return self.mass[:, None] - self.right

    @cached_property
    def _target_mass(self) -> _Floats:
        if self.bits.target_bytes is None:
            return np.full(len(self.objects), self.bits.weight)
        counts = np.bitwise_count(self._mask.view(np.uint8))
        return self.bits.weight * np.add.reduceat(counts, self.bits.target_bytes[:-1], dtype=np.float64)

    def over_targets(self, f: Callable[[_Floats], _Floats]) -> _Floats:
        """sum_k f(pi_a^k), shape (1,)."""
        return np.array([f(self._target_mass[self._target_mass > 0]).sum()])

    def divided(self, *terms: Term) -> tuple[_Floats, ...]:
        """sum_k g(pi_r^k, pi_l^k, pi_a^k) for each g, shape (1, N) each; g must be 0 where pi_r^k is 0."""
        if self.bits.target_bytes is None:
            one = np.array([self.bits.weight])
            return tuple(self.right / one * g(one, np.zeros(1), one) for g in terms)
        present = np.flatnonzero(self._target_mass > 0)
        mass = self._target_mass[present]
        columns = self.bits.columns.view(np.uint8)
        mask = self._mask.view(np.uint8)
        totals = tuple(np.empty((1, len(columns))) for _ in terms)
        step = max(1, 8 * _WORDS // columns.shape[1])
        for i in range(0, len(columns), step):
            counts = np.bitwise_count(columns[i : i + step] & mask)
            by_target = np.add.reduceat(counts, self.bits.target_bytes[:-1], axis=1, dtype=np.int32)
            right = self.bits.weight * by_target[:, present]
            whole = np.broadcast_to(mass, right.shape)
            for g, total in zip(terms, totals, strict=True):
                total[0, i : i + step] = g(right, whole - right, whole).sum(axis=1)
        return totals
