"""How every configuration of a search is evaluated."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from autoprog.cohort import Cohort
from autoprog.evaluation.folds import Fold, make_folds
from autoprog.space import TableShape, stratified_rows


@dataclass(frozen=True, slots=True)
class Plan:
    """Folds, metric and seed: the same for a whole search.

    Attributes
    ----------
    metric : str
        Key of `METRICS`.
    folds, repeats : int
        See `make_folds`.
    seed : int
        Seeds the folds and, with the fold's place, the pipelines.
    thresholds : tuple of (float, float) or None
        Range of risks at which a patient would be treated, for a metric that asks for it.
    missing_indicators : bool
        Whether features with missing cells get a column that says so.
    patients : int or None
        Evaluate on a subsample of so many patients; None for all.
    """

    metric: str
    folds: int
    repeats: int
    seed: int
    thresholds: tuple[float, float] | None = None
    missing_indicators: bool = False
    patients: int | None = None

    @property
    def n_folds(self) -> int:
        """Folds of all repeats: scores that an evaluation has."""
        return self.folds * self.repeats

    def sample(self, cohort: Cohort) -> Cohort:
        """The patients that evaluations are made on: all, or a subsample that keeps the share of events.

        Parameters
        ----------
        cohort : Cohort
            All patients.

        Returns
        -------
        Cohort
            The same object where all patients are used.
        """
        if self.patients is None or self.patients >= cohort.n_patients:
            return cohort
        return _sample(cohort, self.patients, self.seed)

    def fold(self, cohort: Cohort, number: int) -> Fold:
        """The fold of this number, from 0; repeats one after another."""
        return make_folds(cohort, self.folds, self.repeats, self.seed)[number // self.folds][number % self.folds]

    def fold_seed(self, number: int) -> int:
        """Seed of the pipelines that are fitted on this fold."""
        place = [self.seed, number // self.folds, number % self.folds]
        return int(np.random.SeedSequence(place).generate_state(1)[0])

    def shape(self, cohort: Cohort) -> TableShape:
        """Shape of the smallest training fold.

        Parameters
        ----------
        cohort : Cohort
            As `sample` gave it.

        Returns
        -------
        TableShape
            What masks and caps go by.
        """
        shape = TableShape.of(cohort, self.folds, missing_indicators=self.missing_indicators)
        if cohort.groups is None:
            return shape
        # Groups are not split: folds may differ in size.
        train = [f.train for part in make_folds(cohort, self.folds, self.repeats, self.seed) for f in part]
        # Inner folds do not split groups either: what counts is how many groups hold an outcome.
        holders = [
            len(np.unique(cohort.groups[rows][cohort.y[rows] == outcome])) for rows in train for outcome in (0, 1)
        ]
        return replace(shape, n_patients=min(len(rows) for rows in train), n_minority=min(holders))


@lru_cache(maxsize=2)
def _sample(cohort: Cohort, size: int, seed: int) -> Cohort:
    rng = np.random.default_rng([seed, size])
    rows = stratified_rows(cohort.y, cohort.n_patients, size, rng)
    groups = None if cohort.groups is None else cohort.groups[rows]
    return replace(cohort, X=cohort.X[rows], y=cohort.y[rows], groups=groups)
