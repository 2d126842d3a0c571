"""How every configuration of a search is evaluated."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from autoprog.cohort import Cohort, windowed
from autoprog.evaluation.cache import cached_per_cohort
from autoprog.evaluation.event_metrics import ScoringContext, make_event_metric
from autoprog.evaluation.folds import Fold, make_folds
from autoprog.evaluation.metrics import METRICS, Metric, make_metric
from autoprog.evaluation.strata import outcome_strata, stratified_sample
from autoprog.space import Configuration, Reduction, TableShape, stratified_rows


@dataclass(frozen=True, slots=True)
class Plan:
    """Folds, metric and seed: the same for a whole search.

    Attributes
    ----------
    metric : str
        Key of `METRICS`; of a cohort with event times, one of `EVENT_METRICS`.
    folds, repeats : int
        See `make_folds`.
    seed : int
        Seeds the folds and, with the fold's place, the pipelines.
    thresholds : tuple of (float, float) or None
        Range of risks at which a patient would be treated, for a metric that asks for it.
    missing_indicators : bool
        Whether features with missing cells get a column that says so.
    patients : int or None
        Evaluate on a subsample of so many rows; None for all.
    times : tuple of float
        Where curves of risk are looked at, ascending, as `time_grid` gives them; empty where the outcome has no time.
    reduction : str
        How classifiers serve event times.
    window : int
        Visits that are looked back on, where the cohort's rows are visits and a configuration does not say.
    """

    metric: str
    folds: int
    repeats: int
    seed: int
    thresholds: tuple[float, float] | None = None
    missing_indicators: bool = False
    patients: int | None = None
    times: tuple[float, ...] = ()
    reduction: Reduction = "discrete_time"
    window: int = 1

    @property
    def n_folds(self) -> int:
        """Folds of all repeats: scores that an evaluation has."""
        return self.folds * self.repeats

    def metric_for(self, cohort: Cohort) -> Metric:
        """The metric, as it is measured among the patients of this cohort."""
        if cohort.has_times:
            return _event_metric(cohort, self.metric, self.times)
        return make_metric(self.metric, self.thresholds)

    def loss_for(self, cohort: Cohort) -> Metric:
        """What settings along a path are compared by, less is better: the log loss, of event times the Brier score."""
        return _event_metric(cohort, "integrated_brier", self.times) if cohort.has_times else METRICS["log_loss"]

    def sample(self, cohort: Cohort, configuration: Configuration | None = None) -> Cohort:
        """The rows that evaluations are made on: all, or a subsample that keeps the share of events.

        Visits become windows: a row then holds what the last visits of its patient say.

        Parameters
        ----------
        cohort : Cohort
            All patients.
        configuration : Configuration, optional
            For which, where the length of the window is searched too.

        Returns
        -------
        Cohort
            The same object where all rows are used as they are.
        """
        if cohort.visits is not None:
            window = None if configuration is None else configuration.window
            cohort = _windowed(cohort, window or self.window)
        if self.patients is None or self.patients >= cohort.n_rows:
            return cohort
        return _sample(cohort, self.patients, self.folds, self.seed)

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
        shape = TableShape.of(
            cohort,
            self.folds,
            missing_indicators=self.missing_indicators,
            times=self.times,
            reduction=self.reduction,
        )
        if cohort.groups is None:
            return shape
        # Groups are not split: folds may differ in size.
        train = [f.train for part in make_folds(cohort, self.folds, self.repeats, self.seed) for f in part]
        # Inner folds do not split groups either: what counts is how many groups hold an outcome.
        outcomes = (1,) if cohort.has_times else (0, 1)
        holders = [
            len(np.unique(cohort.groups[rows][cohort.y[rows] == outcome])) for rows in train for outcome in outcomes
        ]
        n_patients = min(len(rows) for rows in train)
        n_periods = round(shape.n_periods * n_patients / shape.n_patients)
        return replace(shape, n_patients=n_patients, n_periods=n_periods, n_minority=min(holders))


@cached_per_cohort
def _event_metric(cohort: Cohort, name: str, times: tuple[float, ...]) -> Metric:
    return make_event_metric(name, ScoringContext.of(cohort, times))


@cached_per_cohort
def _windowed(cohort: Cohort, window: int) -> Cohort:
    return windowed(cohort, window)


@cached_per_cohort
def _sample(cohort: Cohort, size: int, folds: int, seed: int) -> Cohort:
    rng = np.random.default_rng([seed, size])
    if cohort.has_times:
        return cohort.take(stratified_sample(outcome_strata(cohort, folds), size, folds, rng))
    return cohort.take(stratified_rows((cohort.y == 1).astype(np.int8), cohort.n_rows, size, rng))
