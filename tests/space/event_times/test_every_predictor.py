"""Every predictor of the space, by both reductions and every calibration, on a survival and a competing cohort."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from autoprog.cohort import Cohort, Feature
from autoprog.evaluation import Plan, fit_pipeline
from autoprog.evaluation.fitting import fit_along
from autoprog.model import dump_estimator, load_estimator
from autoprog.space import Configuration, Reduction, Space, Step
from autoprog.space.prediction import BEYOND_TABLE_1, FOR_COMPETING_RISKS, PREDICTION
from tests.space.event_times.cohorts import as_cohort, real_event_cohort, simulated

PREDICTORS = [a.name for a in (*PREDICTION, *BEYOND_TABLE_1, *FOR_COMPETING_RISKS)]
CALIBRATIONS = ("none", "sigmoid", "isotonic")


def cohort_named(name: str) -> Cohort:
    """Its last two horizons, as every horizon of `ipcw` is a fit for each cause."""
    cohort = real_event_cohort(name)
    assert cohort.time_to_event is not None
    return replace(cohort, outcome=replace(cohort.time_to_event, horizons=cohort.horizons[1:]))


def pipelines(predictor: str, name: str, calibrations: tuple[str, ...]) -> Iterator[tuple[Plan, Configuration]]:
    """What is valid for the cohort, and fitted differently."""
    cohort = cohort_named(name)
    reductions: tuple[Reduction, ...] = ("discrete_time", "ipcw")
    for reduction in reductions:
        plan = Plan("uno_c", folds=3, repeats=1, seed=0, times=cohort.time_grid, reduction=reduction)
        space = Space.full(plan.shape(cohort).n_causes)
        if predictor not in {a.name for a in space.stages[2]}:
            return
        algorithm = space.algorithm("prediction", predictor)
        if algorithm in space.unfit(plan.shape(cohort)):
            continue
        step = algorithm.default_step()
        if "trees" in dict(step.parameters):
            step = Step.of(step.algorithm, {**dict(step.parameters), "trees": 30})
        for calibration in calibrations:
            yield plan, Configuration(Step.of("median"), Step.of("none"), step, Step.of(calibration))
        if algorithm.takes_times:
            return


def check(predictor: str, name: str, calibrations: tuple[str, ...]) -> int:
    cohort, n = cohort_named(name), 0
    for plan, configuration in pipelines(predictor, name, calibrations):
        fold = plan.fold(cohort, 0)
        pipeline = fit_pipeline(configuration, cohort, fold.train, plan, seed=1)
        t = np.concatenate([[0.0], plan.times])
        F = pipeline.cumulative_incidence(cohort.X[fold.test], t)
        n_causes = plan.shape(cohort).n_causes
        assert F.shape == (len(fold.test), n_causes, len(t))
        assert np.isfinite(F).all()
        assert F.min() >= 0
        assert F.max() <= 1
        np.testing.assert_array_equal(F[:, :, 0], 0.0)
        assert (np.diff(F, axis=2) >= -1e-12).all()
        assert F.sum(axis=1).max() <= 1 + 1e-9
        loaded = load_estimator(dump_estimator(pipeline))
        np.testing.assert_array_equal(loaded.cumulative_incidence(cohort.X[fold.test], t), F)
        n += 1
    return n


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("predictor", PREDICTORS)
def test_risks_are_probabilities_that_rise_and_survive_storage(predictor: str) -> None:
    n = check(predictor, "bmt137", ("none",))
    assert n in {1, 2}


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", ["veteran", "bmt137", "pbc_cr"])
@pytest.mark.parametrize("predictor", PREDICTORS)
def test_with_every_calibration_too(predictor: str, name: str) -> None:
    n = check(predictor, name, CALIBRATIONS)
    assert n == 0 if (predictor, name) == ("fine_gray", "veteran") else n in {3, 6}


def few_events(n: int, n_events: int) -> Cohort:
    """A column of four unordered levels and three others; all but the first events are censored."""
    data, rng = simulated(0, n), np.random.default_rng(0)
    y = data.y.copy()
    y["event"][np.flatnonzero(y["event"])[n_events:]] = 0
    X = np.column_stack([data.X, rng.integers(4, size=n)])
    cohort = as_cohort(X, y, (0.5, 1.0), 1)
    return replace(cohort, features=(*cohort.features[:3], Feature("site", "categorical", tuple("abcd"))))


@pytest.mark.parametrize("predictor", ["xgboost", "lightgbm", "stochastic_boosting"])
def test_boosters_keep_codes_where_few_events_merge_intervals(predictor: str) -> None:
    cohort = few_events(120, 35)
    plan = Plan("uno_c", folds=5, repeats=1, seed=0, times=cohort.time_grid)
    step = Space.full().algorithm("prediction", predictor).default_step()
    configuration = Configuration(Step.of("none"), Step.of("none"), step, Step.of("none"))
    for number in range(5):
        fold = plan.fold(cohort, number)
        pipeline = fit_pipeline(configuration, cohort, fold.train, plan, seed=1)
        assert len(pipeline.learner_.cuts_) < len(plan.times)
        F = pipeline.cumulative_incidence(cohort.X[fold.test], plan.times)
        assert np.ptp(F[:, 0, -1]) > 0
        assert np.isfinite(fit_along(configuration, cohort, fold, plan, seed=1).risks).all()


def test_neighbours_are_at_most_half_of_the_rows_where_few_events_merge_intervals() -> None:
    cohort = few_events(60, 11)
    plan = Plan("uno_c", folds=5, repeats=1, seed=0, times=cohort.time_grid)
    step = Step.of("k_nearest_neighbours", {"neighbours": 150})
    for calibration in ("none", "sigmoid"):
        configuration = Configuration(Step.of("median"), Step.of("none"), step, Step.of(calibration))
        for number in range(5):
            fold = plan.fold(cohort, number)
            pipeline = fit_pipeline(configuration, cohort, fold.train, plan, seed=1)
            F = pipeline.cumulative_incidence(cohort.X[fold.test], plan.times)
            assert (np.diff(F, axis=2) >= 0).all()
            assert F.max() < 1
