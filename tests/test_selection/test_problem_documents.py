from __future__ import annotations

import json

import numpy as np
import pytest

from autoprog.test_selection import (
    Counts,
    DiagnosticTest,
    SelectionProblem,
    disagreement_estimates,
    make_arms,
    make_policy,
    problem_from_json,
    problem_to_json,
)

TESTS = [DiagnosticTest("a", 1.5, ("x", "y")), DiagnosticTest("b", 0.1), DiagnosticTest("c", 2)]


@pytest.mark.parametrize("trade_off", [0.3, (0.1, 0.2, 0.3)])
def test_a_problem_comes_back_from_json(trade_off: float | tuple[float, ...]) -> None:
    problem = SelectionProblem(make_arms("cascade", TESTS, trade_off), make_policy("kl_ucb"))
    again = problem_from_json(json.loads(json.dumps(problem_to_json(problem, "kl_ucb"))))
    assert (again.arms.arms, again.arms.tests, again.policy) == (problem.arms.arms, problem.arms.tests, problem.policy)


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
