"""Boosters on all patients: quicker at first where time is short, then as slow as it allows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from autoprog.evaluation import EvaluatedPath, Evaluation, History, Setting, Status
from autoprog.optimizer import Proposal
from autoprog.performance import METRICS
from autoprog.search.batches import Batches
from autoprog.search.clock import Clock
from autoprog.search.finalists import Finalists, list_to_slow, on_all_patients, slowed, slowest_factor
from autoprog.search.settings import SearchSettings
from autoprog.space import Configuration, Parameter, Step, find_registered


def booster(rate: float = 0.08, trees: int = 200, score: float = 0.8, number: int = 1) -> Evaluation:
    algorithm = find_registered("prediction", "stochastic_boosting")
    values = {h.name: h.default for h in algorithm.hyperparameters} | {"learning_rate": rate, "trees": trees}
    return evaluation(
        "stochastic_boosting", values, EvaluatedPath("trees", 1500, (Setting(trees, (score,)),)), score, number
    )


def evaluation(
    name: str, values: dict[str, Parameter], path: EvaluatedPath | None, score: float = 0.8, number: int = 1
) -> Evaluation:
    configuration = Configuration(Step.of("none"), Step.of("none"), Step.of(name, values), Step.of("none"))
    return Evaluation(
        number, 0, configuration, Status.SUCCEEDED, score, (score,), np.zeros(3), duration_s=1.0, path=path
    )


def rate_and_trees(configuration: Configuration | None) -> tuple[Any, Any]:
    assert configuration is not None
    parameters = dict(configuration.prediction.parameters)
    return parameters["learning_rate"], parameters["trees"]


@pytest.mark.parametrize(
    ("k", "expected"), [(1.0, (0.08, 600)), (5.0, (0.08, 600)), (0.5, (0.16, 300)), (0.1, (0.2, 240))]
)
def test_a_booster_learns_quicker_where_it_would_take_long(k: float, expected: tuple[float, int]) -> None:
    """Three times the trees of the sample, times k; not below k = .4, where the rate is .2."""
    assert rate_and_trees(on_all_patients(booster(), k)) == expected


def test_what_learns_quickly_is_left_as_it_is() -> None:
    assert rate_and_trees(on_all_patients(booster(rate=0.3), 0.1)) == (0.3, 600)
    assert rate_and_trees(on_all_patients(booster(trees=900))) == (0.08, 1500)


def test_other_paths_and_none_are_kept() -> None:
    path = EvaluatedPath("C", 3.0, (Setting(0.1, (0.8,)),))
    linear = evaluation("penalised_logistic", {"C": 0.1, "l1_ratio": 0.0}, path)
    assert dict(on_all_patients(linear, 0.1).prediction.parameters)["C"] == pytest.approx(0.3)
    simple = evaluation("logistic_regression", {}, None)
    assert on_all_patients(simple, 0.1) == simple.configuration
    assert slowest_factor(linear) == slowest_factor(simple) == 1.0
    assert slowed(linear, 4.0) is None


def test_a_booster_is_slowed_within_the_space() -> None:
    """Rate times trees stays, with a quarter more trees allowed; no rate below .02, no more than 1,500 trees."""
    assert rate_and_trees(slowed(booster(), 2.0)) == (0.04, 500)
    assert rate_and_trees(slowed(booster(), 9.0)) == (0.02, 1000)
    assert rate_and_trees(slowed(booster(rate=0.2, trees=500), 9.0)) == (0.0667, 1500)
    assert slowed(booster(), 1.4) is None
    assert slowed(booster(rate=0.02), 9.0) is None


def test_a_booster_is_slowed_within_the_limit_of_an_evaluation() -> None:
    """It took 1 s of the 2 s that the client allows; a slower one would be cut off after them."""
    fast = booster(number=0)
    batches = Batches([Proposal(0, (fast.configuration,), {}, is_final=True)], ())
    final = History(METRICS["auc_roc"], (replace(fast, n_patients=100_000),))

    def slower(**limits: float) -> list[tuple[Any, Any]]:
        settings = SearchSettings.model_validate({"limits": limits, "budget": {"time_s": 7_200}})
        clock = Clock(7_200, 0.0, slots=2, n_patients=100_000, folds=2)
        of_many = Finalists(settings, batches, clock, n_patients=100_000, is_sampled=True)
        return [rate_and_trees(configuration) for configuration in of_many.slower(final)]

    assert slower() == [(0.02, 1000)]
    assert slower(evaluation_s=2.0) == [(0.0444, 450)]
    assert slower(evaluation_s=1.5) == []


def test_boosters_among_the_best_three_are_slowed_the_best_first() -> None:
    simple = evaluation("logistic_regression", {}, None, 0.78, 0)
    ranked = [booster(score=0.79, number=1), booster(score=0.82, number=2), booster(score=0.80, number=3)]
    fast = booster(rate=0.02, score=0.83, number=4)
    history = History(METRICS["auc_roc"], (simple, *ranked, fast))
    assert [e.number for e in list_to_slow(history)] == [2, 3]
    assert list_to_slow(History(METRICS["auc_roc"], (simple,))) == []
