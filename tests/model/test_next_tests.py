"""The next test of a patient, where the law of the findings and of the risk is known."""

from __future__ import annotations

import dataclasses
from functools import cache

import numpy as np
import pytest

from autoprog.catalogue import DiagnosticTest
from autoprog.cohort import Binary, Cohort, Feature, WindowSchema
from autoprog.errors import ConflictError, InvalidInputError
from autoprog.interpreter import explain, make_strata
from autoprog.model import MAX_RANKED, Member, ModelMetadata, PrognosticModel, dump_estimator, rank_next_tests
from autoprog.model.prediction import N_DRAWS
from autoprog.space import STAGES, Configuration, Space, TableShape, build_pipeline
from autoprog.validation import FeatureDistribution
from tests.cohorts import event_cohort
from tests.event_models import cox_model

N = 4_000
STRONG, WEAK = 2.0, 0.3
NAMES = ("strong", "twin", "weak", "noise")


@cache
def fitted(n_noise: int = 1, *, of_levels: bool = False) -> PrognosticModel:
    """A logistic regression of independent standard normal findings, but for a twin of the first that adds nothing.

    With `of_levels` the noise is a category.
    """
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 3 + n_noise))
    X[:, 1] = X[:, 0] + 0.01 * rng.normal(size=N)
    y = (rng.random(N) < 1 / (1 + np.exp(-(STRONG * X[:, 0] + WEAK * X[:, 2])))).astype(np.int8)
    features = tuple(Feature(name, "numeric") for name in (*NAMES[:3], *(f"noise{k or ''}" for k in range(n_noise))))
    if of_levels:
        X[:, 3] = X[:, 3] > 0
        features = (*features[:3], Feature("noise", "categorical", levels=("a", "b")))
    cohort = Cohort("planted", Binary("y", "1", "0"), features, X, y)
    space, shape = Space.full(), TableShape.of(cohort, 5)
    names = ("median", "none", "penalised_logistic", "none")
    steps = (space.algorithm(stage, name).default_step() for stage, name in zip(STAGES, names, strict=True))
    pipeline = build_pipeline(Configuration(*steps), features, shape, 0).fit(X, y)
    rules = explain(cohort, np.full(N, 0.5), make_strata(np.full(N, 0.5)))
    members = (Member(1.0, dump_estimator(pipeline)),)
    model = PrognosticModel(features, cohort.outcome, members, (rules,), ModelMetadata.of(cohort))
    return dataclasses.replace(model, distribution=FeatureDistribution.fit(features, X))


def test_expected_change_is_that_of_the_law_that_was_planted() -> None:
    model = fitted()
    patient = {"strong": 0.4, "twin": 0.4, "noise": 0.0}
    (found,) = rank_next_tests(model, patient).tests
    values = np.random.default_rng(1).normal(size=200_000)
    after = 1 / (1 + np.exp(-(STRONG * 0.4 + WEAK * values)))
    assert found.reveals == ("weak",)
    assert found.expected_change == pytest.approx(np.abs(after - after.mean()).mean(), rel=0.15)
    assert (found.lower, found.upper) == pytest.approx(tuple(np.quantile(after, [0.1, 0.9])), abs=0.02)


def test_change_is_as_defined_also_where_other_findings_stay_unknown() -> None:
    model = fitted()
    x = np.array([[np.nan, np.nan, np.nan, 1.0]])
    drawn = model.distribution.completed(x, N_DRAWS)[:, 0]
    found = {each.test: each for each in rank_next_tests(model, {"noise": 1}).tests}
    now = float(model.risks(x)[0])
    for j, name in enumerate(NAMES[:3]):
        after = []
        for value in drawn[:, j]:
            known = x.copy()
            known[0, j] = value
            after.append(float(model.risks(known)[0]))
        assert found[name].expected_change == pytest.approx(np.abs(np.array(after) - now).mean(), abs=1e-12)


def test_what_tells_most_comes_first_and_what_is_known_already_last() -> None:
    model = fitted()
    nothing = rank_next_tests(model, {})
    assert nothing.risk == pytest.approx(0.5, abs=0.03)
    assert {each.test for each in nothing.tests[:2]} == {"strong", "twin"}, "either tells what the other does"
    assert [each.test for each in nothing.tests[2:]] == ["weak", "noise"]
    by_name = {each.test: each for each in rank_next_tests(model, {"twin": 1.0}).tests}
    assert by_name["weak"].expected_change > 2 * by_name["strong"].expected_change
    assert rank_next_tests(model, dict.fromkeys(NAMES, 0.5)).tests == ()


def test_a_finding_with_a_level_that_the_training_patients_lacked_was_done() -> None:
    model = fitted(of_levels=True)
    found = rank_next_tests(model, {"strong": 0.0, "twin": 0.0, "noise": "c"})
    assert [test.reveals for test in found.tests] == [("weak",)]
    found = rank_next_tests(model, {"strong": 0.0, "twin": 0.0, "weak": float("nan"), "noise": None})
    assert {test.reveals for test in found.tests} == {("weak",), ("noise",)}


def test_tests_are_ranked_by_change_per_price_and_reveal_several_findings() -> None:
    tests = [
        DiagnosticTest("both", 30.0, ("strong", "weak", "elsewhere")),
        DiagnosticTest("dear", 100.0, ("twin",)),
        DiagnosticTest("cheap", 1.0, ("weak",)),
        DiagnosticTest("none", 1.0, ("elsewhere",)),
        DiagnosticTest("noise", 0.0),
    ]
    found = rank_next_tests(fitted(), {}, tests).tests
    assert [each.test for each in found] == ["noise", "cheap", "both", "dear"]
    assert [each.price for each in found] == [0, 1, 30, 100]
    assert found[0].change_per_price == np.inf
    assert found[2].reveals == ("strong", "weak")
    assert found[2].expected_change >= found[3].expected_change
    (rest,) = rank_next_tests(fitted(), {"strong": 1, "twin": 1, "noise": 0}, tests[:2]).tests
    assert (rest.test, rest.reveals) == ("both", ("weak",)), "a test that was done in part"


def test_of_many_tests_some_are_left_out_and_counted() -> None:
    found = rank_next_tests(fitted(n_noise=MAX_RANKED), {})
    assert (len(found.tests), found.n_left_out) == (MAX_RANKED, 3)


def test_faults_of_the_patient_and_models_without_a_distribution_are_refused() -> None:
    with pytest.raises(InvalidInputError) as refused:
        rank_next_tests(fitted(), {"strong": "much", "unheard": 1})
    assert {fault.pointer for fault in refused.value.faults} == {"/patient/strong", "/patient/unheard"}
    with pytest.raises(ConflictError, match="earlier version"):
        rank_next_tests(dataclasses.replace(fitted(), distribution=None), {})


def test_event_times_count_at_the_last_horizon_and_visits_are_refused() -> None:
    cohort = event_cohort("mgus2")
    model = cox_model(cohort)
    model = dataclasses.replace(model, distribution=FeatureDistribution.fit(model.features, cohort.X))
    found = rank_next_tests(model, {})
    assert found.risk == model.risks(np.full((1, len(model.features)), np.nan))[0, -1]
    assert found.tests[0].test == "mspike", "the protein from which myeloma is made"
    visits = event_cohort("pbcseq")
    of_visits = cox_model(visits, windows=WindowSchema.of(visits))
    with pytest.raises(ConflictError, match="visits"):
        rank_next_tests(of_visits, {})
