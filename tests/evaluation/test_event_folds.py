"""Evaluating pipelines of event times: nothing of the patients held out is seen, and the notes say what was done."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from autoprog.cohort import Binary, Cohort, Feature, Visits, VisitTable
from autoprog.evaluation import CrossValidation, Plan, at_common_setting, evaluate_fold, fit_pipeline, make_folds
from autoprog.evaluation.notes import notes_on_sizes
from autoprog.space import Configuration, IncidencePipeline, Reduction, Space, Step, TableShape
from autoprog.space.event_times import discrete_time
from tests.space.event_times.cohorts import as_cohort, simulated

SIMPLE = Configuration(Step.of("median"), Step.of("none"), Step.of("logistic_regression"), Step.of("none"))
SUPERVISED = Step.of("select_rates", {"alpha": 0.1, "mode": "fpr", "score": "f_classif"})


@cache
def cohort_with_gaps(causes: int = 2) -> Cohort:
    """240 patients, a tenth of the cells missing."""
    data = simulated(11, 240, causes)
    X = data.X.copy()
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    cohort = as_cohort(X, data.y, (0.5, 1.0), causes)
    features = tuple(replace(f, missing_fraction=0.1) for f in cohort.features)
    return replace(cohort, features=features)


@pytest.mark.parametrize("reduction", ["discrete_time", "ipcw"])
@pytest.mark.parametrize("predictor", ["logistic_regression", "lightgbm", "cox", "fine_gray", "survival_forest"])
@pytest.mark.parametrize("calibration", ["none", "sigmoid", "isotonic"])
def test_nothing_is_learnt_from_patients_held_out(predictor: str, reduction: Reduction, calibration: str) -> None:
    """Their cells are made nonsense and their outcomes exchanged among them: the fitted pipeline is the same."""
    cohort = cohort_with_gaps()
    step = Space.full(2).algorithm("prediction", predictor).default_step()
    configuration = Configuration(Step.of("median"), SUPERVISED, step, Step.of(calibration))
    plan = Plan("uno_c", folds=4, repeats=1, seed=1, times=cohort.time_grid, reduction=reduction)
    fold = plan.fold(cohort, 0)
    X, y, time = cohort.X.copy(), cohort.y.copy(), cohort.time
    assert time is not None
    time = time.copy()
    turned = np.roll(fold.test, 7)
    X[fold.test, 0], X[fold.test, 1:] = 1e6 * y[fold.test], np.nan
    y[fold.test], time[fold.test] = y[turned], time[turned]
    poisoned = replace(cohort, X=X, y=y, time=time)
    answers = []
    for patients in (cohort, poisoned):
        pipeline = fit_pipeline(configuration, patients, fold.train, plan, seed=5)
        answers.append(pipeline.cumulative_incidence(cohort.X, np.array(plan.times)))
    np.testing.assert_array_equal(*answers)
    # Nor does a patient's risk depend on who else is asked for.
    alone = pipeline.cumulative_incidence(cohort.X[[fold.test[0]]], np.array(plan.times))
    np.testing.assert_allclose(alone[0], answers[0][fold.test[0]], rtol=0, atol=1e-6)


def test_an_early_stage_sees_whether_the_event_of_interest_was_seen_and_no_time() -> None:
    cohort = cohort_with_gaps()
    plan = Plan("uno_c", folds=4, repeats=1, seed=1, times=cohort.time_grid)
    rows = np.arange(cohort.n_rows)
    configuration = replace(SIMPLE, features=SUPERVISED)
    assert cohort.time is not None
    other_times = replace(cohort, time=cohort.time[::-1].copy())
    stages = [fit_pipeline(configuration, c, rows, plan, seed=5).stages_ for c in (cohort, other_times)]
    np.testing.assert_array_equal(stages[0].transform(cohort.X), stages[1].transform(cohort.X))


@pytest.mark.parametrize("reduction", ["discrete_time", "ipcw"])
def test_outer_folds_keep_groups_whole_and_hold_every_event(reduction: Reduction) -> None:
    data = simulated(12, 300, 2)
    groups = np.random.default_rng(1).integers(0, 60, 300)
    cohort = as_cohort(data.X, data.y, (0.5, 1.0), 2, groups)
    for fold in make_folds(cohort, 4, 1, 0)[0]:
        assert not set(groups[fold.train]) & set(groups[fold.test])
        assert set(cohort.y[fold.test]) == {0, 1, 2}
    plan = Plan("uno_c", folds=4, repeats=1, seed=0, times=cohort.time_grid, reduction=reduction)
    assert evaluate_fold(SIMPLE, cohort, plan, 0).score > 0.55


def test_what_is_known_of_a_patient_in_another_group_member_is_not_known_of_him() -> None:
    """Copies of patients: with groups the nearest neighbour has been held out too, without them it is a copy."""
    rng = np.random.default_rng(3)
    X, time = rng.normal(size=(60, 3)), rng.exponential(size=60)
    event = (np.arange(60) % 3 > 0).astype(np.int8)
    cohort = as_cohort(np.tile(X, (4, 1)), np.tile(simulated(0, 60).y, 4), (1.0,), 1)
    cohort = replace(cohort, y=np.tile(event, 4), time=np.tile(time, 4))
    grouped = replace(cohort, groups=np.tile(np.arange(60), 4))
    nearest = replace(SIMPLE, prediction=Step.of("k_nearest_neighbours", {"neighbours": 3}))
    scores = {}
    for name, patients in (("apart", cohort), ("together", grouped)):
        plan = Plan("c_index", folds=3, repeats=1, seed=0, times=patients.time_grid)
        scores[name] = np.mean([evaluate_fold(nearest, patients, plan, k).score for k in range(3)])
    assert scores["apart"] > 0.7
    assert scores["together"] < 0.65


def test_a_cause_that_one_patient_has_keeps_no_fold_from_its_score() -> None:
    data = simulated(13, 200)
    y = data.y.copy()
    y["event"][np.flatnonzero(y["event"] == 0)[0]] = 2
    cohort = as_cohort(data.X, y, (0.5, 1.0), 2)
    for reduction in ("discrete_time", "ipcw"):
        plan = Plan("uno_c", folds=4, repeats=1, seed=0, times=cohort.time_grid, reduction=reduction)
        for predictor in ("cox", "fine_gray", "logistic_regression"):
            configuration = replace(SIMPLE, prediction=Step.of(predictor))
            for number in range(4):
                assert evaluate_fold(configuration, cohort, plan, number).score > 0.5


def test_the_notes_count_intervals_and_patients_that_were_not_pooled(monkeypatch: pytest.MonkeyPatch) -> None:
    # Columns of the pooled table: 10, and 9 of ten intervals.
    times = tuple(np.arange(1.0, 11.0).tolist())
    shape = TableShape(
        30_000, 10, 3_000, has_missing=False, mode="survival", times=times, horizons=(10.0,), n_periods=200_000
    )
    of_neighbours = replace(SIMPLE, prediction=Step.of("k_nearest_neighbours", {"neighbours": 25}))
    assert notes_on_sizes(SIMPLE, shape) == []
    assert notes_on_sizes(of_neighbours, shape) == [
        "prediction/k_nearest_neighbours is fitted on 10,000 of 200,000 intervals"
    ]
    by_weights = replace(shape, reduction="ipcw")
    assert notes_on_sizes(replace(SIMPLE, prediction=Step.of("cox")), by_weights) == []
    monkeypatch.setattr(discrete_time, "MAX_CELLS", 1_900_000)
    assert notes_on_sizes(SIMPLE, shape) == [
        "prediction/logistic_regression learns from the intervals of 15,000 of 30,000 patients"
    ]
    assert notes_on_sizes(SIMPLE, by_weights) == []


def test_curves_that_fall_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    cohort = cohort_with_gaps(1)
    plan = Plan("uno_c", folds=4, repeats=1, seed=1, times=cohort.time_grid)
    falling = np.tile(np.linspace(0.9, 0.1, len(plan.times)), (60, 1, 1))
    monkeypatch.setattr(IncidencePipeline, "cumulative_incidence", lambda *_: falling)
    with pytest.raises(ValueError, match="risks that fall with time"):
        evaluate_fold(SIMPLE, cohort, plan, 0)


def test_patients_whose_causes_sum_above_one_are_counted() -> None:
    """Two causes that hardly leave anybody, each fitted apart."""
    data = simulated(5, 300, 2, censoring=0.0)
    cohort = as_cohort(data.X, data.y, (1.0, 6.0), 2)
    plan = Plan("uno_c", folds=3, repeats=1, seed=1, times=cohort.time_grid)
    configuration = replace(SIMPLE, prediction=Step.of("fine_gray"))
    F = fit_pipeline(configuration, cohort, plan.fold(cohort, 0).train, plan, plan.fold_seed(0)).cumulative_incidence(
        cohort.X[plan.fold(cohort, 0).test], np.array(plan.times)
    )
    n = int((F[:, :, -1].sum(axis=1) > 1 - 1e-9).sum())
    assert 0 < n < 100
    (note,) = [text for text in evaluate_fold(configuration, cohort, plan, 0).notes if "causes" in text]
    assert note == f"risks of {n} of 100 patients held out summed above 1 over the causes: scaled to 1"
    assert not [t for t in evaluate_fold(SIMPLE, cohort_with_gaps(), plan_of_gaps(), 0).notes if "causes" in t]


def test_along_a_path_they_are_counted_at_the_chosen_setting() -> None:
    data = simulated(5, 300, 2, censoring=0.0)
    cohort = as_cohort(data.X, data.y, (1.0, 6.0), 2)
    plan = Plan("uno_c", folds=3, repeats=1, seed=1, times=cohort.time_grid)
    step = Space.full(2).algorithm("prediction", "penalised_logistic").default_step()
    asked = Space.full(2).whole_path(replace(SIMPLE, prediction=step))
    results = [evaluate_fold(asked, cohort, plan, number) for number in range(3)]
    chosen = CrossValidation.of(results, cohort, plan).chosen
    assert chosen is not None
    at_chosen = asked.at("prediction", "C", chosen.value)
    for number, result in enumerate(at_common_setting(results)):
        fold = plan.fold(cohort, number)
        fitted = fit_pipeline(at_chosen, cohort, fold.train, plan, plan.fold_seed(number))
        n = (fitted.cumulative_incidence(cohort.X[fold.test], np.array([6.0]))[:, :, 0].sum(axis=1) > 1 - 1e-6).sum()
        assert 0 < n < 100
        (note,) = [text for text in result.notes if "causes" in text]
        assert note == f"risks of {n} of 100 patients held out summed above 1 over the causes: scaled to 1"


def plan_of_gaps() -> Plan:
    return Plan("uno_c", folds=3, repeats=1, seed=1, times=cohort_with_gaps().time_grid)


def test_a_feature_that_tells_patients_apart_tells_nothing_of_those_held_out() -> None:
    """Every visit of a patient has the same label and the same number, which no other patient has.

    With visits split over the folds a tree would look the label up by the number; with patients held out whole it
    cannot, and is as good as chance.
    """
    n, each = 120, 6
    rng = np.random.default_rng(8)
    patient = np.repeat(np.arange(n), each)
    number, label = rng.permutation(n) / n, rng.permutation(np.arange(n) % 2)
    X = np.column_stack([number[patient], rng.normal(size=n * each)])
    visits = VisitTable(patient, np.tile(np.arange(each, dtype=np.float64), n))
    outcome = Visits("id", "month", 1.0, Binary("septic", "1", "0"))
    features = (Feature("number", "numeric"), Feature("noise", "numeric"))
    whole = Cohort("visits", outcome, features, X, label[patient].astype(np.int8), patient, None, visits)
    tree = Step.of("decision_tree", {"criterion": "gini", "max_depth": 15, "min_leaf": 1, "pruning": 1e-5})
    configuration = replace(SIMPLE, prediction=tree)
    plan = Plan("auc_roc", folds=5, repeats=2, seed=0)
    by_patient = [evaluate_fold(configuration, whole, plan, k).score for k in range(10)]
    split = replace(whole, groups=np.arange(n * each))
    by_visit = [evaluate_fold(configuration, split, plan, k).score for k in range(10)]
    # 24 patients per fold: the standard error of ten folds of chance, twice over the same patients, is about .03.
    assert abs(np.mean(by_patient) - 0.5) < 0.1
    assert np.mean(by_visit) > 0.85
