"""Folds of a search, the same for every configuration.

Strata that folds and samples share evenly: outcome and, with event times, its time.

A measure until a horizon needs in every part patients with the event of interest by then, and patients followed beyond.
So there are strata for events by the first horizon, events by the last, follow-up beyond, and each way to be lost.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

from autoprog.cohort import Cohort, grouped_splits
from autoprog.evaluation.cache import cached_per_cohort


@dataclass(frozen=True, eq=False)
class Fold:
    """One split of the patients into row numbers of a training and a test part."""

    train: NDArray[np.intp]
    test: NDArray[np.intp]


@cached_per_cohort
def make_folds(cohort: Cohort, folds: int, repeats: int, seed: int) -> tuple[tuple[Fold, ...], ...]:
    """Split the patients into folds stratified by outcome, for event times also by time; groups are never split.

    Parameters
    ----------
    cohort : Cohort
        The patients.
    folds : int
        Folds per repeat, from 2 to the size of the smaller class.
    repeats, seed : int
        Number of different partitions, at least 1, and seed of their shuffles.

    Returns
    -------
    tuple of tuple of Fold
        `repeats` partitions of `folds` folds each.
    """
    strata = cohort.target.strata(cohort.outcomes, folds)
    partitions = []
    for repeat in range(repeats):
        random_state = int(np.random.SeedSequence([seed, repeat]).generate_state(1)[0])
        if cohort.groups is None:
            rows = StratifiedKFold(folds, shuffle=True, random_state=random_state).split(strata, strata)
        else:
            rows = grouped_splits(strata, cohort.groups, folds, random_state)
        partitions.append(tuple(Fold(train, test) for train, test in rows))
    return tuple(partitions)
