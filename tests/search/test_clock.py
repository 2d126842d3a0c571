from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from autoprog.evaluation import Evaluation, History, Plan, Status
from autoprog.performance import METRICS, ScoringContext, make_event_metric
from autoprog.search.clock import Clock
from autoprog.search.evaluation_stream import EvaluationStream
from autoprog.search.ports import CohortRef
from autoprog.search.refits import Refit, refit_s
from autoprog.space import Configuration, Step
from autoprog.survival import StepFunction
from autoprog.work import CallLimits
from tests.cohorts import cleveland_cohort

SIMPLE = Configuration(Step.of("median"), Step.of("none"), Step.of("logistic_regression"), Step.of("none"))


def history(*seconds: float) -> History:
    """Five folds each; the first is the best."""
    evaluations = [
        Evaluation(i, 0, SIMPLE, Status.SUCCEEDED, 0.9 - i / 100, (0.9,) * 5, np.zeros(3), duration_s=s, n_patients=300)
        for i, s in enumerate(seconds)
    ]
    return History(METRICS["auc_roc"], tuple(evaluations))


def refits(*seconds: float) -> list[Refit]:
    return [Refit(s) for s in seconds]


def test_the_shortest_budget_leaves_half_for_evaluations() -> None:
    clock = Clock(1.0, 0.0, slots=2, n_patients=300)
    clock.expect(history(50.0, 40.0))
    assert not clock.evaluations_end()
    assert Clock(1.0, 0.5, slots=2, n_patients=300).evaluations_end()
    assert Clock(1.0, 1.5, slots=2, n_patients=300).remaining_s() == pytest.approx(-0.5, abs=0.1)


def test_a_busy_machine_has_two_thirds_for_the_delivery() -> None:
    """2 s of computing take 10 s at a fifth of the speed, and the budget has 12."""
    clock = Clock(12.0, 4.5, slots=2, n_patients=300)
    clock.expect(history(1.0, 1.0))
    assert not clock.evaluations_end()
    clock.keep_pace(5.0)
    clock.expect(history(1.0, 1.0))
    assert clock.evaluations_end()
    assert clock._delivery_s == pytest.approx(8.0)


def test_a_stream_that_computed_nothing_leaves_the_pace_as_it_is() -> None:
    """Its calls were cut off: a busy machine is no quiet one for that, where a refit has all threads."""
    plan, cohort = Plan("auc_roc", folds=3, repeats=1, seed=0), cleveland_cohort()
    stream = EvaluationStream(ref=CohortRef("", ""), cohort=cohort, plan=plan, limits=CallLimits(1.0, 64))
    clock = Clock(60.0, 0.0, slots=2, n_patients=300)
    clock.keep_pace(5.0)
    clock.keep_pace(stream.pace)
    assert clock.threads == 1


def test_rules_begin_only_where_one_can_be_found() -> None:
    clock = Clock(30.0, 29.2, slots=2, n_patients=300)
    assert clock.rules_end(begun=False)
    assert not clock.rules_end()
    clock.keep_pace(5.0)
    assert clock.rules_end()


def test_dear_members_end_the_evaluations_sooner() -> None:
    quick, dear = (Clock(100.0, 89.0, slots=2, n_patients=300) for _ in range(2))
    quick.expect(history(1.0, 1.0))
    dear.expect(history(40.0, 40.0))
    assert refit_s(history(40.0).evaluations[0], 5) == pytest.approx(10.0)
    assert not quick.evaluations_end()
    assert dear.evaluations_end()


def test_known_members_are_planned_with_in_place_of_the_best() -> None:
    """The refit of 10 s is of no member, the other of .25 s; half a second is for learning from ten refits."""
    clock = Clock(600.0, 0.0, slots=1, n_patients=300)
    explored = history(40.0, 1.0)
    rest = 1.3 + 5e-5 * 300
    clock.expect(explored)
    assert clock._delivery_s > 1.3 * 10
    clock.expect(explored, {1})
    assert clock._delivery_s == pytest.approx(1.3 * (0.7 + 0.25 + rest) + 0.5 + 10 * 0.25)


def test_refits_that_do_not_fit_are_passed_over_for_shorter_ones() -> None:
    clock = Clock(100.0, 87.3, slots=2, n_patients=300)  # a little more than 10 s for refits
    assert clock.affordable(refits(9.0, 5.0, 4.9, 4.0, 0.5)) == [True, True, True, False, True]
    assert clock.affordable(refits(20.0)) == [False]
    assert not clock.refits_end()
    assert Clock(100.0, 99.9, slots=2, n_patients=300).refits_end()


def test_share_spent_leaves_the_delivery_out() -> None:
    clock = Clock(10.0, 4.0, slots=1, n_patients=300)
    assert 0.4 < clock.share_spent() < 0.6


def test_exploring_lasts_as_long_as_the_finalists_leave_it() -> None:
    """Two of 1 s on a tenth of the patients take 10 s on two slots; 2 s and some are for the delivery."""
    explored = history(1.0, 1.0, 0.1)
    for elapsed_s, share, is_due in ((30.0, 0.5, False), (70.0, 0.5, False), (85.0, 0.5, True), (85.0, 0.95, False)):
        clock = Clock(100.0, elapsed_s, slots=2, n_patients=3000)
        assert clock.finals_are_due(explored, 2, share=share, margin=1.5) is is_due
    large = Clock(100.0, 60.0, slots=2, n_patients=300_000)  # a thousand seconds: half of the time is for exploring
    assert large.finals_are_due(explored, 2, share=0.5, margin=1.5)
    assert not Clock(100.0, 20.0, slots=2, n_patients=300_000).finals_are_due(explored, 2, share=0.5, margin=1.5)


def test_the_correction_of_event_times_grows_with_pipelines_and_patients() -> None:
    follow_up = ScoringContext((1.0, 2.0), (2.0,), 1, StepFunction(np.zeros(0), np.zeros(0), 1.0))
    evaluations = tuple(replace(e, n_patients=2000) for e in history(*[0.01] * 20))
    expected = {"uno_c": 5e-6, "integrated_brier": 1.5e-5}
    for metric, each in expected.items():
        clock = Clock(6000.0, 0.0, slots=2, n_patients=2000)
        clock.expect(History(make_event_metric(metric, follow_up), evaluations))
        assert clock._correction_s == pytest.approx(each * 200 * 2000)


def test_intervals_take_what_is_left_but_no_more_than_a_third_of_the_budget() -> None:
    clock = Clock(90.0, 0.0, slots=2, n_patients=300)
    clock.expect(history(1.0, 1.0))
    assert 29 < clock.intervals_s() <= 29.5  # half a second is for learning from them
    late = Clock(90.0, 80.0, slots=2, n_patients=300)
    late.expect(history(1.0, 1.0))
    assert 7 < late.intervals_s() < 9  # 1.3 s and a margin for what follows
    assert Clock(90.0, 89.5, slots=2, n_patients=300).intervals_s() == 0


def test_time_is_kept_for_refits_that_can_be_paid_for() -> None:
    """Ten of both, 0.25 s each, take two slots 2.5 s, and half a second to learn from; five of 44 s are too much.

    Before the model's own refits each child loads what writes them. The correction is computed while the slots refit.
    """
    cheap, dear = (Clock(600.0, 0.0, slots=2, n_patients=300) for _ in range(2))
    correction = 500 * (2e-3 + 3.2e-8 * 300 * (2 + 10))
    writer, rest = 0.7, 1.3 + 5e-5 * 300
    cheap.expect(history(1.0, 1.0))
    dear.expect(history(176.0, 176.0))
    assert cheap._delivery_s == pytest.approx(1.3 * (writer + 0.25 + rest) + 3.0)
    assert dear._delivery_s == pytest.approx(1.3 * (writer + 44 + rest) + correction)


def test_a_correction_ends_when_what_is_left_is_needed_for_the_rest() -> None:
    assert not Clock(30.0, 20.0, slots=2, n_patients=300).correction_ends()
    late = Clock(30.0, 29.5, slots=2, n_patients=300)
    late.expect(history(1.0, 1.0))
    assert late.correction_ends()


def test_what_would_take_too_long_on_all_patients_is_no_finalist() -> None:
    """A tenth of 100 s on two slots is 20 s: on 1,000 of 5,000 patients 4 s, and what was dearer is passed over."""
    explored = tuple(replace(e, n_patients=1000) for e in history(0.5, 9.0, 3.0, 8.0))
    by_score = History(METRICS["auc_roc"], tuple(replace(e, score=0.9 - 0.1 * e.number) for e in explored))
    clock = Clock(100.0, 0.0, slots=2, n_patients=5000)
    assert clock.simple_s(by_score) == 0.5
    assert clock.finalist_s(1000, 0.5) == pytest.approx(4.0)
    assert [e.number for e in clock.finalists(by_score, 8)] == [0, 2]
    assert [e.number for e in clock.finalists(by_score, 1)] == [0]
    dear = replace(by_score, evaluations=by_score.evaluations[1::2])
    assert [e.number for e in clock.finalists(dear, 8)] == [1, 3]  # rather than nothing
    assert [e.number for e in Clock(100.0, 0.0, slots=2, n_patients=1000).finalists(by_score, 8)] == [0, 1, 2, 3]
    assert Clock(1.0, 0.0, slots=1, n_patients=10**6).finalist_s(10, 0.0) == 1.0


def test_workers_that_join_are_planned_with() -> None:
    """50 s are left; four refits of 10 s and their margin take 52 on one slot, 13 on four."""
    clock = Clock(120.0, 70.0, slots=0, n_patients=300)
    explored = history(40.0, 40.0, 40.0, 40.0)
    finalist_s = clock.finalist_s(100, 0.0)
    assert clock.slots == 1
    assert clock.affordable(refits(45.0, 45.0)) == [True, False]
    clock.expect(explored)
    assert clock.evaluations_end()
    clock.count(4)
    clock.expect(explored)
    assert not clock.evaluations_end()
    assert clock.affordable(refits(45.0, 45.0)) == [True, True]
    assert clock.finalist_s(100, 0.0) == pytest.approx(4 * finalist_s)
    clock.count(0)  # nobody answers for the moment
    assert clock.slots == 4


def test_what_takes_little_longer_than_the_simple_pipeline_may_be_a_finalist() -> None:
    """Seconds on a sample that every evaluation takes, for reading and scores, say nothing of all patients."""
    explored = tuple(replace(e, n_patients=100) for e in history(2.0, 5.9, 6.1))
    by_score = History(METRICS["auc_roc"], explored)
    clock = Clock(60.0, 0.0, slots=2, n_patients=5000)
    assert clock.finalist_s(100, 2.0) == 6.0
    assert [e.number for e in clock.finalists(by_score, 8)] == [0, 1]


def test_finalists_that_learn_from_all_patients_come_first_with_competing_causes_too() -> None:
    """Fine and Gray's model is in no space of one cause; it was looked for there, and the search failed."""
    explored = []
    for e, name in zip(history(0.5, 0.5, 0.5), ("survival_forest", "fine_gray", "cox"), strict=True):
        configuration = replace(e.configuration, prediction=Step(name))
        explored.append(replace(e, configuration=configuration, n_patients=2000, score=0.9 - 0.1 * e.number))
    clock = Clock(100.0, 0.0, slots=2, n_patients=10_000)
    found = clock.finalists(History(METRICS["auc_roc"], tuple(explored)), 3)
    assert [e.configuration.prediction.algorithm for e in found] == ["fine_gray", "cox", "survival_forest"]


def test_a_slowed_finalist_and_its_refit_have_the_time_left() -> None:
    """Its fold takes 10 s, the refit 12.5 on one thread; 1.9 s and their margin are for what follows."""
    clock = Clock(100.0, 0.0, slots=1, n_patients=300)
    explored = history(50.0)
    rest = 1.3 * (1.3 + 5e-5 * 300)
    assert clock.slowdown(explored.evaluations[0]) == pytest.approx(0.9 * (100 - 0.7 - rest) / 62.5, rel=1e-3)
    assert Clock(100.0, 99.9, slots=1, n_patients=300).slowdown(explored.evaluations[0]) == 0.0


def test_a_finalist_hastens_that_would_take_a_twentieth_of_the_time() -> None:
    sampled = replace(history(1.0).evaluations[0], n_patients=1_000)
    clock = Clock(100.0, 0.0, slots=2, n_patients=100_000)  # 50 s on two slots
    assert clock.haste(sampled) == pytest.approx(0.1, rel=1e-3)
    assert Clock(100.0, 0.0, slots=2, n_patients=2_000).haste(sampled) == 1.0


def test_members_of_long_refits_share_the_threads() -> None:
    """Of 30 s on two threads, 17.6 are taken; the refit of 9 s then fits beside another."""
    members = [Refit(30.0, is_threaded=True), Refit(9.0), Refit(8.0), Refit(9.0)]
    clock = Clock(100.0, 70.0, slots=2, n_patients=300)
    assert clock.affordable(members) == [True, True, True, False]
    assert Clock(100.0, 81.0, slots=2, n_patients=300).affordable(members) == [False, True, True, False]
