from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.metrics import brier_score_loss, roc_auc_score

from autoprog.cohort import Binary, Cohort, Feature
from autoprog.csmd.problem import SIMPLE
from autoprog.endpoints import make_endpoint
from autoprog.evaluation import Plan, cross_validate
from autoprog.explanation import Explanation, Member, explain
from autoprog.explanation import explanation as explanation_module
from autoprog.explanation.importance import measure_importance
from autoprog.explanation.learning_curve import shares_of
from autoprog.explanation.local_effects import EffectSums
from autoprog.explanation.refits import Change, FoldEnsemble, Refitting
from autoprog.space import Configuration, Step
from tests.cohorts import labelled_visits
from tests.space.event_times.cohorts import real_event_cohort

N = 400
PLAN = Plan("auc_roc", 4, 1, 3)


def number(name: str) -> Feature:
    return Feature(name, "numeric")


def cohort_of(n: int = N, seed: int = 0) -> Cohort:
    """The first number matters most, the second less, the third not; the level matters."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=(n, 3)), rng.integers(0, 3, n)])
    y = (rng.random(n) < expit(1.5 * X[:, 0] - 0.7 * X[:, 1] + np.array([0.0, 0.0, 1.5])[X[:, 3].astype(int)])).astype(
        np.int8
    )
    site = Feature("site", "categorical", levels=("a", "b", "c"))
    features = (number("strong"), number("weak"), number("none"), site)
    return Cohort("simulated", Binary("y", "1", "0"), features, X, y)


@pytest.fixture(scope="module")
def cohort() -> Cohort:
    return cohort_of()


@pytest.fixture(scope="module")
def found(cohort: Cohort) -> Explanation:
    return explain(cohort, PLAN, [Member(SIMPLE, 1.0)], "risk")


def test_inputs_are_ordered_by_what_they_are_worth(found: Explanation) -> None:
    assert found.importance[0].feature == "strong"
    worth = {each.feature: each.horizons[0][1] for each in found.importance}
    assert worth["strong"]["auc_roc"].lower > 0.05
    assert worth["weak"]["auc_roc"].lower > 0
    assert worth["none"]["auc_roc"].lower < 0 < worth["none"]["auc_roc"].upper
    assert worth["strong"]["brier"].lower > 0  # the rise of what should be small


def test_importance_is_the_mean_loss_of_the_shuffles(cohort: Cohort) -> None:
    rng = np.random.default_rng(1)
    q, shuffled = rng.random((N, 1)), rng.random((3, N, 1))
    ((_, worth),) = measure_importance(make_endpoint(cohort), "any", q, shuffled).horizons
    auc = [roc_auc_score(cohort.y, q[:, 0]) - roc_auc_score(cohort.y, other[:, 0]) for other in shuffled]
    brier = [brier_score_loss(cohort.y, other[:, 0]) - brier_score_loss(cohort.y, q[:, 0]) for other in shuffled]
    assert worth["auc_roc"].estimate == pytest.approx(np.mean(auc), abs=1e-12)
    assert worth["brier"].estimate == pytest.approx(np.mean(brier), abs=1e-12)
    assert worth["brier"].lower < worth["brier"].estimate < worth["brier"].upper


def test_the_curve_ends_with_the_searchs_own_cross_validation(cohort: Cohort, found: Explanation) -> None:
    whole = cross_validate(SIMPLE, cohort, PLAN)
    score = make_endpoint(cohort).score(PLAN.metric_for(cohort), whole.risks, 0)
    assert found.learning_curve[-1].estimate == pytest.approx(score.estimate, abs=1e-6)
    assert found.learning_curve[-1].lower == pytest.approx(score.lower, abs=1e-6)
    assert [point.n_patients for point in found.learning_curve] == pytest.approx([75, 150, 225, 300], abs=1)


def test_shares_lie_within_each_other_and_keep_the_outcomes_share(cohort: Cohort) -> None:
    refitting = Refitting(cohort, PLAN, [Member(SIMPLE, 1.0)], "risk")
    train = PLAN.fold(cohort, 0).train
    parts = [set(shares_of(refitting, share)(train).tolist()) for share in (0.25, 0.5, 0.75)]
    assert parts[0] < parts[1] < parts[2] < set(train.tolist())
    for part in parts:
        assert cohort.y[sorted(part)].mean() == pytest.approx(cohort.y[train].mean(), abs=0.02)


def test_shares_are_of_whole_groups() -> None:
    groups = np.repeat(np.arange(N // 4), 4)
    refitting = Refitting(replace(cohort_of(), groups=groups), PLAN, [Member(SIMPLE, 1.0)], "risk")
    train = PLAN.fold(refitting.cohort, 0).train
    kept = shares_of(refitting, 0.5)(train)
    assert 0.4 < len(kept) / len(train) < 0.6
    assert set(groups[kept]).isdisjoint(groups[np.setdiff1d(train, kept)])


class _Formula(FoldEnsemble):
    """An ensemble whose risk is a formula of the inputs."""

    def __init__(self, X: NDArray[np.float64]) -> None:
        object.__setattr__(self, "X", X)

    def predict(self, change: Change) -> NDArray[np.float64]:
        X = change(self.X)  # type: ignore[attr-defined]
        level = np.array([0.0, 0.1, 0.3])[np.nan_to_num(X[:, 1]).astype(int)]
        return 0.3 + 0.1 * np.tanh(X[:, 0]) + level


def effect_of(X: NDArray[np.float64], column: int, feature: Feature):  # noqa: ANN201  an `Effect` or None
    endpoint = make_endpoint(cohort_of())
    sums = EffectSums(feature, column, X[:, column], endpoint)
    for rows in np.array_split(np.arange(len(X)), 3):
        part = _Formula(X[rows])
        sums.add(part, X[rows, column], part.predict(np.copy)[:, None])
    return sums.effect()


def test_effects_of_an_additive_risk_are_its_parts() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=3_000), rng.integers(0, 3, 3_000)])
    X[:, 1] = (X[:, 0] > 0) * 1.0 + (X[:, 0] > 1)  # all levels go with numbers: no combination is invented for numbers
    effect = effect_of(X, 0, number("x"))
    truth = 0.1 * np.tanh(np.array(effect.at))
    given = np.array(effect.change)[:, 0]
    np.testing.assert_allclose(np.diff(given), np.diff(truth), atol=1e-12)
    assert abs(np.mean(np.interp(X[:, 0], effect.at, given))) < 0.002
    assert sum(effect.n) == 3_000
    levels = effect_of(X, 1, Feature("site", "categorical", levels=("a", "b", "c")))
    np.testing.assert_allclose(np.diff(np.array(levels.change)[:, 0]), [0.1, 0.2], atol=1e-12)
    assert levels.n == tuple(int((X[:, 1] == k).sum()) for k in range(3))


def test_missing_values_and_constants_have_no_effect() -> None:
    X = np.column_stack([np.where(np.arange(300) % 3, np.arange(300) / 300, np.nan), np.zeros(300)])
    assert sum(effect_of(X, 0, number("x")).n) == 200
    assert effect_of(X, 1, number("x")) is None


def test_an_input_without_a_value_has_no_effect() -> None:
    X = np.column_stack([np.full(300, np.nan), np.zeros(300)])
    assert effect_of(X, 0, number("x")) is None
    assert effect_of(X[:, ::-1], 1, Feature("site", "categorical", levels=("a", "b", "c"))) is None


def test_a_cohort_with_an_input_that_nobody_has_is_explained() -> None:
    cohort = cohort_of(120)
    cohort.X[:, 1] = np.nan
    found = explain(cohort, replace(PLAN, folds=2), [Member(SIMPLE, 1.0)], "risk")
    assert {each.feature for each in found.effects} == {"strong", "none", "site"}
    assert len(found.importance) == 4


@pytest.mark.parametrize("kept_bytes", [explanation_module._KEPT_BYTES, -1])
def test_effects_are_computed_of_the_most_important_inputs_alone(
    kept_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the ensembles that gave the importance, or, where these are too large, by the same ones fitted again."""
    asked: list[str] = []
    fits: list[tuple[Any, ...]] = []
    fit = Refitting.fit

    class Noted(EffectSums):
        def __init__(self, feature: Feature, *others: Any) -> None:
            asked.append(feature.name)
            super().__init__(feature, *others)

    def noted_fit(*args: Any) -> FoldEnsemble:
        fits.append(args[1:])
        return fit(*args)

    monkeypatch.setattr(explanation_module, "EffectSums", Noted)
    monkeypatch.setattr(explanation_module, "N_EFFECTS", 2)
    monkeypatch.setattr(explanation_module, "_KEPT_BYTES", kept_bytes)
    monkeypatch.setattr(Refitting, "fit", noted_fit)
    cohort, plan = cohort_of(120), replace(PLAN, folds=2)
    found = explain(cohort, plan, [Member(SIMPLE, 1.0)], "risk")
    assert asked == [each.feature for each in found.importance[:2]] == [each.feature for each in found.effects]
    assert fits.count((0,)) == (1 if kept_bytes > 0 else 2)
    column = [feature.name for feature in cohort.features].index(asked[0])
    sums = EffectSums(cohort.features[column], column, cohort.X[:, column], make_endpoint(cohort))
    for k in range(2):
        ensemble = fit(Refitting(cohort, plan, [Member(SIMPLE, 1.0)], "risk"), k)
        sums.add(ensemble, cohort.X[ensemble.test, column], ensemble.predict(np.copy)[:, None])
    assert found.effects[0] == sums.effect()


def test_event_times_have_a_loss_at_every_horizon() -> None:
    cohort = real_event_cohort("gbsg2")
    plan = Plan("uno_c", 3, 1, 0, times=cohort.time_grid)
    cox = Configuration(Step.of("median"), Step.of("none"), Step.of("cox"), Step.of("none"))
    found = explain(cohort, plan, [Member(cox, 1.0)], "risk")
    assert {len(each.horizons) for each in found.importance} == {len(cohort.horizons)}
    assert set(found.importance[0].horizons[0][1]) == {"auc", "brier"}
    assert all(len(row) == len(cohort.horizons) for each in found.effects for row in each.change)
    assert found.learning_curve[-1].n_patients == pytest.approx(2 / 3 * cohort.n_rows, abs=1)


def test_windows_of_visits_are_shuffled_together() -> None:
    cohort = labelled_visits()
    found = explain(cohort, PLAN, [Member(SIMPLE, 1.0)], "risk")
    assert {each.feature for each in found.importance} == {feature.name for feature in cohort.features}
    assert found.effects == ()
    assert found.typical is None
