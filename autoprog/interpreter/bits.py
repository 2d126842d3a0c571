"""Sets of patients as packed bits, 64 patients a word: two sets of 20,000 intersect in 313 operations.

m       sets
w       words a set, ceil(n_patients / 64)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]

_BYTES = 8


def pack(masks: NDArray[np.bool_]) -> Words:
    """Pack masks, shape = (n_patients,) or (m, n_patients), into words, shape = (w,) or (m, w), padded with 0."""
    packed = np.packbits(masks, axis=-1)
    padding = [(0, 0)] * (packed.ndim - 1) + [(0, -packed.shape[-1] % _BYTES)]
    return np.ascontiguousarray(np.pad(packed, padding)).view(np.uint64)


def unpack(words: Words, n_patients: int) -> NDArray[np.bool_]:
    """Unpack the words of `pack`."""
    return np.unpackbits(words.view(np.uint8), axis=-1, count=n_patients).view(np.bool_)


def sizes(words: Words) -> NDArray[np.int64]:
    """Count the patients of each set, shape = () or (m,)."""
    counted: NDArray[np.int64] = np.bitwise_count(words).sum(axis=-1, dtype=np.int64)
    return counted
