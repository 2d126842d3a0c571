"""Packed sets against masks."""

from __future__ import annotations

import numpy as np
import pytest

from autoprog.interpreter.mining import pack, sizes, unpack


@pytest.mark.parametrize("n", [1, 7, 8, 63, 64, 65, 200])
def test_packing_keeps_every_patient_and_adds_none(n: int) -> None:
    masks = np.random.default_rng(n).random((5, n)) < 0.4
    words = pack(masks)
    assert words.dtype == np.uint64
    assert words.shape == (5, -(-n // 64))
    np.testing.assert_array_equal(unpack(words, n), masks)
    np.testing.assert_array_equal(sizes(words), masks.sum(axis=1))
    np.testing.assert_array_equal(unpack(pack(masks[0]), n), masks[0])
    np.testing.assert_array_equal(sizes(words & pack(masks[0])), (masks & masks[0]).sum(axis=1))
