"""Groups are dealt to folds whole, evenly, and without going over them one by one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedGroupKFold

from autoprog.cohort import Cohort, grouped_folds, grouped_splits
from tests.cohorts import event_cohort, labelled_visits, mixed_cohort

COHORTS: dict[str, Callable[[], Cohort]] = {
    "pbcseq": lambda: event_cohort("pbcseq"),
    "albumin": labelled_visits,
    "mixed": mixed_cohort,
}
SEEDS = range(10)


def fold_of(splits: list[tuple[NDArray[np.intp], NDArray[np.intp]]], n: int) -> NDArray[np.intp]:
    fold = np.full(n, -1)
    for k, (train, test) in enumerate(splits):
        assert (fold[test] == -1).all()
        fold[test] = k
        np.testing.assert_array_equal(train, np.setdiff1d(np.arange(n), test))
    assert (fold >= 0).all()
    return fold


def spread(fold: NDArray[np.intp], strata: NDArray[np.integer], folds: int) -> tuple[float, float]:
    """Ranges, over the folds, of their size as a share of an even one, and of the share of any stratum in them."""
    of_fold = np.array([np.bincount(strata[fold == k], minlength=strata.max() + 1) for k in range(folds)])
    shares = of_fold / of_fold.sum(axis=1, keepdims=True)
    return float(np.ptp(of_fold.sum(axis=1)) * folds / len(fold)), float(np.ptp(shares, axis=0).max())


@pytest.mark.parametrize("folds", [2, 5, 10])
@pytest.mark.parametrize("name", COHORTS)
def test_folds_are_as_even_as_those_of_scikit_learn(name: str, folds: int) -> None:
    cohort = COHORTS[name]()
    strata, groups = cohort.target.strata(cohort.outcomes, folds), cohort.groups
    assert groups is not None
    pairs = np.unique(np.column_stack([groups, strata]), axis=0)
    holders = np.bincount(pairs[:, 1])
    ours, theirs = [], []
    for seed in SEEDS:
        fold = fold_of(grouped_splits(strata, groups, folds, seed), cohort.n_rows)
        assert len(np.unique(np.column_stack([groups, fold]), axis=0)) == len(np.unique(groups))
        held = np.array([[((fold == k) & (strata == s)).any() for s in range(len(holders))] for k in range(folds)])
        assert held[:, holders >= folds].all()
        ours.append(spread(fold, strata, folds))
        splitter = StratifiedGroupKFold(folds, shuffle=True, random_state=seed)
        other = fold_of(list(splitter.split(strata, strata, groups)), cohort.n_rows)
        theirs.append(spread(other, strata, folds))
    # Means of ten seeds differ by luck; a row in a hundred of a fold apart is as good.
    assert (np.mean(ours, axis=0) <= np.add(1.25 * np.mean(theirs, axis=0), (0.01, 0.002))).all()


def test_the_seed_tells_who_is_with_whom() -> None:
    cohort = mixed_cohort()
    assert cohort.groups is not None
    first, again, other = (fold_of(grouped_splits(cohort.y, cohort.groups, 4, seed), 200) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, again)
    assert len(set(zip(first, other, strict=True))) > 4


def test_few_groups_of_their_own_kind_are_not_always_together() -> None:
    size = np.array([40, 55, 61, 70, 84, 90, 95, 101, 110, 123])
    groups = np.repeat(np.arange(10), size)
    y = (np.arange(len(groups)) % 7 == 0).astype(np.int8)
    partitions = {
        frozenset(frozenset(groups[test].tolist()) for _, test in grouped_splits(y, groups, 5, seed)) for seed in SEEDS
    }
    assert len(partitions) > 5
    for partition in partitions:
        assert sorted(map(len, partition)) == [2] * 5  # two hospitals each


@pytest.mark.parametrize("n_groups", [2, 3, 5])
def test_as_few_groups_as_folds_are_one_each(n_groups: int) -> None:
    """Of two outcomes that no group shares, too: no fold is empty."""
    groups = np.repeat(np.arange(n_groups) + 7, np.arange(n_groups) + 3)
    splits = grouped_splits(groups % 2, groups, n_groups, seed=0)
    assert sorted(set(groups[test]).pop() for _, test in splits) == sorted(set(groups))
    with pytest.raises(ValueError, match=f"{n_groups + 1} folds are more than the {n_groups} groups"):
        grouped_splits(groups % 2, groups, n_groups + 1, seed=0)


def test_a_hundred_thousand_groups_are_dealt_by_their_kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = []
    deal = grouped_folds._dealt
    monkeypatch.setattr(grouped_folds, "_dealt", lambda p, *more: (kinds.append(len(p)), deal(p, *more))[1])
    rng = np.random.default_rng(0)
    groups, y = rng.integers(100_000, size=500_000), (rng.random(500_000) < 0.1).astype(np.int8)
    held_out = [test for _, test in grouped_splits(y, groups, 5, 0)]
    assert kinds[0] < 200
    assert np.ptp([len(test) for test in held_out]) < 20
    assert np.ptp([y[test].sum() for test in held_out]) < 20
