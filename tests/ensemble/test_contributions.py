"""Contributions against their definition, and what they are there for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from autoprog.cohort import Cohort
from autoprog.ensemble import Contributions, contributions
from autoprog.evaluation import EvaluatedPath, Evaluation, FoldResult, History, Plan, Setting, Status
from autoprog.optimizer.observations import with_paths
from autoprog.space import Configuration, Step
from tests.cohorts import cleveland_cohort, event_cohort

Risks = NDArray[np.float32]
COHORT = cleveland_cohort()
PLAN = Plan("auc_roc", folds=5, repeats=1, seed=0)
T = 7


def configuration(alpha: float) -> Configuration:
    return Configuration(Step.of("median"), Step.of("none"), Step.of("ridge", {"alpha": alpha}), Step.of("none"))


def evaluated(number: int, risks: Risks, cohort: Cohort, plan: Plan) -> Evaluation:
    """An evaluation that gave these risks in every repeat."""
    y, metric = cohort.outcomes, plan.metric_for(cohort)
    tests = [plan.fold(cohort, number).test for number in range(plan.n_folds)]
    scores = tuple(metric.score(y[test], risks[test]) for test in tests)
    c = configuration(number + 1.0)
    return Evaluation(number, number // 3, c, Status.SUCCEEDED, float(np.mean(scores)), scores, risks)


def noisy(cohort: Cohort, noise: Sequence[float], seed: int = 0) -> list[Risks]:
    rng = np.random.default_rng(seed)
    y = cohort.y
    return [np.clip(0.5 + 0.2 * (y - 0.5) + s * rng.normal(size=len(y)), 0.01, 0.99).astype(np.float32) for s in noise]


def history_of(risks: list[Risks], cohort: Cohort = COHORT, plan: Plan = PLAN) -> History:
    evaluations = tuple(evaluated(i, r, cohort, plan) for i, r in enumerate(risks))
    return History(plan.metric_for(cohort), evaluations, plan.repeats)


def by_definition(history: History, cohort: Cohort, plan: Plan, new: Risks | None = None) -> NDArray[np.float64]:
    """c, all chosen before any score was seen; with a further pipeline, its c on the first repeat's folds."""
    y, metric, K = cohort.outcomes, plan.metric_for(cohort), plan.folds
    tests = [plan.fold(cohort, number).test for number in range(K)]
    r = [np.asarray(e.risks, dtype=float) for e in history]
    g = np.array([e.fold_scores for e in history])
    e = [np.log(cohort.target.probabilities(p[None], y, plan.times)).sum() for p in r]
    events = np.sum(y["event"] == 1) if cohort.has_times else min(np.sum(y == 0), np.sum(y == 1))
    tau = 8 * (1 + 200 / events)
    v = [np.exp((x - max(e)) / tau) for x in e]

    def mixed(p: NDArray[np.float64], without: int | None) -> list[float]:
        others = [j for j in range(len(r)) if j != without]
        total = sum(v[j] for j in others)
        ensemble = sum(v[j] / total * r[j] for j in others)
        return [metric.score(y[test], ((ensemble + p) / 2)[test]) for test in tests]

    h = np.array([mixed(p, i) for i, p in enumerate(r)])
    slope = np.polyfit(g[:, :K].mean(axis=1), h.mean(axis=1), 1)[0]
    b = min(max(slope, 0.1), 1.0)
    if new is not None:
        return np.asarray(g[:, :K].mean(axis=0) + (np.array(mixed(new, None)) - h.mean(axis=0)) / b)
    first = g[:, :K].mean(axis=0) + (h - h.mean(axis=0)) / b
    moved = (first - g[:, :K]).mean(axis=1, keepdims=True)
    return np.concatenate([first, g[:, K:] + moved], axis=1)


def made(history: History, cohort: Cohort = COHORT, plan: Plan = PLAN, n_opening: int = T) -> Contributions:
    found = contributions(history, cohort, plan, range(n_opening))
    assert found is not None
    return found


@pytest.mark.parametrize("metric", ["auc_roc", "brier", "log_loss"])
@pytest.mark.parametrize("repeats", [1, 2])
def test_contributions_are_those_of_their_definition(metric: str, repeats: int) -> None:
    plan = replace(PLAN, metric=metric, repeats=repeats)
    *risks, new = noisy(COHORT, np.linspace(0.1, 0.4, T + 1))
    history = history_of(risks, plan=plan)
    found = made(history, plan=plan)
    expected = by_definition(history, COHORT, plan)
    np.testing.assert_allclose([e.fold_scores for e in found.revised], expected, rtol=1e-9)
    np.testing.assert_allclose([e.score for e in found.revised], expected.mean(axis=1), rtol=1e-9)
    own = evaluated(T, new, COHORT, plan).fold_scores
    results = [FoldResult(g, new[plan.fold(COHORT, k).test]) for k, g in enumerate(own)]
    first = by_definition(history, COHORT, plan, new)
    moved = np.mean(first - own[: plan.folds])
    np.testing.assert_allclose(found.fold_scores(results), [*first, *(g + moved for g in own[plan.folds :])], rtol=1e-9)
    np.testing.assert_allclose(found.fold_scores(results[:2]), first[:2], rtol=1e-9)


def test_contributions_of_event_times_are_those_of_their_definition() -> None:
    cohort = event_cohort("whas500")
    times = tuple(float(t) for t in np.quantile(cohort.outcomes["time"], [0.2, 0.4, 0.6]))
    plan = Plan("integrated_brier", folds=3, repeats=1, seed=0, times=times)
    rng = np.random.default_rng(0)
    event = cohort.outcomes["event"] == 1
    levels = [
        np.clip(0.3 + 0.3 * event + s * rng.normal(size=len(event)), 0.02, 0.9) for s in np.linspace(0.05, 0.3, 5)
    ]
    risks = [np.outer(x, [0.5, 0.8, 1.0]).astype(np.float32) for x in levels]
    history = history_of(risks, cohort, plan)
    found = made(history, cohort, plan)
    np.testing.assert_allclose([e.fold_scores for e in found.revised], by_definition(history, cohort, plan), rtol=1e-9)


def test_who_errs_elsewhere_is_worth_more_than_a_copy() -> None:
    """Of three alike and one as good alone, whose noise is its own, the last is worth the most."""
    common, own = noisy(COHORT, [0.25, 0.25])
    rng = np.random.default_rng(1)
    alike = [np.clip(common + 0.01 * rng.normal(size=len(common)), 0.01, 0.99).astype(np.float32) for _ in range(3)]
    (poor,) = noisy(COHORT, [1.0], seed=2)
    history = history_of([*alike, own, poor])
    alone = [e.score for e in history]
    assert max(alone[:3]) - 0.02 < alone[3] < max(alone[:3]) + 0.02  # type: ignore[type-var,operator]
    revised = made(history).revised
    assert revised.best() is revised.evaluations[3]
    assert min(revised, key=lambda e: e.score or 0.0) is revised.evaluations[4]


def test_contributions_stay_in_the_unit_of_the_score() -> None:
    history = history_of(noisy(COHORT, np.linspace(0.1, 0.4, T)))
    revised = made(history).revised
    g, c = history.gains(), revised.gains()
    assert c.mean() == pytest.approx(g.mean())
    assert np.polyfit(g, c, 1)[0] == pytest.approx(1)


def test_what_has_no_risks_keeps_its_scores() -> None:
    history = history_of(noisy(COHORT, np.linspace(0.1, 0.4, T)))
    lost = Evaluation(T, 3, configuration(0.5), Status.RACED_OUT, fold_scores=(0.6, 0.55))
    revised = made(replace(history, evaluations=(*history.evaluations, lost))).revised
    assert revised.evaluations[T] is lost
    assert [e.configuration for e in revised][:T] == [e.configuration for e in history]


def test_the_ends_of_a_path_are_on_the_scale_of_contributions() -> None:
    """They keep their distances from the setting that was chosen, whose score is replaced; so does the bound."""
    history = history_of(noisy(COHORT, np.linspace(0.1, 0.4, T)))
    chosen = history.evaluations[2]
    settings = tuple(
        Setting(value, tuple(score + worse for score in chosen.fold_scores))
        for value, worse in ((0.1, -0.05), (3.0, 0.0), (10.0, -0.02))
    )
    along = replace(chosen, path=EvaluatedPath("alpha", 20.0, settings))
    revised = made(replace(history, evaluations=(*history.evaluations[:2], along, *history.evaluations[3:]))).revised
    told = revised.evaluations[2]
    assert told.proposed == along.proposed != told.configuration
    assert told.score != pytest.approx(chosen.score, abs=1e-3)
    low, high = with_paths(revised).evaluations[T:]
    assert low.configuration.step("prediction").parameters == (("alpha", 0.1),)
    for end, worse in ((low, -0.05), (high, -0.02)):
        np.testing.assert_allclose(end.fold_scores, np.array(told.fold_scores) + worse, rtol=1e-12)
        assert end.score == pytest.approx((told.score or 0.0) + worse)


@pytest.mark.parametrize("case", ["equal", "one_certain", "one_admitted"])
def test_degenerate_histories_have_contributions(case: str) -> None:
    risks = noisy(COHORT, [0.2, 0.4])
    if case == "equal":
        risks = [risks[0], risks[0]]
    if case == "one_certain":
        risks[0] = np.where(COHORT.y == 1, 0.99, 0.01).astype(np.float32)
    # The later one is below the opening's median, and has no weight.
    revised = made(history_of(risks), n_opening=1 if case == "one_admitted" else 2).revised
    assert np.isfinite([e.fold_scores for e in revised]).all()
    assert (revised.evaluations[0].score or 0) >= (revised.evaluations[1].score or 0)


def test_one_pipeline_has_nothing_to_stand_beside() -> None:
    assert contributions(history_of(noisy(COHORT, [0.2])), COHORT, PLAN) is None
