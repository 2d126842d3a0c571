"""Evaluations along a path, and out of bag."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from autoprog.evaluation import (
    EvaluatedPath,
    FoldPath,
    FoldResult,
    Plan,
    Setting,
    at_common_setting,
    cross_validate,
    has_path,
    is_out_of_bag,
)
from autoprog.evaluation.cross_validation import common_place, list_settings
from autoprog.evaluation.fitting import fit_pipeline, out_of_bag_risks
from autoprog.space import Configuration, Space, Step
from tests.cohorts import cleveland_cohort, mixed_cohort

SPACE = Space.full()


def configuration(name: str, calibration: str = "none", imputation: str = "median", **values: object) -> Configuration:
    step = SPACE.algorithm("prediction", name).default_step()
    step = Step.of(name, {**dict(step.parameters), **values})  # type: ignore[arg-type]
    return Configuration(Step.of(imputation), Step.of("none"), step, Step.of(calibration))


def make_path(losses: list[float], scores: list[float]) -> FoldPath:
    m = len(losses)
    risks = np.arange(m, dtype=np.float32)[:, None] / m * np.ones((1, 3), dtype=np.float32)
    return FoldPath(tuple(range(1, m + 1)), np.array(scores), np.array(losses), risks)


def test_folds_share_the_value_of_the_least_mean_loss_that_all_of_them_have() -> None:
    """Alone the folds would take the third and the first; the fourth, which is best, the second has not reached."""
    paths = [make_path([0.9, 0.5, 0.3, 0.0], [0.1, 0.2, 0.3, 0.4]), make_path([0.2, 0.3, 0.9], [0.5, 0.6, 0.7])]
    assert common_place(paths) == 1
    results = at_common_setting([FoldResult(0.0, p.risks[0], path=p) for p in paths])
    assert [r.score for r in results] == [0.2, 0.6]
    np.testing.assert_array_equal(results[1].risks, paths[1].risks[1])
    assert list_settings(paths) == (Setting(1, (0.1, 0.5)), Setting(2, (0.2, 0.6)), Setting(3, (0.3, 0.7)))


def test_results_without_a_path_stay() -> None:
    results = [FoldResult(0.7, np.zeros(2, dtype=np.float32))]
    assert at_common_setting(results) == results


def test_a_path_survives_json() -> None:
    path = EvaluatedPath("trees", 500, (Setting(25, (0.5, 0.6)), Setting(50, (0.7, 0.8))))
    assert EvaluatedPath.from_json(path.to_json()) == path


@pytest.mark.parametrize("name", ["stochastic_boosting", "penalised_logistic"])
def test_the_risks_are_those_of_the_setting_that_is_chosen(name: str) -> None:
    cohort, plan = mixed_cohort(), Plan("auc_roc", folds=3, repeats=1, seed=0)
    asked = SPACE.whole_path(configuration(name, imputation="none"))
    found = cross_validate(asked, cohort, plan)
    assert found.chosen in found.settings
    axis = SPACE.find_path(asked)
    assert axis is not None
    chosen = asked.at("prediction", axis.name, found.chosen.value)
    for number in range(3):
        fold = plan.fold(cohort, number)
        pipeline = fit_pipeline(chosen, cohort, fold.train, plan, plan.fold_seed(number))
        risks = cohort.target.predict_risks(pipeline, cohort.X[fold.test])
        np.testing.assert_allclose(found.risks[fold.test], risks, atol=1e-4)
    assert found.score == pytest.approx(found.chosen.score)


def test_a_calibrated_pipeline_has_no_path() -> None:
    cohort = cleveland_cohort()
    assert has_path(configuration("lightgbm"), cohort)
    assert not has_path(configuration("lightgbm", "sigmoid"), cohort)
    assert not has_path(configuration("logistic_regression"), cohort)
    asked = configuration("lightgbm", "sigmoid", trees=30)
    assert SPACE.whole_path(asked) == asked
    assert dict(SPACE.whole_path(configuration("lightgbm", trees=30)).prediction.parameters)["trees"] == 500


def test_risks_out_of_bag_are_the_mean_over_trees_that_have_not_seen_the_patient() -> None:
    cohort, plan = cleveland_cohort(), Plan("auc_roc", folds=5, repeats=1, seed=0)
    pipeline, risks = out_of_bag_risks(configuration("random_forest", trees=60), cohort, plan)
    forest, X = pipeline[-1], pipeline[:-1].transform(cohort.X)
    expected = np.zeros(cohort.n_rows)
    for i in range(cohort.n_rows):
        unseen = [
            tree.predict_proba(X[[i]])[0, 1]
            for tree, rows in zip(forest.estimators_, forest.estimators_samples_, strict=True)
            if i not in rows
        ]
        expected[i] = np.mean(unseen)
    np.testing.assert_allclose(risks, expected)
    found = cross_validate(configuration("random_forest", trees=60), cohort, plan)
    np.testing.assert_allclose(found.risks, risks, atol=1e-6)


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
def test_a_patient_whom_all_trees_have_seen_has_no_risk_out_of_bag() -> None:
    cohort, plan = cleveland_cohort(), Plan("auc_roc", folds=5, repeats=1, seed=0)
    few = configuration("random_forest", trees=3)
    pipeline, risks = out_of_bag_risks(few, cohort, plan)
    seen_by = np.array([np.isin(np.arange(cohort.n_rows), rows) for rows in pipeline[-1].estimators_samples_])
    np.testing.assert_array_equal(np.isnan(risks), seen_by.all(axis=0))
    assert np.isnan(risks).any()
    with pytest.raises(ValueError, match="risks outside"):
        cross_validate(few, cohort, plan)


def test_a_forest_out_of_bag_knows_nothing_of_a_random_outcome() -> None:
    cohort = cleveland_cohort()
    scores = []
    for seed in range(5):
        shuffled = replace(cohort, y=np.random.default_rng(seed).permutation(cohort.y))
        plan = Plan("auc_roc", folds=5, repeats=1, seed=seed)
        scores.append(cross_validate(configuration("random_forest", trees=100, min_leaf=1), shuffled, plan).score)
    assert np.mean(scores) == pytest.approx(0.5, abs=0.04)


def test_what_may_be_asked_out_of_bag() -> None:
    cohort, forest = cleveland_cohort(), configuration("random_forest")
    assert is_out_of_bag(forest, cohort)
    assert not is_out_of_bag(configuration("extra_trees"), cohort)  # its trees see everybody
    assert not is_out_of_bag(configuration("random_forest", "sigmoid"), cohort)
    assert not is_out_of_bag(replace(forest, features=Step.of("pca")), cohort)
    assert not is_out_of_bag(replace(forest, imputation=Step.of("mice")), cohort)
    assert not is_out_of_bag(forest, replace(cohort, groups=np.arange(cohort.n_rows) // 2))
