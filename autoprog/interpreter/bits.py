"""Sets of patients as packed bits: 64 patients a word, so that an intersection of two sets of 20,000 is 313 operations.

m       sets
w       words a set, ceil(n_patients / 64)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]

_BYTES = 8


def pack(masks: NDArray[np.bool_]) -> Words:
    """Pack masks into words.

    Parameters
    ----------
    masks : ndarray, shape = (n_patients,) or (m, n_patients)
        bool; who belongs to the set.

    Returns
    -------
    ndarray, shape = (w,) or (m, w)
        uint64; the bits beyond the last patient are 0.
    """
    packed = np.packbits(masks, axis=-1)
    padding = [(0, 0)] * (packed.ndim - 1) + [(0, -packed.shape[-1] % _BYTES)]
    return np.ascontiguousarray(np.pad(packed, padding)).view(np.uint64)


def unpack(words: Words, n_patients: int) -> NDArray[np.bool_]:
    """The inverse of `pack`.

    Parameters
    ----------
    words : ndarray, shape = (w,) or (m, w)
        uint64.
    n_patients : int
        As many as were packed.

    Returns
    -------
    ndarray, shape = (n_patients,) or (m, n_patients)
        bool.
    """
    return np.unpackbits(words.view(np.uint8), axis=-1, count=n_patients).view(np.bool_)


def sizes(words: Words) -> NDArray[np.int64]:
    """Number of patients of each set.

    Parameters
    ----------
    words : ndarray, shape = (w,) or (m, w)
        uint64.

    Returns
    -------
    ndarray, shape = () or (m,)
        int64.
    """
    counted: NDArray[np.int64] = np.bitwise_count(words).sum(axis=-1, dtype=np.int64)
    return counted
