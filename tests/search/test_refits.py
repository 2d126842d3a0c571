from __future__ import annotations

import numpy as np
import pytest

from autoprog.evaluation import Evaluation, Status
from autoprog.search.clock import Clock
from autoprog.search.refits import Phase, Refit, is_threaded, plan_phases, refit_s, refits_wall_s
from autoprog.space import Configuration, Step

LONG, SHORT, LOGISTIC = Refit(100.0, is_threaded=True), Refit(2.0, is_threaded=True), Refit(20.0)


@pytest.mark.parametrize("folds", [2, 5])
def test_a_refit_is_to_all_patients(folds: int) -> None:
    """A fold that holds out half of the patients takes half as long as a refit, one of five folds four fifths."""
    simple = Configuration(Step.of("none"), Step.of("none"), Step.of("lightgbm"), Step.of("none"))
    scores = (0.8,) * folds * 2  # two repeats
    duration_s = 10.0 * len(scores) * (folds - 1) / folds
    evaluation = Evaluation(0, 0, simple, Status.SUCCEEDED, 0.8, scores, np.zeros(3), duration_s=duration_s)
    assert refit_s(evaluation, folds) == pytest.approx(10.0)
    assert Refit.of(evaluation, folds) == Refit(pytest.approx(10.0), is_threaded=True)


def test_boosters_of_one_library_use_threads() -> None:
    threaded = [
        name
        for name in ("lightgbm", "stochastic_boosting", "xgboost", "logistic_regression", "fine_gray")
        if is_threaded(Configuration(Step.of("none"), Step.of("none"), Step.of(name), Step.of("none")))
    ]
    assert threaded == ["lightgbm", "stochastic_boosting"]


def test_what_would_leave_slots_idle_runs_alone_on_all_threads() -> None:
    assert plan_phases([LOGISTIC, LONG, SHORT], 2, 2) == [Phase((1,), 2), Phase((0, 2), 1)]
    assert plan_phases([LONG, LOGISTIC, Refit(60.0, is_threaded=True)], 2, 2) == [
        Phase((0,), 2),
        Phase((2,), 2),
        Phase((1,), 1),
    ]
    assert refits_wall_s([LOGISTIC, LONG, SHORT], 2, 2) == pytest.approx(100.0 / 1.7 + 20.0)


@pytest.mark.parametrize("refits", [[LOGISTIC, SHORT], [SHORT], [LONG, LONG, LONG], [Refit(100.0), SHORT], []])
def test_all_else_runs_at_the_same_time(refits: list[Refit]) -> None:
    """Short refits, such as have company that takes as long, and such as cannot use threads."""
    expected = [Phase(tuple(range(len(refits))), 1)] if refits else []
    assert plan_phases(refits, 2, 2) == expected
    assert plan_phases(refits, 1, 1) == expected


def test_three_alike_share_four_slots() -> None:
    assert plan_phases([LONG] * 3, 4, 4)[0].threads == 4
    assert plan_phases([LONG] * 8, 4, 4) == [Phase(tuple(range(8)), 1)]
    assert refits_wall_s([LOGISTIC] * 8, 4, 4) == 40.0
    assert refits_wall_s([], 4, 4) == 0.0


def test_where_others_compute_every_refit_has_one_thread() -> None:
    assert plan_phases([LOGISTIC, LONG, SHORT], 2, 1) == [Phase((0, 1, 2), 1)]
    assert refits_wall_s([LOGISTIC, LONG, SHORT], 2, 1) == 100.0
    clock = Clock(300.0, 0.0, slots=2, n_patients=300)
    assert clock.threads == 2
    clock.keep_pace(3.0)
    assert clock.threads == 1
