from __future__ import annotations

from autoprog.csmd import BedsideState, DiagnosticTest, bedside_state, make_arms

TESTS = [
    DiagnosticTest("exam", 30.0, ("age", "pulse")),
    DiagnosticTest("blood", 0.1, ("chol",)),
    DiagnosticTest("scan", 0.2, ("ca", "thal")),
]


def test_a_cascade_is_ordered_as_given_and_paid_when_begun() -> None:
    arms = make_arms("cascade", TESTS)
    assert bedside_state(arms, 2, []) == BedsideState((), "exam", 0.0, 30.3)
    assert bedside_state(arms, 2, ["age"]) == BedsideState((), "exam", 30.0, 0.3)
    assert bedside_state(arms, 2, ["age", "pulse"]) == BedsideState(("exam",), "blood", 30.0, 0.3)
    done = bedside_state(arms, 2, ["age", "pulse", "chol", "ca", "thal"])
    assert done == BedsideState(("exam", "blood", "scan"), None, 30.3, 0.0)
    assert done.complete


def test_it_stops_when_the_arm_is_complete() -> None:
    arms = make_arms("cascade", TESTS)
    state = bedside_state(arms, 1, ["age", "pulse", "chol"])
    assert state.complete
    assert state.cost == 30.1


def test_subsets_begin_with_the_cheapest_test() -> None:
    arms = make_arms("subset", TESTS)
    full = len(arms) - 1
    assert bedside_state(arms, full, []).next_test == "blood"
    assert bedside_state(arms, full, ["chol"]).next_test == "scan"
    assert bedside_state(arms, full, ["chol", "thal"]) == BedsideState(("blood",), "scan", 0.3, 30.0)
    assert bedside_state(arms, full, ["chol", "thal", "ca"]).next_test == "exam"


def test_what_comes_out_of_turn_counts_and_other_tests_do_not() -> None:
    arms = make_arms("cascade", TESTS)
    state = bedside_state(arms, 1, ["chol", "ca"])
    assert state == BedsideState(("blood",), "exam", 0.1, 30.0)
