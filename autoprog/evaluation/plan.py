"""Evaluation settings of a search."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from autoprog.cohort import Cohort, windowed
from autoprog.evaluation.cache import cached_per_cohort
from autoprog.evaluation.folds import Fold, make_folds
from autoprog.performance.event_metrics import ScoringContext, make_event_metric
from autoprog.performance.metrics import METRICS, Metric, make_metric
from autoprog.space import Configuration, Reduction, TableShape


@dataclass(frozen=True, slots=True)
class Plan:
    """Folds, metric and seed, the same for a whole search."""

    metric: str  # key of `METRICS`; for event times, one of `EVENT_METRICS`
    folds: int
    repeats: int
    seed: int  # of the folds and, with the fold's place, of the pipelines
    thresholds: tuple[float, float] | None = None  # risks at which a patient would be treated, if the metric needs them
    missing_indicators: bool = False  # whether features with missing cells get an indicator column
    patients: int | None = None  # rows of the subsample to evaluate on; None for all
    times: tuple[float, ...] = ()  # ascending times of risk curves, from `time_grid`; empty if the outcome has no time
    reduction: Reduction = "discrete_time"  # of event times for classifiers
    window: int = 1  # visits to look back on, if rows are visits and the configuration does not say

    @property
    def n_folds(self) -> int:
        """Folds of all repeats."""
        return self.folds * self.repeats

    def metric_for(self, cohort: Cohort) -> Metric:
        """Metric for the patients of this cohort."""
        return _metric(cohort, self.metric, self.times, self.thresholds)

    def loss_for(self, cohort: Cohort) -> Metric:
        """Loss that compares settings along a path: log loss or, with event times, integrated Brier score."""
        return _metric(cohort, cohort.target.loss, self.times, None)

    def sample(self, cohort: Cohort, configuration: Configuration | None = None) -> Cohort:
        """Sample rows for evaluation, keeping the share of events; visits become windows of the configuration."""
        if cohort.visits is not None:
            window = None if configuration is None else configuration.window
            cohort = _windowed(cohort, window or self.window)
        if self.patients is None or self.patients >= cohort.n_rows:
            return cohort
        return _sample(cohort, self.patients, self.folds, self.seed)

    def fold(self, cohort: Cohort, number: int) -> Fold:
        """Fold of this number, from 0, repeat by repeat."""
        return make_folds(cohort, self.folds, self.repeats, self.seed)[number // self.folds][number % self.folds]

    def fold_seed(self, number: int) -> int:
        """Seed of the pipelines fitted on this fold."""
        place = [self.seed, number // self.folds, number % self.folds]
        return int(np.random.SeedSequence(place).generate_state(1)[0])

    def shape(self, cohort: Cohort) -> TableShape:
        """Shape of the smallest training fold of a sampled cohort, which determines masks and size limits."""
        shape = TableShape.of(
            cohort,
            self.folds,
            missing_indicators=self.missing_indicators,
            times=self.times,
            reduction=self.reduction,
        )
        if cohort.groups is None:
            return shape
        # Folds of whole groups may differ in size.
        train = [f.train for part in make_folds(cohort, self.folds, self.repeats, self.seed) for f in part]
        # Inner folds do not split groups either, so groups with an outcome are counted.
        holders = [
            len(np.unique(cohort.groups[rows][cohort.y[rows] == code])) for rows in train for code in cohort.target.held
        ]
        n_patients = min(len(rows) for rows in train)
        n_periods = round(shape.n_periods * n_patients / shape.n_patients)
        return replace(shape, n_patients=n_patients, n_periods=n_periods, n_minority=min(holders))


@cached_per_cohort
def _metric(cohort: Cohort, name: str, times: tuple[float, ...], thresholds: tuple[float, float] | None) -> Metric:
    if name in METRICS:
        return make_metric(name, thresholds)
    return make_event_metric(name, ScoringContext.of(cohort, times))


@cached_per_cohort
def _windowed(cohort: Cohort, window: int) -> Cohort:
    return windowed(cohort, window)


@cached_per_cohort
def _sample(cohort: Cohort, size: int, folds: int, seed: int) -> Cohort:
    return cohort.take(cohort.target.sample(cohort.outcomes, size, folds, np.random.default_rng([seed, size])))
