from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from autoprog.cohort import Cohort
from autoprog.csmd import (
    SIMPLE,
    ArmClassifiers,
    Arms,
    DiagnosticTest,
    SelectionProblem,
    TrainedArms,
    check_predictions,
    make_arms,
    make_policy,
    replay,
    train_arms,
)
from autoprog.csmd.problem import restricted
from autoprog.errors import ArtifactError, InvalidInputError
from autoprog.evaluation import Plan, at_setting, cross_validate, fit_pipeline
from autoprog.model.serialization import pack, unpack
from autoprog.space import Configuration, Space, Step
from tests.cohorts import cleveland_cohort, mixed_cohort

# Summed fees of the three groups.
TESTS = (
    DiagnosticTest("history", 31.97, ("age", "sex", "cp", "trestbps", "chol", "fbs", "restecg")),
    DiagnosticTest("exercise", 364.80, ("thalach", "exang", "oldpeak", "slope")),
    DiagnosticTest("imaging", 203.80, ("ca", "thal")),
)


@cache
def trained() -> TrainedArms:
    return train_arms(cleveland_cohort(), make_arms("cascade", TESTS, 0.0001), folds=5)


def patient(arms: Arms, arm: int, row: int = 0) -> dict[str, object]:
    cohort = cleveland_cohort()
    names = {name for k in arms.arms[arm].tests for name in arms.tests[k].features}
    values: dict[str, object] = {}
    for j, feature in enumerate(cohort.features):
        if feature.name in names:
            x = cohort.X[row, j]
            values[feature.name] = None if np.isnan(x) else feature.levels[int(x)] if feature.levels else float(x)
    return values


def test_every_arm_is_trained_as_a_separate_fit_would_be() -> None:
    result, cohort = trained(), cleveland_cohort()
    assert result.risks.shape == (303, 3)
    np.testing.assert_array_equal(result.truth, cohort.y)
    plan = Plan("brier", 5, 1, 0)
    for k, arm in enumerate(result.classifiers.arms):
        seen = restricted(cohort, frozenset(name for test in arm.tests for name in TESTS[test].features))
        np.testing.assert_array_equal(result.risks[:, k], cross_validate(SIMPLE, seen, plan).risks)
        fitted = fit_pipeline(SIMPLE, seen, np.arange(303), plan, 0)
        np.testing.assert_allclose(
            result.classifiers.classifiers[k].estimator.predict_proba(seen.X), fitted.predict_proba(seen.X), rtol=1e-12
        )


def test_more_tests_predict_better_and_the_table_can_be_replayed() -> None:
    result = trained()
    problem = SelectionProblem(result.classifiers.arms, make_policy("ts"))
    replayed = replay(problem, result.predictions, result.truth, rng=np.random.default_rng(0))
    assert replayed.errors is not None
    assert replayed.errors[0] > replayed.errors[1] > replayed.errors[2]
    assert replayed.weak_dominance is not None


def test_measurements_give_the_predictions_of_all_known_arms() -> None:
    result, cohort = trained(), cleveland_cohort()
    classifiers = result.classifiers
    reading = classifiers.read(1, patient(classifiers.arms, 1))
    assert list(reading.predictions) == ["1", "2"]
    check_predictions(classifiers.arms, 1, reading.predictions)
    for k in (0, 1):
        names = frozenset(name for test in TESTS[: k + 1] for name in test.features)
        risk = classifiers.classifiers[k].estimator.predict_proba(restricted(cohort, names).X[:1])[0, 1]
        assert reading.risks[str(k + 1)] == pytest.approx(risk, rel=1e-12)
        assert reading.predictions[str(k + 1)] == int(risk >= 0.5)
    assert reading.warnings == ()


def test_an_unknown_measurement_is_imputed_or_refused() -> None:
    classifiers = trained().classifiers
    values = {**patient(classifiers.arms, 1), "chol": None, "age": 99}
    warnings = classifiers.read(1, values).warnings
    assert warnings == ("age 99 is outside the training range 29 to 77", "chol was imputed")
    with pytest.raises(InvalidInputError) as error:
        classifiers.read(1, values, impute=False)
    assert [f.pointer for f in error.value.faults] == ["/measurements/chol"]


def test_a_level_unseen_in_training_is_imputed_or_refused() -> None:
    classifiers = trained().classifiers
    values = {**patient(classifiers.arms, 1), "sex": "7"}
    unseen = ("sex '7' was never seen in training and is treated as missing",)
    assert classifiers.read(1, values).warnings == unseen
    assert classifiers.read(1, values).risks == classifiers.read(1, {**values, "sex": None}).risks
    with pytest.raises(InvalidInputError) as error:
        classifiers.read(1, {**values, "chol": None, "age": "old"}, impute=False)
    assert {f.pointer: f.detail for f in error.value.faults} == {
        "/measurements/age": "expected a number or null, got a text that is no number",
        "/measurements/chol": "is unknown, and is not to be imputed",
        "/measurements/sex": "is unknown, and is not to be imputed",
    }


def test_every_fault_of_the_measurements_is_named() -> None:
    classifiers = trained().classifiers
    values = patient(classifiers.arms, 1)
    del values["slope"], values["age"]
    with pytest.raises(InvalidInputError) as error:
        classifiers.read(1, {**values, "chol": "high", "sex": [1], "pulse": 60, "ca": "none"})
    assert {f.pointer for f in error.value.faults} == {
        "/measurements/slope",
        "/measurements/age",
        "/measurements/chol",
        "/measurements/sex",
        "/measurements/pulse",
        "/measurements/ca",
    }


def test_measurements_of_other_tests_are_not_read() -> None:
    classifiers = trained().classifiers
    values = patient(classifiers.arms, 0)
    assert classifiers.read(0, {**values, "thal": "7", "ca": 3}) == classifiers.read(0, values)
    assert classifiers.read(0, {**values, "thal": "9", "ca": 5000}).warnings == ()


def test_classifiers_are_stored_and_read_back() -> None:
    classifiers = trained().classifiers
    content = classifiers.to_bytes()
    again = ArmClassifiers.from_bytes(content)
    assert again.arms.arms == classifiers.arms.arms
    assert again.to_bytes() == content
    values = patient(classifiers.arms, 2)
    assert again.read(2, values) == classifiers.read(2, values)


@pytest.mark.parametrize("content", [b"", b"no archive"])
def test_damaged_classifiers_are_refused(content: bytes) -> None:
    with pytest.raises(ArtifactError):
        ArmClassifiers.from_bytes(content)


def test_a_newer_format_is_refused() -> None:
    files = unpack(trained().classifiers.to_bytes())
    files["manifest.json"] = files["manifest.json"].replace(b'"format": 1', b'"format": 7')
    with pytest.raises(ArtifactError, match="format 7"):
        ArmClassifiers.from_bytes(pack(files, compress=False))


def test_an_arm_without_its_file_is_refused() -> None:
    files = unpack(trained().classifiers.to_bytes())
    del files["arms/2.skops"]
    with pytest.raises(ArtifactError, match="incomplete"):
        ArmClassifiers.from_bytes(pack(files, compress=False))


def test_subsets_and_another_pipeline() -> None:
    """Groups are not split over folds, and any predictor of the space serves."""
    cohort = mixed_cohort()
    groups = {"a": (1.0, ("age", "grade")), "b": (2.0, ("sex",)), "c": (2.5, ("site",))}
    tests = [DiagnosticTest(name, cost, features) for name, (cost, features) in groups.items()]
    tree = Configuration(Step.of("median"), Step.of("none"), Step.of("gaussian_nb"), Step.of("none"))
    result = train_arms(cohort, make_arms("subset", tests, 0.01), tree, folds=3, threshold=0.3)
    assert result.predictions.shape == (200, 7)
    np.testing.assert_array_equal(result.predictions, result.risks >= 0.3)
    reading = result.classifiers.read(6, {"age": 70, "grade": "2", "sex": "male", "site": "b"})
    assert list(reading.predictions) == ["1", "2", "3", "4", "5", "6", "7"]
    seen = result.classifiers.read(0, {"age": 70, "grade": "2"})
    assert list(seen.predictions) == ["1"]
    assert seen.risks["1"] == reading.risks["1"]


def test_classifiers_of_a_learner_with_a_path_have_the_setting_of_their_risks() -> None:
    cohort, tests = cleveland_cohort(), (DiagnosticTest("history", 1.0, ("age", "sex", "cp")),)
    default = Space.full().algorithm("prediction", "xgboost").default_step()
    boosting = Configuration(SIMPLE.imputation, SIMPLE.features, default, SIMPLE.calibration)
    result = train_arms(cohort, make_arms("cascade", tests), boosting, folds=3)
    seen, plan = restricted(cohort, frozenset(tests[0].features)), Plan("brier", 3, 1, 0)
    chosen = cross_validate(boosting, seen, plan).chosen
    assert chosen is not None
    validated = fit_pipeline(at_setting(boosting, seen, chosen.value), seen, np.arange(303), plan, 0)
    deployed = result.classifiers.classifiers[0].estimator.predict_proba(seen.X)
    np.testing.assert_allclose(deployed, validated.predict_proba(seen.X), rtol=1e-12)
    bound = fit_pipeline(boosting, seen, np.arange(303), plan, 0)
    assert np.abs(deployed - bound.predict_proba(seen.X)).max() > 0.01


def test_every_fault_of_the_tests_is_named() -> None:
    tests = [DiagnosticTest("history", 1.0, ("age", "pulse")), DiagnosticTest("nothing", 2.0)]
    with pytest.raises(InvalidInputError) as error:
        train_arms(cleveland_cohort(), make_arms("cascade", tests), folds=1, threshold=1.0)
    assert [f.pointer for f in error.value.faults] == [
        "/tests/0/features/1",
        "/tests/1/features",
        "/threshold",
        "/folds",
    ]


def test_one_patient_of_a_class_is_too_few() -> None:
    cohort = cleveland_cohort()
    y = np.zeros_like(cohort.y)
    y[0] = 1
    few = Cohort("few", cohort.outcome, cohort.features, cohort.X, y)
    with pytest.raises(InvalidInputError, match="more than the 1 patients of the smaller class"):
        train_arms(few, make_arms("cascade", TESTS))
