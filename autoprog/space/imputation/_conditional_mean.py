"""Missing cells as their conditional expectation given the observed ones, for a whole table at once.

================  ====================================================================================================
symbol            meaning
================  ====================================================================================================
`Z`               table, one patient per row, columns centred, 0 where a cell is missing, shape = (n, d)
`K`               precision matrix, the inverse of the columns' covariance, shape = (d, d)
`m`, `o`          (as subscripts) a patient's missing and observed columns
`R`               `Z K`; at the missing cells of a patient `K_mo z_o`
`C`               `K_mm^-1`, covariance of a patient's missing cells given the observed ones
================  ====================================================================================================

For Gaussian columns `E[z_m | z_o] = Sigma_mo Sigma_oo^-1 z_o = -K_mm^-1 K_mo z_o`. The second form needs one product
with the whole table, and systems of the size of the few missing cells instead of the observed ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# Numbers in a stack of matrices that are inverted together: 32 MB.
_MAX_STACK = 2**22


@dataclass(frozen=True, slots=True)
class _Block:
    """Patients with the same number of missing cells."""

    rows: NDArray[np.intp]  # (n_rows,), patients
    pattern: NDArray[np.intp]  # (n_rows,), row of `cells` of each patient
    cells: NDArray[np.intp]  # (n_patterns, n_missing), missing columns of each pattern
    sizes: NDArray[np.intp]  # (n_patterns,), patients of each pattern


class MissingCells:
    """The missing cells of a table, its patients grouped by pattern."""

    def __init__(self, missing: NDArray[np.bool_]) -> None:
        self.n_columns = missing.shape[1]
        self._blocks = tuple(_blocks(missing))

    def impute(self, Z: NDArray[np.float64], K: NDArray[np.float64]) -> NDArray[np.float64]:
        """Put conditional expectations into the missing cells of `Z`, in place; return the sum of `C`, 0 elsewhere."""
        R = Z @ K
        flat = np.zeros(self.n_columns**2)
        for block in self._blocks:
            first, second = block.cells[:, :, None], block.cells[:, None, :]
            C = inverse(K[first, second])
            rows, cells = block.rows[:, None], block.cells[block.pattern]
            Z[rows, cells] = -np.einsum("rij,rj->ri", C[block.pattern], R[rows, cells])
            weighted = block.sizes[:, None, None] * C
            index = (first * self.n_columns + second).ravel()
            flat += np.bincount(index, weights=weighted.ravel(), minlength=len(flat))
        return flat.reshape(self.n_columns, self.n_columns)


def inverse(A: NDArray[np.float64]) -> NDArray[np.float64]:
    """Inverses of symmetric positive definite matrices, shape = (..., d, d)."""
    return np.asarray(np.linalg.inv(A), dtype=np.float64)


def _blocks(missing: NDArray[np.bool_]) -> Iterator[_Block]:
    incomplete = np.flatnonzero(missing.any(axis=1))
    if not len(incomplete):
        return
    # Each pattern becomes one item of bytes, since sorting rows of single bits is ten times slower.
    packed = np.packbits(missing[incomplete], axis=1)
    items = np.ascontiguousarray(packed).view(np.dtype((np.void, packed.shape[1]))).ravel()
    _, first, pattern = np.unique(items, return_index=True, return_inverse=True)
    patterns = missing[incomplete[first]]
    n_missing = patterns.sum(axis=1)[pattern]
    for m in np.unique(n_missing):
        chosen = np.flatnonzero(n_missing == m)
        chosen = chosen[np.argsort(pattern[chosen], kind="stable")]
        for part in np.array_split(chosen, -(-len(chosen) * int(m) ** 2 // _MAX_STACK)):
            distinct, own, sizes = np.unique(pattern[part], return_inverse=True, return_counts=True)
            cells = np.nonzero(patterns[distinct])[1].reshape(len(distinct), m)
            yield _Block(incomplete[part], own, cells, sizes)
