from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import combinations
from statistics import mean

import numpy as np
import pytest

from autoprog.cohort import Cohort
from autoprog.csmd import SIMPLE, DiagnosticTest, Frontier, trace_frontier
from autoprog.csmd.problem import restricted
from autoprog.errors import InvalidInputError
from autoprog.evaluation import CrossValidation, Plan, cross_validate
from autoprog.space import Configuration, Step
from tests.cohorts import cleveland_cohort

# The Ontario fees of 1992 by which Turney (1995) costs the Cleveland tests.
FEES = {
    "age": 1.00,
    "sex": 1.00,
    "cp": 1.00,
    "trestbps": 1.00,
    "chol": 7.27,
    "fbs": 5.20,
    "restecg": 15.50,
    "thalach": 102.90,
    "exang": 87.30,
    "oldpeak": 87.30,
    "slope": 87.30,
    "ca": 100.90,
    "thal": 102.90,
}
GROUPS = {
    "history": ("age", "sex", "cp", "trestbps"),
    "blood": ("chol", "fbs"),
    "exercise": ("thalach", "exang", "oldpeak", "slope"),
    "imaging": ("ca", "thal"),
}
TESTS = tuple(DiagnosticTest(name, round(sum(FEES[f] for f in group), 2), group) for name, group in GROUPS.items())
PLAN = Plan("auc_roc", 3, 1, 0)


@cache
def frontier() -> Frontier:
    return trace_frontier(cleveland_cohort(), TESTS, PLAN)


def test_costs_and_scores_equal_separate_fits() -> None:
    points = {frozenset(point.tests): point for point in frontier().points}
    subsets = [s for size in range(1, 5) for s in combinations(TESTS, size)]
    assert len(points) == len(frontier().points) == len(subsets) == 15
    for subset in subsets:
        point = points[frozenset(test.name for test in subset)]
        assert point.cost == pytest.approx(sum(FEES[f] for test in subset for f in test.features))
        seen = restricted(cleveland_cohort(), frozenset(f for test in subset for f in test.features))
        fit = cross_validate(SIMPLE, seen, PLAN)
        assert point.fold_scores == fit.fold_scores
        assert point.score == fit.score


def test_the_frontier_is_what_nothing_as_cheap_beats() -> None:
    result = frontier()
    assert [p.cost for p in result.points] == sorted(p.cost for p in result.points)
    for point in result.points:
        rivals = [p for p in result.points if p is not point and p.cost <= point.cost]
        assert point.on_frontier == all(rival.score < point.score for rival in rivals)
    assert result.frontier[0] is result.points[0]
    scores = [point.score for point in result.frontier]
    assert scores == sorted(scores)
    assert result.searched == "all"


def test_differences_to_all_tests() -> None:
    result = frontier()
    full = next(p for p in result.points if len(p.tests) == 4)
    assert (full.difference, full.standard_error) == (0.0, 0.0)
    point = result.points[0]
    differences = np.array(point.fold_scores) - np.array(full.fold_scores)
    assert point.difference == pytest.approx(mean(differences))
    assert point.standard_error == pytest.approx(np.sqrt(differences.var(ddof=1) * (1 / 3 + 1 / 2)))


def test_without_tests_everybody_has_the_event_rate() -> None:
    assert frontier().without_tests == pytest.approx(0.5)
    brier = trace_frontier(cleveland_cohort(), TESTS[:1], Plan("brier", 3, 1, 0))
    rate = cleveland_cohort().event_rate
    assert brier.without_tests == pytest.approx(rate * (1 - rate), abs=1e-3)
    assert brier.without_tests > brier.points[0].score


def cheap(configuration: Configuration, cohorts: Sequence[Cohort], plan: Plan) -> Iterator[CrossValidation | str]:
    """A stand-in for fits: the score is a function of the features."""
    for cohort in cohorts:
        names = {feature.name for feature in cohort.features}
        value = 0.5 + 0.1 * ("ca" in names) + 0.05 * ("thal" in names) + 0.2 * ("age" in names) - 0.01 * len(names)
        yield CrossValidation((value, value, value), np.zeros(cohort.n_patients, np.float32))


def test_many_tests_are_added_one_by_one_by_gain_for_the_cost() -> None:
    tests = [DiagnosticTest(name, fee, (name,)) for name, fee in FEES.items()]
    result = trace_frontier(cleveland_cohort(), tests, PLAN, evaluate=cheap)
    assert result.searched == "greedy"
    chains = {len(p.tests): p for p in result.frontier}
    assert chains[1].tests == ("age",)
    # .09 for 100.90 is more than .04 for 102.90.
    assert chains[2].tests == ("age", "ca")
    assert chains[3].tests == ("age", "ca", "thal")
    assert set(chains) == {1, 2, 3}
    assert len(result.points) <= 13 * 14 / 2
    assert max(len(p.tests) for p in result.points) == 13


def equal(configuration: Configuration, cohorts: Sequence[Cohort], plan: Plan) -> Iterator[CrossValidation | str]:
    """A stand-in for fits: all score the same."""
    for cohort in cohorts:
        yield CrossValidation((0.7, 0.7, 0.7), np.zeros(cohort.n_patients, np.float32))


def test_of_equal_scores_the_cheapest_is_kept() -> None:
    fees = {"free": (0.0, "ca"), "paid": (1.0, "age"), "dear": (2.0, "sex")}
    tests = [DiagnosticTest(name, cost, (feature,)) for name, (cost, feature) in fees.items()]
    result = trace_frontier(cleveland_cohort(), tests, PLAN, evaluate=equal)
    assert [p.tests for p in result.frontier] == [("free",)]


def test_of_equal_cost_and_score_neither_is_dropped() -> None:
    tests = [DiagnosticTest("a", 1.0, ("ca",)), DiagnosticTest("b", 1.0, ("age",))]
    result = trace_frontier(cleveland_cohort(), tests, PLAN, evaluate=equal)
    assert [p.tests for p in result.frontier] == [("a",), ("b",)]


def test_what_cannot_be_fitted_says_why() -> None:
    """Nothing is imputed, and the learner takes no missing cells: only features without any can be fitted."""
    bare = Configuration(Step.of("none"), Step.of("none"), Step.of("logistic_regression"), Step.of("none"))
    tests = [DiagnosticTest("age", 1.0, ("age",)), DiagnosticTest("imaging", 2.0, ("ca", "thal"))]
    result = trace_frontier(cleveland_cohort(), tests, PLAN, bare)
    assert [(p.tests, p.score is None, p.reason is None) for p in result.points] == [
        (("age",), False, True),
        (("imaging",), True, False),
        (("age", "imaging"), True, False),
    ]
    assert [p.tests for p in result.frontier] == [("age",)]
    assert result.points[0].difference is None


def test_of_losses_the_smaller_is_the_better() -> None:
    brier = trace_frontier(cleveland_cohort(), TESTS[:2], Plan("brier", 3, 1, 0))
    best = min(brier.points, key=lambda p: p.score)
    assert best.on_frontier
    full = next(p for p in brier.points if len(p.tests) == 2)
    for point in brier.points:
        assert point.difference == pytest.approx(full.score - point.score)


def test_every_fault_is_named() -> None:
    tests = [DiagnosticTest("a", -1.0, ("age",)), DiagnosticTest("a", 1.0, ("age", "pulse")), DiagnosticTest("c", 1.0)]
    with pytest.raises(InvalidInputError) as error:
        trace_frontier(cleveland_cohort(), tests, PLAN)
    assert [f.pointer for f in error.value.faults] == [
        "/tests/0/cost",
        "/tests/1/name",
        "/tests/1/features/0",
        "/tests/1/features/1",
        "/tests/2/features",
    ]
    with pytest.raises(InvalidInputError):
        trace_frontier(cleveland_cohort(), [], PLAN)
