from __future__ import annotations

import json

import numpy as np
import pytest

from autoprog.csmd import (
    KLUCB,
    UCB1,
    Counts,
    DiagnosticTest,
    Policy,
    SelectionProblem,
    ThompsonSampling,
    Ties,
    disagreement_estimates,
    make_arms,
    problem_from_json,
    problem_to_json,
)

TESTS = [DiagnosticTest("a", 1.5, ("x", "y")), DiagnosticTest("b", 0.1), DiagnosticTest("c", 2)]


@pytest.mark.parametrize("trade_off", [0.3, (0.1, 0.2, 0.3)])
@pytest.mark.parametrize("policy", [ThompsonSampling(), KLUCB(), KLUCB(3.0), UCB1(), UCB1(1.5)])
def test_a_problem_comes_back_from_json(trade_off: float | tuple[float, ...], policy: Policy) -> None:
    problem = SelectionProblem(make_arms("cascade", TESTS, trade_off), policy)
    again = problem_from_json(json.loads(json.dumps(problem_to_json(problem))))
    assert (again.arms.arms, again.arms.tests, again.policy) == (problem.arms.arms, problem.arms.tests, problem.policy)


@pytest.mark.parametrize("ties", ["more_tests", "fewer_tests"])
def test_the_order_of_ties_is_kept(ties: Ties) -> None:
    problem = SelectionProblem(make_arms("subset", TESTS, 0.0, ties), ThompsonSampling())
    document = problem_to_json(problem)
    assert problem_from_json(document).arms.arms == problem.arms.arms
    del document["ties"]  # as it was kept before there was a choice
    first = problem_from_json(document).arms
    assert ([arm.tests for arm in first][::6], first.last) == ([(0,), (0, 1, 2)], 6)


def test_a_part_of_the_estimates_is_that_part_of_all() -> None:
    arms = make_arms("subset", TESTS)
    rng = np.random.default_rng(1)
    empty = Counts.empty(arms)
    N = rng.integers(0, 50, arms.n_pairs).astype(np.int32)
    counts = Counts(rng.binomial(N, 0.3).astype(np.int32), N, empty.plays, empty.feedback)
    whole = disagreement_estimates(arms, counts)
    assert len(whole) == arms.n_pairs
    assert disagreement_estimates(arms, counts, 5, 9) == whole[5:9]
    assert disagreement_estimates(arms, counts, 18, 40) == whole[18:]
