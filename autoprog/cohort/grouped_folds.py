"""Folds that split no group and share the strata of the outcome evenly.

    c        rows of every group in every stratum                               (groups, strata)
    p        shares of the strata's rows that a group of a kind holds           (kinds, strata)
    m        groups of a kind: they have the same c                             (kinds,)
    h        shares of the strata's rows that a fold holds                      (folds, strata)

Groups are assigned greedily, kind by kind and large kinds first. Those of a kind go round the folds, starting with the
fold of the smallest sum of h p over the strata, which keeps the sum of squares of h smallest; ties go to the emptiest
fold. The order within a kind, and that of kinds of similar size, is random, so that seeds differ even for few groups.

scikit-learn's `StratifiedGroupKFold` takes a quarter of a millisecond per group.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Kinds whose sizes differ by less than this factor may come in either order.
_ABOUT_ONE_SIZE = 2.0


def grouped_splits(
    strata: NDArray[np.integer], groups: NDArray[np.integer], folds: int, seed: int
) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Split rows into folds by whole groups.

    Parameters
    ----------
    strata, groups : ndarray of int, shape = (n,)
        Strata to share evenly; rows of one group stay together.
    folds, seed : int
        From 2 to the number of groups; the same seed gives the same folds on any machine.

    Returns
    -------
    list of (train, test), length folds
        Row numbers, ascending; every row is in one test part, and none is empty.

    Raises
    ------
    ValueError
        If there are fewer groups than folds.
    """
    _, group = np.unique(groups, return_inverse=True)
    _, stratum, n_of_stratum = np.unique(strata, return_inverse=True, return_counts=True)
    n_groups, n_strata = int(group.max()) + 1, len(n_of_stratum)
    if n_groups < folds:
        msg = f"{folds} folds are more than the {n_groups} groups"
        raise ValueError(msg)
    c = np.bincount(group * n_strata + stratum, minlength=n_groups * n_strata).reshape(n_groups, n_strata)
    rng = np.random.default_rng(seed)
    by_kind = rng.permutation(n_groups)
    by_kind = by_kind[np.lexsort(c[by_kind].T)]
    begins = np.ones(n_groups, dtype=np.bool_)
    begins[1:] = (np.diff(c[by_kind], axis=0) != 0).any(axis=1)
    first, kind = np.flatnonzero(begins), np.cumsum(begins) - 1
    turns = _dealt(c[by_kind[first]] / n_of_stratum, np.diff(first, append=n_groups), folds, rng)
    fold = np.empty(n_groups, dtype=np.intp)
    fold[by_kind] = turns[kind, (np.arange(n_groups) - first[kind]) % folds]
    of_row = fold[group]
    return [(np.flatnonzero(of_row != k), np.flatnonzero(of_row == k)) for k in range(folds)]


def _dealt(p: NDArray[np.float64], m: NDArray[np.integer], folds: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Order in which the groups of each kind go round the folds, shape = (kinds, folds)."""
    h, turns = np.zeros((folds, p.shape[1])), np.empty((len(p), folds), dtype=np.intp)
    size = p.sum(axis=1) * rng.uniform(1.0, _ABOUT_ONE_SIZE, len(p))
    for k in np.argsort(-size, kind="stable"):
        # No matrix product: its rounding depends on the processor, and every worker computes the folds.
        turns[k] = np.lexsort((h.sum(axis=1), (h * p[k]).sum(axis=1)))
        h += p[k] * (m[k] // folds)
        h[turns[k, : m[k] % folds]] += p[k]
    return turns
