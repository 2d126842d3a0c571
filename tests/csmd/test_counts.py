from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from autoprog.csmd import (
    Counts,
    SelectionProblem,
    ThompsonSampling,
    check_predictions,
    is_reversal,
    record_play,
)
from autoprog.errors import ArtifactError, InvalidInputError
from tests.csmd.naive import cascade, stream, subsets


def test_the_order_of_feedback_does_not_matter() -> None:
    arms = subsets([0.1, 0.2, 0.3])
    problem = SelectionProblem(arms, ThompsonSampling())
    Y, _ = stream(7, 40, np.random.default_rng(0))
    rng = np.random.default_rng(1)
    rows = [(arm, Y[t, arms.revealed(arm)]) for t, arm in enumerate(rng.integers(0, 7, 40).tolist())]
    one = problem.update_many(problem.empty(), rows)
    other = problem.update_many(problem.update_many(problem.empty(), rows[:-21:-1]), rows[:20])
    for name in ("D", "N", "feedback", "chains", "reversals"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_counts_are_never_changed() -> None:
    arms = cascade([1.0, 1.0])
    problem = SelectionProblem(arms, ThompsonSampling())
    before = problem.empty()
    after = record_play(problem.update(before, 1, np.array([0, 1])), 1)
    assert (before.D.sum(), before.N.sum(), before.rounds, before.feedback.sum()) == (0, 0, 0, 0)
    assert (after.D.sum(), after.N.sum(), after.rounds, after.feedback.tolist()) == (1, 1, 1, [0, 1])


def test_the_first_arm_of_a_cascade_teaches_nothing() -> None:
    arms = cascade([1.0, 1.0, 1.0])
    problem = SelectionProblem(arms, ThompsonSampling())
    counts = problem.update(problem.empty(), 0, np.array([1]))
    assert counts.N.sum() == 0
    assert counts.feedback.tolist() == [1, 0, 0]


@pytest.mark.parametrize("arms", [cascade([1.0, 2.0, 3.0]), subsets([1.0, 2.0, 3.0])])
def test_a_snapshot_is_read_back(arms) -> None:  # noqa: ANN001
    problem = SelectionProblem(arms, ThompsonSampling())
    counts = record_play(problem.update(problem.empty(), len(arms) - 1, np.arange(len(arms)) % 2), len(arms) - 1)
    again = Counts.from_bytes(counts.to_bytes())
    for name in ("D", "N", "plays", "feedback", "chains", "reversals"):
        np.testing.assert_array_equal(getattr(again, name), getattr(counts, name))
    assert again.to_bytes() == counts.to_bytes()


@pytest.mark.parametrize("content", [b"", b"no snapshot", b"PK\x03\x04broken"])
def test_a_damaged_snapshot_is_refused(content: bytes) -> None:
    with pytest.raises(ArtifactError):
        Counts.from_bytes(content)


def test_a_problem_of_ten_tests_is_small() -> None:
    arms = subsets([float(k + 1) for k in range(10)])
    problem = SelectionProblem(arms, ThompsonSampling())
    counts = problem.update(problem.empty(), 1022, np.zeros(1023, dtype=np.int8))
    i, j = arms.pairs
    assert counts.nbytes + i.nbytes + j.nbytes < 10e6


def test_reversals_are_changes_to_and_fro() -> None:
    """In a cascade: more than one change along the arms."""
    arms = cascade([1.0] * 5)
    for code in range(32):
        outputs = np.array([code >> k & 1 for k in range(5)])
        changes = sum(a != b for a, b in pairwise(outputs))
        assert is_reversal(arms, 4, outputs) == (changes > 1)


def test_reversals_of_subsets_are_what_no_truth_explains() -> None:
    """Strong dominance with truth y: wherever an arm is right, every superset is; tried for both truths."""
    arms = subsets([1.0, 2.0, 4.0])
    sets = [set(arm.tests) for arm in arms]
    for code in range(2**7):
        outputs = np.array([code >> k & 1 for k in range(7)])
        explained = any(
            all(outputs[b] == y for a in range(7) for b in range(7) if sets[a] < sets[b] and outputs[a] == y)
            for y in (0, 1)
        )
        assert is_reversal(arms, 6, outputs) == (not explained)


def test_feedback_must_be_complete_and_binary() -> None:
    arms = cascade([1.0, 1.0, 1.0, 1.0])
    np.testing.assert_array_equal(check_predictions(arms, 2, {"3": 1, "1": 0, "2": True}), [0, 1, 1])
    with pytest.raises(InvalidInputError) as error:
        check_predictions(arms, 2, {"1": 2, "2": "1", "4": 0, "9": 1})
    assert {f.pointer: f.detail for f in error.value.faults} == {
        "/predictions/3": "missing: the tests of arm 3 make the output of this arm known",
        "/predictions/1": "must be 0 or 1",
        "/predictions/2": "must be 0 or 1",
        "/predictions/4": "the tests of arm 3 do not make the output of this arm known",
        "/predictions/9": "there is no such arm; they are 1 to 4",
    }


@pytest.mark.parametrize("value", [None, 0.5, float("nan"), [1], {"a": 1}, -1])
def test_values_other_than_0_and_1_are_refused(value: object) -> None:
    with pytest.raises(InvalidInputError):
        check_predictions(cascade([1.0]), 0, {"1": value})
