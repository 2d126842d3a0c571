"""Conjunctions and counts against mlxtend and against counting by hand."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from mlxtend.frequent_patterns import apriori

from autoprog.interpreter.mining import MINED_LENGTH, frequent_conjunctions


def _table(seed: int, n: int = 300, width: int = 14) -> tuple[np.ndarray, np.ndarray]:
    """Conditions of many densities, some implied by others, some equal, and a stratum per row."""
    rng = np.random.default_rng(seed)
    B = rng.random((n, width)) < rng.uniform(0.05, 0.95, width)
    B[:, 3] = B[:, 1] & B[:, 2]
    B[:, 5] = B[:, 4]
    B[:, 6] = True
    return B, rng.integers(0, 3, n)


@pytest.mark.parametrize("seed", range(5))
def test_the_free_frequent_conjunctions_are_those_of_mlxtend(seed: int) -> None:
    B, strata = _table(seed)
    min_count = 12
    found = frequent_conjunctions(B, strata, 3, min_count)

    frequent = apriori(pd.DataFrame(B), min_support=min_count / len(B) - 1e-9, max_len=MINED_LENGTH)
    totals = {frozenset(s): round(p * len(B)) for s, p in zip(frequent["itemsets"], frequent["support"], strict=True)}
    totals[frozenset()] = len(B)
    free = {
        items: total
        for items, total in totals.items()
        if items and all(total < totals[items - {item}] for item in items)
    }
    mined = {
        frozenset(int(m) for m in members if m >= 0): int(counts.sum())
        for members, counts in zip(found.members, found.counts, strict=True)
    }
    assert mined == free
    assert {len(items) for items in mined} == {1, 2, 3}


def test_counts_by_stratum_are_exact_and_nothing_comes_twice() -> None:
    B, strata = _table(9)
    found = frequent_conjunctions(B, strata, 3, 12)
    assert len({tuple(m) for m in found.members.tolist()}) == len(found.members)
    for members, counts in zip(found.members, found.counts, strict=True):
        matches = B[:, members[members >= 0]].all(axis=1)
        np.testing.assert_array_equal(np.bincount(strata[matches], minlength=3), counts)


def test_rows_beyond_one_block_are_counted_exactly() -> None:
    rng = np.random.default_rng(2)
    B = rng.random((40_000, 3)) < 0.6
    strata = rng.integers(0, 2, len(B))
    found = frequent_conjunctions(B, strata, 2, 1)
    expected = [
        [int(np.sum(B[:, items].all(axis=1) & (strata == r))) for r in range(2)]
        for length in (1, 2, 3)
        for items in combinations(range(3), length)
    ]
    assert found.counts.tolist() == expected


def test_an_empty_stratum_and_no_conditions() -> None:
    B, strata = _table(1)
    assert not frequent_conjunctions(B, np.where(strata == 2, 1, strata), 3, 12).counts[:, 2].any()
    assert frequent_conjunctions(B[:, :0], strata, 3, 12).members.shape == (0, MINED_LENGTH)
