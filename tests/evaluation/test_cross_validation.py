from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from autoprog.cohort import Cohort, Feature
from autoprog.evaluation import Plan, cross_validate, make_folds
from autoprog.performance import METRICS
from autoprog.space import Configuration, Space, Step
from autoprog.space.design_matrix import DesignMatrix
from tests.cohorts import cleveland_cohort, mixed_cohort

SIMPLE = Configuration(Step.of("median"), Step.of("none"), Step.of("logistic_regression"), Step.of("none"))
SCORERS = {
    "auc_roc": ("roc_auc", 1),
    "auc_prc": ("average_precision", 1),
    "brier": ("neg_brier_score", -1),
    "log_loss": ("neg_log_loss", -1),
}


@pytest.mark.parametrize("metric", SCORERS)
def test_scores_equal_scikit_learns_on_the_same_folds(metric: str) -> None:
    cohort = cleveland_cohort()
    plan = Plan(metric, folds=5, repeats=2, seed=4)
    pipeline = make_pipeline(
        DesignMatrix.for_features(cohort.features),
        SimpleImputer(strategy="median"),
        StandardScaler(),
        LogisticRegression(max_iter=1000),
    )
    splits = [(f.train, f.test) for partition in make_folds(cohort, 5, 2, 4) for f in partition]
    scorer, sign = SCORERS[metric]
    expected = sign * cross_val_score(pipeline, cohort.X, cohort.y, cv=splits, scoring=scorer)
    result = cross_validate(SIMPLE, cohort, plan)
    np.testing.assert_allclose(result.fold_scores, expected, rtol=0, atol=1e-12)
    assert result.score == pytest.approx(expected.mean(), abs=1e-12)


def test_every_patient_has_one_risk_out_of_fold() -> None:
    cohort = mixed_cohort()
    result = cross_validate(SIMPLE, cohort, Plan("brier", folds=4, repeats=3, seed=0))
    assert len(result.fold_scores) == 12
    assert result.risks.shape == (cohort.n_patients,)
    assert result.risks.dtype == np.float32
    assert 0 <= result.risks.min() <= result.risks.max() <= 1


@pytest.mark.parametrize("cohort", [cleveland_cohort, mixed_cohort], ids=["stratified", "grouped"])
def test_folds_partition_the_patients_and_keep_groups_whole(cohort: object) -> None:
    patients: Cohort = cohort()  # type: ignore[operator]
    partitions = make_folds(patients, 5, 2, seed=9)
    assert len(partitions) == 2
    for partition in partitions:
        everyone = np.sort(np.concatenate([f.test for f in partition]))
        np.testing.assert_array_equal(everyone, np.arange(patients.n_patients))
        for fold in partition:
            assert not set(fold.train) & set(fold.test)
            assert len(set(patients.y[fold.test])) == 2
            if patients.groups is not None:
                assert not set(patients.groups[fold.train]) & set(patients.groups[fold.test])


def test_seeds_make_folds_and_repeats_differ() -> None:
    cohort = cleveland_cohort()
    (first, second), (again, _), (other, _) = (make_folds(cohort, 5, 2, seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first[0].test, again[0].test)
    assert not np.array_equal(first[0].test, second[0].test)
    assert not np.array_equal(first[0].test, other[0].test)


def test_losses_are_turned_so_that_more_is_better() -> None:
    y, good, bad = np.array([0, 1, 0, 1]), np.array([0.1, 0.9, 0.2, 0.8]), np.array([0.9, 0.2, 0.6, 0.4])
    for metric in METRICS.values():
        assert metric.gain(metric.score(y, good)) > metric.gain(metric.score(y, bad)), metric.name


def test_a_score_that_is_not_defined_is_an_error_and_no_score() -> None:
    """All events in one hospital: the other folds hold one outcome only, and no AUC."""
    cohort = mixed_cohort()
    groups = np.where(cohort.y == 1, 0, 1 + np.arange(cohort.n_patients) % 7)
    with pytest.raises(ValueError, match=r"auc_roc is not defined on a fold|least populated class|one class|not two"):
        cross_validate(SIMPLE, replace(cohort, groups=groups), Plan("auc_roc", folds=3, repeats=1, seed=0))


@pytest.mark.parametrize("calibration", ["none", "sigmoid"])
def test_columns_that_others_determine_are_named(calibration: str) -> None:
    cohort = mixed_cohort()
    twice = Feature("age in months", "numeric")
    twofold = replace(cohort, features=(*cohort.features, twice), X=np.column_stack([cohort.X, 12 * cohort.X[:, 0]]))
    lda = Space.full().algorithm("prediction", "lda").default_step()
    configuration = replace(SIMPLE, prediction=lda, calibration=Step.of(calibration))
    notes = cross_validate(configuration, twofold, Plan("auc_roc", folds=3, repeats=1, seed=0)).notes
    assert notes is not None
    assert "age in months: left out of a fold, determined by other columns" in notes


def test_risks_are_those_of_the_first_repeat() -> None:
    once, thrice = (cross_validate(SIMPLE, mixed_cohort(), Plan("brier", 4, n, seed=0)) for n in (1, 3))
    np.testing.assert_array_equal(once.risks, thrice.risks)
