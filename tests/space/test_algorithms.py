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
from autoprog.space.prediction import PREDICTION
from tests.cohorts import cleveland_cohort, mixed_cohort

BUILT_IN = (*IMPUTATION, *FEATURES, *PREDICTION, *CALIBRATION)
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
    "imputation": {"mean": 0, "median": 0, "most_frequent": 0, "mice": 1, "none": 0},
    "features": {"pca": 2, "polynomial": 3, "select_rates": 3, "none": 0},
    "prediction": {
        "logistic_regression": 0,
        "ridge": 1,
        "gaussian_nb": 0,
        "k_nearest_neighbours": 1,
        "random_forest": 5,
        "xgboost": 5,
        "lightgbm": 5,
    },
    "calibration": {"sigmoid": 0, "isotonic": 0, "none": 0},
}


def test_hyperparameter_counts_are_those_of_table_1() -> None:
    counts: dict[str, dict[str, int]] = {stage: {} for stage in STAGES}
    for algorithm in BUILT_IN:
        counts[algorithm.stage][algorithm.name] = len(algorithm.hyperparameters)
    assert counts == TABLE_1


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # one sweep of chained equations
@pytest.mark.parametrize("algorithm", BUILT_IN, ids=lambda a: a.key)
def test_fits_and_predicts_at_defaults_and_at_random_settings(algorithm: Algorithm) -> None:
    cohort = cleveland_cohort()
    shape = TableShape.of(cohort, 5)
    rng = np.random.default_rng(3)
    steps = [algorithm.default_step()]
    if algorithm.hyperparameters:
        steps += [algorithm.step_from_unit({h.name: rng.random() for h in algorithm.hyperparameters}) for _ in range(3)]
    for step in steps:
        pipeline = build_pipeline(with_algorithm(algorithm, step), cohort.features, shape, seed=0)
        risks = pipeline.fit(cohort.X, cohort.y).predict_proba(cohort.X)
        assert risks.shape == (303, 2)
        assert np.isfinite(risks).all()
        assert risks.min() >= 0
        assert risks.max() <= 1
        np.testing.assert_allclose(risks.sum(axis=1), 1, atol=1e-6)


@pytest.mark.parametrize("algorithm", BUILT_IN, ids=lambda a: a.key)
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


@pytest.mark.parametrize("algorithm", BUILT_IN, ids=lambda a: a.key)
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
    space = Space.full()
    forest = Configuration(
        space.algorithm("imputation", "mice").default_step(),
        Step.of("none"),
        space.algorithm("prediction", "random_forest").default_step(),
        Step.of("isotonic"),
    )
    plan = Plan("auc_roc", folds=3, repeats=2, seed=11)
    first, second = (cross_validate(forest, cohort, plan) for _ in range(2))
    assert first.fold_scores == second.fold_scores
    np.testing.assert_array_equal(first.risks, second.risks)


@pytest.mark.parametrize("whiten", [False, True])
def test_components_of_rounding_noise_are_left_out(whiten: bool) -> None:
    """All three dummies of a feature sum to one: a standardised table of them has one rank less than columns."""
    cohort = mixed_cohort()
    complete = cohort.X[~np.isnan(cohort.X).any(axis=1)]
    step = Step.of("pca", {"fraction": 1.0, "whiten": whiten})
    pipeline = build_pipeline(
        Configuration(**{**SIMPLE, "features": step}), cohort.features, TableShape.of(cohort, 4), seed=0
    )
    y = cohort.y[~np.isnan(cohort.X).any(axis=1)]
    components = pipeline[:-1].fit_transform(complete, y)
    assert components.shape[1] == 5  # of six columns
    assert components.var(axis=0).min() > 0.1
