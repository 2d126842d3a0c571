"""Packed sets against masks."""

from __future__ import annotations

import numpy as np
import pytest

from autoprog.interpreter.mining import pack, unpack
from autoprog.interpreter.selection import Target, _Patients


@pytest.mark.parametrize("n", [1, 7, 8, 63, 64, 65, 200])
def test_packing_keeps_every_patient_and_adds_none(n: int) -> None:
    masks = np.random.default_rng(n).random((5, n)) < 0.4
    words = pack(masks)
    assert words.dtype == np.uint64
    assert words.shape == (5, -(-n // 64))
    np.testing.assert_array_equal(unpack(words, n), masks)
    np.testing.assert_array_equal(unpack(pack(masks[0]), n), masks[0])


@pytest.mark.parametrize("n", [2, 63, 64, 65, 129, 200])
def test_counts_are_those_of_the_masks(n: int) -> None:
    rng = np.random.default_rng(n)
    masks, in_stratum = rng.random((5, n)) < 0.4, rng.random(n) < 0.3
    in_stratum[:2] = True, False
    patients = _Patients(Target(pack(masks), in_stratum, 1))
    counts, in_both = patients.count(patients.B)
    np.testing.assert_array_equal(counts, masks.sum(axis=1))
    np.testing.assert_array_equal(in_both, (masks & in_stratum).sum(axis=1))
    assert tuple(map(int, patients.count(patients.all))) == (n, in_stratum.sum())
    # Patients outside are counted by complement within the known ones alone.
    counts, in_both = patients.count(patients.B & ~patients.B[0])
    np.testing.assert_array_equal(counts, (masks & ~masks[0]).sum(axis=1))
    np.testing.assert_array_equal(in_both, (masks & ~masks[0] & in_stratum).sum(axis=1))
    for rules in ([(0,), (1, 3), (0, 2, 4)], []):
        for rule, words in zip(rules, patients.conjoin_each(rules), strict=True):
            np.testing.assert_array_equal(words, patients.conjoin(rule))
