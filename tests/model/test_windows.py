"""Models of visits whose members look back less far than their features describe."""

from __future__ import annotations

import dataclasses
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from autoprog.cohort import Binary, Cohort, Feature, Visits, WindowSchema, windowed
from autoprog.cohort.visits import VisitTable
from autoprog.interpreter import Condition, Prior, PriorRule, explain, make_strata
from autoprog.model import Member, ModelMetadata, PrognosticModel, dump_estimator, external_validation, update_model
from autoprog.model.external_validation import other_patients
from autoprog.model.patient_risk import WideningValue, _widening
from autoprog.model.prediction import EnsemblePrediction
from autoprog.space import Configuration, Step, TableShape, build_pipeline
from autoprog.validation import FeatureDistribution

FAR = 3
HIGH = Condition("bili (last)", ">=", 2.0)
PATIENT = {"visits": [{"day": 0, "bili": 3.0, "age": 50}, {"day": 1, "bili": None, "age": 50}]}
"""Bilirubin was measured at the visit before the last one."""


@cache
def cohort() -> Cohort:
    """200 patients with three visits each; bilirubin is measured at the first visit and at half of the others."""
    rng = np.random.default_rng(0)
    patient, time = np.repeat(np.arange(200), FAR), np.tile(np.arange(FAR, dtype=float), 200)
    bili, age = rng.uniform(0.5, 4, 600), np.repeat(rng.normal(60, 10, 200).round(), FAR)
    y = (rng.random(600) < np.where(bili > 2, 0.6, 0.2)).astype(np.int8)
    bili[(time > 0) & (rng.random(600) < 0.5)] = np.nan
    features = (Feature("bili", "numeric"), Feature("age", "numeric"))
    outcome = Visits("patient", "day", 1.0, Binary("y", "1", "0"))
    return Cohort("visits", outcome, features, np.column_stack([bili, age]), y, visits=VisitTable(patient, time))


@cache
def model() -> PrognosticModel:
    """Logistic regression on the present visit, described by windows of three."""
    near, far = windowed(cohort(), 1), windowed(cohort(), FAR)
    configuration = Configuration(Step("median"), Step("none"), Step("logistic_regression"), Step("none"))
    pipeline = build_pipeline(configuration, near.features, TableShape.of(near, 5), 0).fit(near.X, near.y)
    p = pipeline.predict_proba(near.X)[:, 1]
    prior = PriorRule((HIGH,), "high", Prior(0.5, 10))
    return PrognosticModel(
        far.features,
        far.outcome,
        (Member(1.0, dump_estimator(pipeline), 1),),
        (explain(far, p, make_strata(p), prior_rules=[prior]),),
        ModelMetadata.of(far),
        windows=WindowSchema.of(cohort()),
        distribution=FeatureDistribution.fit(far.features, far.X),
        window=FAR,
    )


def test_rules_are_matched_in_the_window_that_they_were_mined_in() -> None:
    (answer,) = model().predict([PATIENT])
    of_high = [k for k, rule in enumerate(model().rule_sets[0].rules) if rule.conditions == (HIGH,)]
    assert set(of_high) <= set(answer.rules)
    assert of_high


def test_what_only_a_member_s_shorter_window_lacks_is_not_drawn() -> None:
    (answer,) = model().predict([PATIENT])
    as_learnt = dataclasses.replace(model(), distribution=None)
    assert answer.risk == as_learnt.predict([PATIENT])[0].risk
    assert answer.warnings == ("bili was imputed",)  # as the member did


def test_a_missing_value_is_that_of_the_feature_whose_name_is_longer() -> None:
    names = ("glucose", "glucose (fasting)")
    schema = WindowSchema(tuple(Feature(name, "numeric") for name in names), (True, True))
    columns = [feature.name for feature in schema.windowed]
    of_visits: Any = SimpleNamespace(features=schema.windowed, windows=schema, inputs=schema.features)
    for name in names:
        widening = np.where(np.array(columns) == f"{name} (last)", 0.5, 0.0)[None]
        answer = EnsemblePrediction(np.zeros_like(widening), np.zeros(1), widening=widening)
        assert _widening(of_visits, answer) == [WideningValue(name, 0.5)]


def test_other_patients_are_described_in_the_model_s_window() -> None:
    others = other_patients(model(), cohort(), [])
    np.testing.assert_array_equal(others.windowed, windowed(cohort(), FAR).X)
    assert external_validation(model(), cohort(), (0.1, 0.4))["n_rows"] == 600
    moved = update_model(model(), cohort(), "intercept")
    (rule,) = [rule for rule in moved.rule_sets[0].rules if rule.conditions == (HIGH,)]
    (former,) = [rule for rule in model().rule_sets[0].rules if rule.conditions == (HIGH,)]
    assert rule.support == former.support


def test_the_file_keeps_the_window_and_earlier_ones_go_without() -> None:
    assert PrognosticModel.from_bytes(model().to_bytes()).window == FAR
    earlier = PrognosticModel.from_bytes(dataclasses.replace(model(), window=None).to_bytes())
    assert earlier.window_lengths == (1,)
    assert model().window_lengths == (1, FAR)
    assert 0 < (earlier.predict([PATIENT])[0].risk or 0) < 1
