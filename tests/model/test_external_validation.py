"""A model among other patients: measured there, and recalibrated to them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss, roc_auc_score

from autoprog.cohort import Cohort
from autoprog.cohort.weights import weigh
from autoprog.errors import InvalidInputError
from autoprog.interpreter import Condition, Prior, PriorRule, explain, make_strata
from autoprog.model import Member, ModelMetadata, PrognosticModel, dump_estimator, external_validation, update_model
from autoprog.model.training_overlap import compare_with_training
from autoprog.performance import compute_calibration
from autoprog.space import STAGES, Configuration, Space, TableShape, build_pipeline
from autoprog.validation import Recalibration
from tests.cohort.test_alignment import LEFT_OUT
from tests.cohorts import cleveland_cohort, event_cohort

RANGE = (0.1, 0.4)
SIMPLE = ("median", "none", "logistic_regression", "none")


def part(rows: np.ndarray) -> Cohort:
    cohort = cleveland_cohort()
    return replace(cohort, X=cohort.X[rows], y=cohort.y[rows])


@cache
def model() -> PrognosticModel:
    """Fitted on every other patient of Cleveland, and recalibrated wrongly."""
    cohort = part(np.arange(0, 303, 2))
    space = Space.full()
    configuration = Configuration(*(space.algorithm(s, n).default_step() for s, n in zip(STAGES, SIMPLE, strict=True)))
    estimator = build_pipeline(configuration, cohort.features, TableShape.of(cohort, 5), 0).fit(cohort.X, cohort.y)
    risks = estimator.predict_proba(cohort.X)[:, 1]
    rules = explain(cohort, risks, make_strata(risks))
    member = Member(1.0, dump_estimator(estimator))
    metadata = ModelMetadata.of(cohort)
    return PrognosticModel(cohort.features, cohort.outcome, (member,), (rules,), metadata, Recalibration(0.7, 1.8))


def others() -> Cohort:
    return part(np.arange(1, 303, 2))


def test_the_report_is_of_the_other_patients() -> None:
    cohort = others()
    p = model().risks(cohort.X)
    document = external_validation(model(), cohort, RANGE)
    assert (document["n_patients"], document["n_events"]) == (151, int(cohort.y.sum()))
    assert document["expected_events"] == pytest.approx(p.sum())
    assert document["performance"]["auc_roc"] == pytest.approx(roc_auc_score(cohort.y, p), abs=1e-12)
    assert document["scores"]["brier"]["estimate"] == pytest.approx(brier_score_loss(cohort.y, p), abs=1e-12)
    for score in document["scores"].values():
        assert score["lower"] < score["estimate"] < score["upper"]
    distribution = document["risk_distribution"]
    assert sum(distribution["with_outcome"]) == cohort.y.sum()
    assert sum(distribution["without_outcome"]) == 151 - cohort.y.sum()
    assert {s["feature"] for s in document["subgroups"]} == {"age", "sex"}


def test_what_differs_in_the_features_is_told() -> None:
    cohort = others()
    X = cohort.X.copy()
    age, chol = (next(j for j, f in enumerate(cohort.features) if f.name == name) for name in ("age", "chol"))
    X[:30, age] += 100
    X[:60, chol] = np.nan
    document = external_validation(model(), replace(cohort, X=X), RANGE)
    shifts = {shift["feature"]: shift for shift in document["features"]}
    assert shifts["age"]["outside"] == pytest.approx(30 / 151, abs=0.02)
    assert shifts["chol"]["missing"] == pytest.approx(60 / 151)
    assert document["warnings"] == [
        f"{shifts['age']['outside']:.0%} of the values of age lie outside 29 to 77",
        "chol is missing in 40%, in training in 0%",
    ]


@pytest.mark.parametrize("method", ["intercept", "intercept_and_slope"])
def test_a_recalibrated_model_is_calibrated_where_it_was_recalibrated(method: str) -> None:
    cohort = others()
    before = model().risks(cohort.X)
    assert abs(compute_calibration(cohort.y, before).intercept.estimate) > 0.3
    moved = update_model(model(), cohort, method)  # type: ignore[arg-type]
    after = moved.risks(cohort.X)
    calibration = compute_calibration(cohort.y, after)
    assert after.mean() == pytest.approx(cohort.y.mean(), abs=1e-6)
    assert calibration.intercept.estimate == pytest.approx(0.0, abs=1e-5)
    assert calibration.slope is not None
    if method == "intercept_and_slope":
        assert calibration.slope.estimate == pytest.approx(1.0, abs=1e-4)
    np.testing.assert_array_equal(np.argsort(before, kind="stable"), np.argsort(after, kind="stable"))
    # What a stratum is stays; what is told of its patients is told of these.
    strata, former = moved.rule_sets[0].strata, model().rule_sets[0].strata
    assert [(s.name, s.lower, s.upper) for s in strata] == [(s.name, s.lower, s.upper) for s in former]
    note = moved.rule_sets[0].note
    assert "by the risks that it gives them, fitted to others and recalibrated to them; " in note
    assert "out-of-fold" not in note
    assert [s.fraction for s in strata] == [np.mean((s.lower <= after) & (after < s.upper)) for s in strata]
    again = PrognosticModel.from_bytes(moved.to_bytes())
    np.testing.assert_array_equal(again.risks(cohort.X), after)


def test_a_slope_that_cannot_be_estimated_is_refused() -> None:
    """In these patients the risks rank the wrong way round; the event rate alone can still be fitted."""
    cohort = others()
    reversed_ = replace(cohort, y=(1 - cohort.y).astype(np.int8))
    with pytest.raises(InvalidInputError, match="no slope above 0 can be estimated"):
        update_model(model(), reversed_, "intercept_and_slope")
    moved = update_model(model(), reversed_, "intercept")
    assert moved.risks(cohort.X).mean() == pytest.approx(reversed_.y.mean())
    with pytest.raises(InvalidInputError, match="no slope above 0 can be estimated"):
        update_model(moved, reversed_, "intercept_and_slope")


def test_a_recalibration_that_is_right_already_changes_nothing() -> None:
    cohort = others()
    once = update_model(model(), cohort, "intercept_and_slope")
    again = update_model(once, cohort, "intercept_and_slope")
    np.testing.assert_allclose(again.risks(cohort.X), once.risks(cohort.X), atol=1e-6)


def test_faults_of_features_outcome_and_subgroups_come_together() -> None:
    cohort = others()
    healthy = np.flatnonzero(cohort.y == 0)[:40]
    lacking = replace(cohort, features=cohort.features[1:], X=cohort.X[healthy][:, 1:], y=np.zeros(40, dtype=np.int8))
    with pytest.raises(InvalidInputError) as caught:
        external_validation(model(), lacking, RANGE, ["site"])
    assert [f.detail for f in caught.value.faults] == [
        f"the cohort has no feature 'age', {LEFT_OUT}",
        "of 40 patients 0 have the outcome; at least 2 must have it, and 2 not",
        "the cohort has no feature 'site'",
    ]
    few = np.concatenate([healthy, np.flatnonzero(cohort.y == 1)[:9]])
    with pytest.raises(InvalidInputError, match="only 9 patients have the outcome; a recalibration takes at least 10"):
        update_model(model(), replace(cohort, X=cohort.X[few], y=cohort.y[few]), "intercept")
    weighted = weigh(cohort.take(few), np.full(len(few), 5))
    with pytest.raises(InvalidInputError, match="only 9 patients have the outcome; a recalibration takes at least 10"):
        update_model(model(), weighted, "intercept")


def test_a_clinician_s_rules_go_with_the_model() -> None:
    prior = Prior(probability=0.8, strength=20.0)
    rule = PriorRule((Condition("age", ">=", 60.0),), "high", prior)
    cohort, before = others(), model()
    risks = before.risks(cohort.X)
    brought = explain(cohort, risks, before.rule_sets[0].strata, prior_rules=[rule])
    moved = update_model(replace(before, rule_sets=(brought,)), cohort, "intercept")
    (kept,) = [r for r in moved.rule_sets[0].rules if r.prior is not None]
    assert (kept.conditions, kept.stratum, kept.prior) == (rule.conditions, "high", prior)


def test_a_model_of_event_times_is_not_measured_as_one_without() -> None:
    timed = event_cohort("veteran")
    with pytest.raises(InvalidInputError, match="takes a cohort of mode classification; this one is of mode survival"):
        external_validation(model(), timed, RANGE)


def test_a_validation_with_the_training_rows_says_so_first() -> None:
    training = part(np.arange(0, 303, 2))
    same = external_validation(model(), training, RANGE, training=[training])
    assert same["is_training_cohort"] is True
    assert same["training_share"] == 1
    assert same["warnings"][0].startswith("100% of the rows are rows that the model was fitted on")
    apart = external_validation(model(), others(), RANGE, training=[training])
    assert (apart["is_training_cohort"], apart["training_share"]) == (False, 0)
    mixed = external_validation(model(), part(np.arange(100)), RANGE, training=[training])
    assert mixed["is_training_cohort"] is True
    assert mixed["training_share"] == 0.5


def test_a_validation_with_weighted_training_rows_says_so() -> None:
    """The copies of weighted patients are not taken for patients who are alike by chance."""
    training = part(np.arange(0, 303, 2))
    weighted = weigh(training, np.full(training.n_rows, 3))
    for cohort in (weighted, training):
        found = compare_with_training(model().metadata, cohort, [weighted])
        assert (found.share, found.is_training) == (1, True)


def test_a_validation_finds_training_rows_in_another_order_coding_and_among_other_columns() -> None:
    training = part(np.arange(0, 303, 2))
    order = np.random.default_rng(0).permutation(training.n_rows)
    features, X = list(training.features[::-1]), training.X[order][:, ::-1].copy()
    j = next(j for j, feature in enumerate(features) if feature.name == "cp")
    features[j] = replace(features[j], levels=features[j].levels[::-1])
    X[:, j] = len(features[j].levels) - 1 - X[:, j]
    shuffled = replace(training, features=tuple(features), X=X, y=training.y[order])
    assert external_validation(model(), shuffled, RANGE, training=[training])["training_share"] == 1


def test_rows_alike_by_chance_are_no_training_rows() -> None:
    rng = np.random.default_rng(0)
    binary = [replace(f, name=f"x{j}", kind="binary", levels=("0", "1")) for j, f in enumerate(others().features[:3])]

    def draw(n: int) -> Cohort:
        X = rng.integers(0, 2, (n, 3)).astype(float)
        return replace(others(), features=tuple(binary), X=X, y=rng.integers(0, 2, n).astype(np.int8))

    found = compare_with_training(ModelMetadata("c", 500, 0.5, {}), draw(200), [draw(500)])
    assert found.share == 1
    assert not found.is_training
    assert found.warnings == ()


def test_without_the_training_rows_the_same_number_of_patients_and_events_is_a_warning() -> None:
    training = part(np.arange(0, 303, 2))
    document = external_validation(model(), training, RANGE)
    assert (document["is_training_cohort"], document["training_share"]) == (False, None)
    assert "if this is the same cohort" in document["warnings"][0]
    assert not any("same cohort" in text for text in external_validation(model(), others(), RANGE)["warnings"])
