"""Groups of rows, such as the visits of a patient, that stay together where a learner splits its own training rows.

Rows of one group are alike: a split between them shows the learner outcomes that it should predict.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from autoprog.cohort import grouped_splits

Groups = NDArray[np.integer]


def with_groups(estimator: BaseEstimator, groups: Groups | None) -> dict[str, Any]:
    """Keyword of a fit that passes on the groups; empty without groups, or if the estimator splits no rows."""
    if groups is None:
        return {}
    if isinstance(estimator, Pipeline):
        name, learner = estimator.steps[-1]
        return {f"{name}__{keyword}": value for keyword, value in with_groups(learner, groups).items()}
    return {"groups": groups} if has_fit_parameter(estimator, "groups") else {}


def splits_by_group(
    label: NDArray[np.generic],
    groups: Groups | None,
    folds: int,
    seed: int,
    needed: Collection[int] | None = None,
) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]] | None:
    """Split rows into stratified folds of whole groups, every training part with the labels that it needs.

    Parameters
    ----------
    label : ndarray, shape = (n,)
        The label of each row.
    groups : ndarray of int, shape = (n,), or None
        Rows of one group stay together.
    folds : int
        Number of folds, at least 2; fewer are made, or else one for each group, if a training part would lack a label.
    seed : int
        Seed of the splits.
    needed : collection or None
        Labels that every training part must hold; None for all.

    Returns
    -------
    list of (train, test), or None
        None without groups, or if a single group has all rows of a needed label.
    """
    if groups is None:
        return None
    labels, codes = np.unique(label, return_inverse=True)
    names, group = np.unique(groups, return_inverse=True)
    held = np.unique(codes * len(names) + group) // len(names)  # a label once for each group that has it
    must = np.arange(len(labels)) if needed is None else np.flatnonzero(np.isin(labels, [*needed]))
    if (np.bincount(held, minlength=len(labels))[must] < 2).any():
        return None
    wanted = min(folds, len(names))
    for number in (*range(wanted, 1, -1), len(names)):
        splits = grouped_splits(codes, groups, number, seed)
        if all(np.isin(must, codes[train]).all() for train, _ in splits):
            return splits
    return None
