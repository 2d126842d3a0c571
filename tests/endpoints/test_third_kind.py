"""A kind of outcome that is defined in one file of the tests is scored, weighed, measured, delivered and predicted."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from autoprog.cohort import Cohort, Feature
from autoprog.endpoints import make_endpoint
from autoprog.ensemble import WEIGHING_RULES, Candidates
from autoprog.errors import InvalidInputError
from autoprog.evaluation import (
    Evaluation,
    History,
    Plan,
    Status,
    cross_validate,
    fit_pipeline,
)
from autoprog.interpreter import explain, make_strata
from autoprog.model import Member, ModelMetadata, PrognosticModel, dump_estimator
from autoprog.model.external_validation import external_validation
from autoprog.model.updating import update_model
from autoprog.performance import METRICS
from autoprog.search.delivery.assessment import Choice, FittedEnsemble, ensemble_document
from autoprog.search.planning import plan_search
from autoprog.search.settings import SearchSettings
from autoprog.space import Configuration, Space, Step
from tests.endpoints.graded import BRIER, Graded, GradedEndpoint, make_metric, simulate

FEATURES = tuple(Feature(f"x{j}", "numeric", minimum=-3.0, maximum=3.0) for j in range(3))
# Of the learners some take two classes alone.
CONFIGURATIONS = [
    Configuration(Step("median"), Step("none"), Space.full().algorithm("prediction", name).default_step(), Step("none"))
    for name in ("decision_tree", "random_forest")
]
PLAN = Plan(BRIER, 3, 1, 0)


@pytest.fixture(autouse=True)
def _metric(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METRICS, BRIER, make_metric(2))


def cohort(seed: int = 0) -> Cohort:
    X, y = simulate(400, seed)
    return Cohort("graded", Graded("grade", 2), FEATURES, X, y)


def weigh(patients: Cohort) -> tuple[History, FittedEnsemble]:
    evaluations = []
    for number, configuration in enumerate(CONFIGURATIONS):
        found = cross_validate(configuration, patients, PLAN)
        evaluations.append(
            Evaluation(number, 0, configuration, Status.SUCCEEDED, found.score, found.fold_scores, found.risks)
        )
    history = History(PLAN.metric_for(patients), tuple(evaluations))
    endpoint, rule = make_endpoint(patients), WEIGHING_RULES["pseudo_bma"]
    candidates = Candidates(history, None, endpoint)
    ensemble = rule.weigh(candidates, np.random.default_rng(0))
    return history, FittedEnsemble(ensemble, candidates, Choice(rule), endpoint, PLAN)


def deliver(patients: Cohort) -> PrognosticModel:
    _, fitted = weigh(patients)
    recalibration = fitted.endpoint.fit_recalibration(fitted.averaged)
    members = tuple(
        Member(m.weight, dump_estimator(fit_pipeline(m.configuration, patients, np.arange(400), PLAN, 0)))
        for m in fitted.ensemble.members
    )
    risks = recalibration.apply(fitted.averaged)
    rules = explain(patients, risks, make_strata(risks), 0, observed=fitted.endpoint.observed(0))
    return PrognosticModel(FEATURES, patients.outcome, members, (rules,), ModelMetadata.of(patients), recalibration)


def test_the_endpoint_is_the_registered_one() -> None:
    assert isinstance(make_endpoint(cohort()), GradedEndpoint)


def test_a_search_of_it_is_planned_with_its_metric() -> None:
    settings, _ = plan_search(SearchSettings(), cohort())
    assert settings.metric == BRIER
    with pytest.raises(InvalidInputError, match="does not measure grades"):
        plan_search(SearchSettings(metric="auc_roc"), cohort())


def test_pipelines_learn_all_grades_and_are_scored_by_the_worst() -> None:
    patients = cohort()
    history, _ = weigh(patients)
    constant = np.mean(((patients.y == 2) - np.mean(patients.y == 2)) ** 2)
    for evaluation in history.evaluations:
        assert evaluation.score is not None
        assert evaluation.score < 0.8 * constant
    pipeline = fit_pipeline(CONFIGURATIONS[0], patients, np.arange(400), PLAN, 0)
    assert pipeline.predict_proba(patients.X).shape == (400, 3)


def test_its_ensemble_is_weighed_and_measured() -> None:
    patients = cohort()
    history, fitted = weigh(patients)
    document = ensemble_document(fitted, seed=0, subgroups=[])
    assert sum(m["weight"] for m in document["members"]) == pytest.approx(1.0)
    area = roc_auc_score(patients.y == 2, fitted.averaged)
    assert document["performance"]["auc_roc"] == pytest.approx(area, abs=0.03)
    assert document["baseline"]["score"]["estimate"] == pytest.approx(history.evaluations[0].score, rel=0.1)


def test_its_model_predicts_patients_and_is_validated_and_updated() -> None:
    model, others = deliver(cohort()), cohort(seed=1)
    assert roc_auc_score(others.y == 2, model.risks(others.X)) > 0.8
    (patient,) = model.predict([{"x0": 2.0, "x1": 0.0, "x2": 0.0}])
    assert patient.risk is not None
    assert patient.risk > 0.5
    assert patient.horizons == ()
    found = external_validation(model, others, (0.1, 0.3), subgroups=())
    assert found["n_events"] == np.sum(others.y == 2)
    moved = update_model(model, others, "intercept")
    assert moved.risks(others.X).mean() == pytest.approx(np.mean(others.y == 2), abs=0.01)
    with pytest.raises(ValueError, match="grades have no time"):
        model.risks_until(others.X, [1.0])
