"""Which pipelines a cohort with event times has, how large their tables are, and what they cost."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from autoprog.cohort import Cohort, TimeToEvent, Visits
from autoprog.errors import InvalidInputError
from autoprog.evaluation import Plan
from autoprog.space import (
    Algorithm,
    Reduction,
    Space,
    TableShape,
    build_pipeline,
    list_algorithms,
    predicted_seconds,
)
from autoprog.space.event_times import discrete_time
from autoprog.space.event_times.person_periods import PersonPeriods
from autoprog.space.prediction import FOR_COMPETING_RISKS, PREDICTION
from tests.cohorts import cleveland_cohort
from tests.space.event_times.cohorts import as_cohort, real_event_cohort, simulated
from tests.space.test_algorithms import BUILT_IN

CLASSIFIERS = [a for a in (*PREDICTION, *FOR_COMPETING_RISKS) if not a.takes_times]
WITHOUT_WEIGHTS = {"lda", "k_nearest_neighbours", "gaussian_process", "neural_network"}


def shape_of(cohort: Cohort, reduction: Reduction = "discrete_time") -> TableShape:
    return TableShape.of(cohort, 5, times=cohort.time_grid, reduction=reduction)


def predictors(shape: TableShape) -> set[str]:
    return {kind[2].name for kind in Space.full(shape.n_causes).valid_kinds(shape)}


def test_the_space_is_table_1_unless_causes_compete() -> None:
    space, competing = Space.full(), Space.full(2)
    # Plug-ins that other tests register are in it too.
    table = Space(tuple(tuple(a for a in stage if a in BUILT_IN) for stage in space.stages))
    assert (table.n_pipelines, table.n_dimensions) == (4800, 106)
    assert "fine_gray" not in {a.name for a in space.algorithms}
    assert [a for a in competing.algorithms if a not in space.algorithms] == list(FOR_COMPETING_RISKS)
    assert "fine_gray" in {a.name for a in list_algorithms("prediction", 2)}
    assert "fine_gray" not in {a.name for a in list_algorithms("prediction")}


def test_settings_can_name_fine_gray_where_causes_compete_and_nowhere_else() -> None:
    chosen = Space.subset({"prediction": ["fine_gray"]}, n_causes=2)
    assert [a.name for a in chosen.stages[2]] == ["fine_gray"]
    with pytest.raises(InvalidInputError, match="unknown algorithm 'fine_gray'; known are"):
        Space.subset({"prediction": ["fine_gray"]})


def test_every_classifier_serves_event_times_and_no_learner_of_times_serves_classes() -> None:
    every = {a.name for a in Space.full().stages[2]}
    assert predictors(shape_of(real_event_cohort("whas500"))) == every
    assert predictors(shape_of(real_event_cohort("mgus2"))) == every | {"fine_gray"}
    of_times = {a.name for a in Space.full().stages[2] if a.takes_times}
    assert of_times == {"cox", "survival_forest", "penalised_cox", "spline_cox", "accelerated_failure_time"}
    assert predictors(TableShape.of(cleveland_cohort(), 5)) == every - of_times


@pytest.mark.parametrize("name", ["whas500", "mgus2"])
def test_weights_mask_what_takes_none_and_say_why(name: str) -> None:
    shape = shape_of(real_event_cohort(name), "ipcw")
    both = shape_of(real_event_cohort(name))
    built_in = {a.name for a in (*PREDICTION, *FOR_COMPETING_RISKS)}
    assert (predictors(both) - predictors(shape)) & built_in == WITHOUT_WEIGHTS
    unfit = Space.full(shape.n_causes).unfit(shape)
    reasons = {a.name: why for a, why in unfit.items() if a.stage == "prediction" and a.name in built_in}
    assert set(reasons) == WITHOUT_WEIGHTS
    assert set(reasons.values()) == {"takes no weights of patients, which the reduction 'ipcw' needs"}


@pytest.mark.parametrize("algorithm", CLASSIFIERS, ids=lambda a: a.name)
def test_who_declares_weights_takes_them_and_they_count(algorithm: Algorithm) -> None:
    """Three times the weight of those with the event raises their risk; who declares none has no use for the word."""
    data = simulated(0, 200, censoring=0.0)
    label = (data.y["time"] <= 1).astype(np.int8)
    shape = TableShape(200, 3, 60, has_missing=False)
    estimator = algorithm.build(dict(algorithm.default_step().parameters), shape, 0)
    X = (data.X - data.X.min(axis=0)) / np.ptp(data.X, axis=0)
    if "weights" not in algorithm.takes:
        with pytest.raises((TypeError, ValueError), match="sample_weight"):
            estimator.fit(X, label, sample_weight=np.ones(200))
        return
    plain = estimator.fit(X, label, sample_weight=np.ones(200)).predict_proba(X)[:, 1].mean()
    weights = np.where(label == 1, 1.5, 0.5)
    weighted = estimator.fit(X, label, sample_weight=weights).predict_proba(X)[:, 1].mean()
    assert weighted > plain + 0.03


def temporal(cohort: Cohort) -> Cohort:
    assert isinstance(cohort.outcome, TimeToEvent)
    return replace(cohort, outcome=Visits("patient", "visit", 1.0, replace(cohort.outcome, horizons=(1.0,))))


def test_visits_with_event_times_have_the_same_predictors() -> None:
    data = simulated(1, 400, 2)
    survival = as_cohort(data.X, data.y, (1.0,), 2, np.arange(400) // 2)
    shape = shape_of(temporal(survival))
    assert shape.mode == "temporal"
    assert predictors(shape) == predictors(shape_of(survival))


def test_without_times_visits_have_classifiers_alone() -> None:
    shape = replace(TableShape.of(cleveland_cohort(), 5), mode="temporal")
    assert predictors(shape) == predictors(TableShape.of(cleveland_cohort(), 5))
    with pytest.raises(InvalidInputError, match="is fitted to event times, which the outcome has not"):
        Space.subset({"prediction": ["cox"]}).valid_kinds(shape)


def test_the_shape_counts_events_causes_and_intervals() -> None:
    cohort = real_event_cohort("mgus2")
    shape = shape_of(cohort)
    assert shape.times == cohort.time_grid
    assert shape.horizons == cohort.horizons
    assert shape.n_causes == 2
    assert shape.n_minority == 112 - 23  # of 112 events 23 in the largest of five folds
    assert cohort.time is not None
    outcomes = np.array(list(zip(cohort.y, cohort.time, strict=True)), dtype=[("event", "i1"), ("time", "f8")])
    rows = len(PersonPeriods.of(outcomes, np.array(shape.times)).patient)
    # All who were censored within an interval are reckoned with, whether they count in it or not.
    assert 0.8 * rows <= shape.n_periods <= 0.8 * rows * 1.1


def test_a_classifier_is_shown_the_table_that_the_reduction_makes() -> None:
    shape = shape_of(real_event_cohort("mgus2"))
    pooled = shape.of_classifier()
    assert pooled.n_patients == shape.n_periods
    assert pooled.n_columns == shape.n_columns + len(shape.times) - 1
    assert (pooled.times, pooled.horizons, pooled.n_causes) == ((), (), 1)
    weighted = replace(shape, reduction="ipcw").of_classifier()
    assert (weighted.n_patients, weighted.n_columns) == (shape.n_patients, shape.n_columns)
    binary = TableShape.of(cleveland_cohort(), 5)
    assert binary.of_classifier() is binary


def test_of_very_many_patients_those_are_counted_whose_intervals_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    shape = shape_of(real_event_cohort("mgus2"))
    whole = shape.of_classifier()
    monkeypatch.setattr(discrete_time, "MAX_CELLS", whole.n_patients * whole.n_columns // 2)
    part = shape.of_classifier()
    assert shape.n_pooled == pytest.approx(shape.n_patients / 2, abs=1)
    assert part.n_patients == pytest.approx(whole.n_patients / 2, rel=0.01)


def test_in_folds_of_groups_the_intervals_are_those_of_the_smallest() -> None:
    data = simulated(2, 300)
    groups = np.concatenate([np.zeros(120), 1 + np.arange(180) % 30]).astype(np.int64)
    cohort = as_cohort(data.X, data.y, (1.0,), 1, groups)
    plan = Plan("uno_c", folds=3, repeats=1, seed=0, times=cohort.time_grid)
    even, smallest = shape_of(cohort), plan.shape(cohort)
    assert smallest.n_patients <= 180
    assert smallest.n_periods / smallest.n_patients == pytest.approx(even.n_periods / even.n_patients, rel=0.02)


def test_seconds_are_those_of_every_fit() -> None:
    shape = shape_of(real_event_cohort("mgus2"))
    by_name = {a.name: a for a in Space.full(2).stages[2]}
    logistic, cox = by_name["logistic_regression"], by_name["cox"]
    pooled = shape.of_classifier()
    assert logistic.seconds(shape) == pytest.approx(2 * logistic.cost.at(pooled.n_patients, pooled.n_columns))
    weighted = replace(shape, reduction="ipcw")
    assert logistic.seconds(weighted) == pytest.approx(2 * 3 * logistic.cost.at(shape.n_patients, shape.n_columns))
    for each in (shape, weighted):
        assert cox.seconds(each) == pytest.approx(2 * cox.cost.at(shape.n_patients, shape.n_columns))
    (median, none) = (a for a in Space.full().stages[0] if a.name in {"median", "none"})
    nothing, sigmoid = (a for name in ("none", "sigmoid") for a in Space.full().stages[3] if a.name == name)
    plain = Space.full().algorithm("features", "none")
    assert predicted_seconds((median, plain, logistic, sigmoid), shape) == pytest.approx(
        sigmoid.refits * predicted_seconds((median, plain, logistic, nothing), shape)
    )
    assert none.seconds(shape) == none.cost.at(shape.n_patients, shape.n_columns)


def test_a_pipeline_of_each_predictor_can_be_built() -> None:
    cohort = real_event_cohort("mgus2")
    shape = shape_of(cohort)
    space = Space.full(2)
    for kind in space.valid_kinds(shape):
        if kind[1].name == "none":
            pipeline = build_pipeline(space.default(kind), cohort.features, shape, 0)
            assert hasattr(pipeline, "cumulative_incidence")
