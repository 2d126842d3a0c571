"""Every algorithm of the space fits, predicts probabilities, and sees nothing but the training patients."""

from __future__ import annotations

import numpy as np
import pytest

from autoprog.evaluation import Plan, cross_validate
from autoprog.evaluation.folds import make_folds
from autoprog.space import STAGES, Algorithm, Configuration, Space, StageName, Step, TableShape, build_pipeline
from autoprog.space.calibration import CALIBRATION
from autoprog.space.features import FEATURES
from autoprog.space.imputation import IMPUTATION
from autoprog.space.prediction import BEYOND_TABLE_1, PREDICTION
from tests.cohorts import cleveland_cohort, mixed_cohort

BUILT_IN = (*IMPUTATION, *FEATURES, *PREDICTION, *CALIBRATION)
CLASSIFYING = [a for a in (*BUILT_IN, *BEYOND_TABLE_1) if "classification" in a.modes]
SIMPLE = {
    "imputation": Step.of("median"),
    "features": Step.of("none"),
    "prediction": Step.of("logistic_regression"),
    "calibration": Step.of("none"),
}


def with_algorithm(algorithm: Algorithm, step: Step) -> Configuration:
    """The simple pipeline with one stage replaced; a stage that keeps missing cells gets a learner that takes them."""
    steps: dict[StageName, Step] = {**SIMPLE, algorithm.stage: step}  # type: ignore[dict-item]
    if algorithm.key == "imputation/none":
        steps["prediction"] = Space.full().algorithm("prediction", "lightgbm").default_step()
    return Configuration(**steps)


# Hyperparameters per algorithm, as Table 1 of the source prints them.
TABLE_1 = {
    "imputation": {
        "miss_forest": 2,
        "median": 0,
        "most_frequent": 0,
        "mean": 0,
        "em": 1,
        "matrix_completion": 2,
        "mice": 1,
        "none": 0,
    },
    "features": {
        "agglomeration": 4,
        "kernel_pca": 5,
        "polynomial": 3,
        "fast_ica": 4,
        "pca": 2,
        "random_kitchen_sinks": 2,
        "nystroem": 5,
        "linear_svm_selection": 3,
        "select_rates": 3,
        "none": 0,
    },
    "prediction": {
        "bernoulli_nb": 2,
        "ada_boost": 4,
        "decision_tree": 4,
        "gradient_boosting": 6,
        "lda": 4,
        "gaussian_nb": 0,
        "xgboost": 5,
        "extra_trees": 5,
        "lightgbm": 5,
        "linear_svm": 4,
        "multinomial_nb": 2,
        "random_forest": 5,
        "neural_network": 5,
        "logistic_regression": 0,
        "gaussian_process": 3,
        "ridge": 1,
        "bagging": 4,
        "k_nearest_neighbours": 1,
        "survival_forest": 5,
        "cox": 0,
    },
    "calibration": {"sigmoid": 0, "isotonic": 0, "none": 0},
}


def test_the_space_is_table_1() -> None:
    counts: dict[str, dict[str, int]] = {stage: {} for stage in STAGES}
    for algorithm in BUILT_IN:
        counts[algorithm.stage][algorithm.name] = len(algorithm.hyperparameters)
    assert counts == TABLE_1
    space = Space(tuple(tuple(a for a in BUILT_IN if a.stage == stage) for stage in STAGES))
    assert len(space.algorithms) == 41
    assert space.n_pipelines == 4800
    assert space.n_dimensions == 102 + 4


def test_what_is_beyond_table_1_says_so() -> None:
    assert not any(algorithm.table_1 for algorithm in BEYOND_TABLE_1)
    assert Space.table_1() == Space(tuple(tuple(a for a in BUILT_IN if a.stage == stage) for stage in STAGES))


@pytest.mark.parametrize("algorithm", [*BUILT_IN, *BEYOND_TABLE_1], ids=lambda a: a.key)
def test_every_algorithm_declares_itself(algorithm: Algorithm) -> None:
    assert algorithm.reference
    assert algorithm.family
    assert algorithm.cost.seconds >= 0
    assert algorithm.cost.at(10_000, 40) >= algorithm.cost.at(1000, 20)
    assert ("times" in algorithm.takes) == ("classification" not in algorithm.modes)
    assert algorithm.path is None or algorithm.path in {axis.name for axis in algorithm.hyperparameters}
    for axis in algorithm.hyperparameters:
        assert axis.from_unit(axis.to_unit(axis.default)) == pytest.approx(axis.default)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # one sweep of chained equations
@pytest.mark.parametrize("algorithm", CLASSIFYING, ids=lambda a: a.key)
def test_fits_and_predicts_at_defaults_and_at_random_settings(algorithm: Algorithm) -> None:
    cohort = cleveland_cohort()
    shape = TableShape.of(cohort, 5)
    rng = np.random.default_rng(3)
    steps = [algorithm.default_step()]
    if algorithm.hyperparameters:
        steps += [algorithm.step_from_unit({h.name: rng.random() for h in algorithm.hyperparameters}) for _ in range(2)]
    for step in steps:
        pipeline = build_pipeline(with_algorithm(algorithm, step), cohort.features, shape, seed=0)
        risks = pipeline.fit(cohort.X, cohort.y).predict_proba(cohort.X)
        assert risks.shape == (303, 2)
        assert np.isfinite(risks).all()
        assert risks.min() >= 0
        assert risks.max() <= 1
        np.testing.assert_allclose(risks.sum(axis=1), 1, atol=1e-6)


@pytest.mark.parametrize("algorithm", CLASSIFYING, ids=lambda a: a.key)
def test_no_stage_sees_the_validation_patients(algorithm: Algorithm) -> None:
    """A patient's out-of-fold risk does not change when all others of his fold are replaced by nonsense."""
    cohort = mixed_cohort()
    configuration = with_algorithm(algorithm, algorithm.default_step())
    fold = make_folds(cohort, 4, 1, seed=1)[0][0]
    kept, poisoned = fold.test[0], fold.test[1:]
    X, y = cohort.X.copy(), cohort.y.copy()
    X[poisoned, 0], X[poisoned, 1:], y[poisoned] = 1e6, np.nan, 1 - y[poisoned]
    shape = TableShape.of(cohort, 4)
    risks = []
    for features, outcome in ((cohort.X, cohort.y), (X, y)):
        pipeline = build_pipeline(configuration, cohort.features, shape, seed=0)
        pipeline.fit(features[fold.train], outcome[fold.train])
        risks.append(pipeline.predict_proba(features[fold.test])[0, 1])
    assert fold.test[0] == kept
    assert risks[0] == risks[1]


@pytest.mark.parametrize("algorithm", CLASSIFYING, ids=lambda a: a.key)
def test_one_patient_alone_gets_the_answer_he_gets_among_others(algorithm: Algorithm) -> None:
    cohort = cleveland_cohort()
    configuration = with_algorithm(algorithm, algorithm.default_step())
    pipeline = build_pipeline(configuration, cohort.features, TableShape.of(cohort, 5), seed=0)
    pipeline.fit(cohort.X, cohort.y)
    among_others = pipeline.predict_proba(cohort.X)[:, 1]
    # The patients with missing cells and two without.
    rows = np.append(np.flatnonzero(np.isnan(cohort.X).any(axis=1)), [0, 302])
    alone = [pipeline.predict_proba(cohort.X[[row]])[0, 1] for row in rows]
    np.testing.assert_allclose(alone, among_others[rows], rtol=0, atol=1e-6)  # xgboost computes in float32


def test_same_seed_same_scores() -> None:
    cohort = mixed_cohort()
    small = {"trees": 5, "max_features": 0.3, "criterion": "gini", "min_leaf": 3, "max_depth": 15}
    forests = Step.of("miss_forest", {"trees": 5, "max_features": 0.3}), Step.of("random_forest", small)
    forest = Configuration(forests[0], Step.of("none"), forests[1], Step.of("isotonic"))
    plan = Plan("auc_roc", folds=2, repeats=2, seed=11)
    first, second = (cross_validate(forest, cohort, plan) for _ in range(2))
    assert first.fold_scores == second.fold_scores
    np.testing.assert_array_equal(first.risks, second.risks)
