"""The metrics that a search optimises: their ranges, their directions and the range of thresholds."""

from __future__ import annotations

import numpy as np
import pytest

from autoprog.evaluation import Plan, cross_validate, make_folds
from autoprog.performance import METRICS, THRESHOLDS, make_metric, net_benefit
from autoprog.space import Configuration, Step
from tests.cohorts import cleveland_cohort

EXTREMES = {
    "right and certain": (np.array([0, 1, 0, 1]), np.array([0.0, 1.0, 0.0, 1.0])),
    "wrong and certain": (np.array([0, 1, 0, 1]), np.array([1.0, 0.0, 1.0, 0.0])),
    "rare and wrong": (np.array([1] + [0] * 999), np.array([0.0] + [1.0] * 999)),
    "common and right": (np.array([0] + [1] * 999), np.array([0.0] + [1.0] * 999)),
}


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("thresholds", [None, (0.01, 0.9), (0.5, 0.5)])
def test_extremes_stay_in_the_range(name: str, thresholds: tuple[float, float] | None) -> None:
    metric = make_metric(name, thresholds)
    assert metric.lower < metric.upper
    assert metric.reference
    for y, p in EXTREMES.values():
        assert metric.lower <= metric.score(y, p) <= metric.upper


@pytest.mark.parametrize("name", METRICS)
def test_the_right_risks_are_better_than_the_wrong_ones(name: str) -> None:
    metric = METRICS[name]
    right, wrong = (metric.gain(metric.score(*EXTREMES[key])) for key in ("right and certain", "wrong and certain"))
    assert right > wrong


@pytest.mark.parametrize("name", METRICS)
def test_ranks_only_says_whether_a_metric_sees_more_than_the_order(name: str) -> None:
    rng = np.random.default_rng(0)
    y, p = (rng.random(200) < 0.3).astype(int), rng.random(200)
    same = METRICS[name].score(y, p) == pytest.approx(METRICS[name].score(y, p**3), abs=1e-12)
    assert same == METRICS[name].ranks_only


def test_net_benefit_is_over_the_thresholds_that_were_asked_for() -> None:
    rng = np.random.default_rng(1)
    y, p = (rng.random(200) < 0.3).astype(int), rng.random(200)
    single = make_metric("net_benefit", (0.4, 0.4))
    assert single.score(y, p) == pytest.approx(net_benefit(y, p, np.array([0.4]))[0], abs=1e-15)
    assert make_metric("net_benefit").thresholds == THRESHOLDS
    assert make_metric("net_benefit", (0.1, 0.3)).score(y, p) != METRICS["net_benefit"].score(y, p)


def test_cross_validation_scores_over_the_plans_thresholds() -> None:
    cohort = cleveland_cohort()
    simple = Configuration(Step("median"), Step("none"), Step("logistic_regression"), Step("none"))
    found = cross_validate(simple, cohort, Plan("net_benefit", folds=4, repeats=1, seed=0, thresholds=(0.3, 0.6)))
    t = np.linspace(0.3, 0.6, 20_001)
    for fold, score in zip(make_folds(cohort, 4, 1, 0)[0], found.fold_scores, strict=True):
        y, p = cohort.y[fold.test], found.risks[fold.test].astype(float)
        assert score == pytest.approx(net_benefit(y, p, t).mean(), abs=1e-4)


def test_the_other_metrics_ignore_thresholds() -> None:
    assert make_metric("brier", (0.1, 0.3)) is METRICS["brier"]


@pytest.mark.parametrize("thresholds", [(0.0, 0.2), (0.3, 0.2), (0.2, 1.0), (float("nan"), 0.2)])
def test_a_range_that_is_none_is_refused(thresholds: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="0 < low <= high < 1"):
        make_metric("net_benefit", thresholds)


def test_an_unknown_metric_is_refused() -> None:
    with pytest.raises(KeyError, match="accuracy"):
        make_metric("accuracy")
