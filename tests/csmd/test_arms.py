from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from autoprog.csmd import DiagnosticTest, make_arms, total_cost
from autoprog.errors import InvalidInputError
from tests.csmd.naive import cascade, known, subsets


def test_a_cascade_adds_one_test_after_another() -> None:
    arms = cascade([4.0, 25.0, 17.0], [0.01, 0.0106, 0.015])
    assert [arm.id for arm in arms] == ["1", "2", "3"]
    assert [arm.tests for arm in arms] == [(0,), (0, 1), (0, 1, 2)]
    assert [arm.cost for arm in arms] == [4.0, 29.0, 46.0]
    np.testing.assert_allclose(arms.C, [0.04, 0.3074, 0.69])


def test_subsets_are_in_order_of_scaled_cost() -> None:
    arms = subsets([3.0, 1.0, 2.0], 0.1)
    assert [arm.tests for arm in arms] == [(1,), (2,), (1, 2), (0,), (0, 1), (0, 2), (0, 1, 2)]
    np.testing.assert_allclose(arms.C, [0.1, 0.2, 0.3, 0.3, 0.4, 0.5, 0.6])


def test_sums_that_are_equal_as_typed_are_ties() -> None:
    """0.1 + 0.2 is not 0.3 in binary."""
    arms = subsets([0.1, 0.2, 0.3])
    assert [arm.tests for arm in arms][2:4] == [(0, 1), (2,)]
    assert arms.C[2] == arms.C[3]


def test_of_equal_costs_more_tests_come_first() -> None:
    """The order of every tie, and the arm that is played where none is possible: the largest of the dearest."""
    free = subsets([3.0, 1.0, 2.0], 0.0)
    assert [arm.tests for arm in free] == [(0, 1, 2), (0, 1), (0, 2), (1, 2), (0,), (1,), (2,)]
    assert free.last == 0
    one_free = subsets([0.0, 1.0])
    assert [arm.tests for arm in one_free] == [(0,), (0, 1), (1,)]
    assert one_free.last == 1
    assert subsets([1.0, 2.0]).last == 2
    assert cascade([0.0, 0.0]).last == 1


def test_a_trade_off_an_arm_is_counted_by_size() -> None:
    arms = subsets([1.0, 1.0], [3.0, 2.0, 1.0])
    assert [(arm.tests, arm.scaled_cost) for arm in arms] == [((0, 1), 2.0), ((1,), 2.0), ((0,), 3.0)]


@pytest.mark.parametrize("arms", [cascade([1.0] * 7), subsets([1.0, 2.0, 4.0, 8.0]), cascade([1.0])])
def test_pairs_and_what_an_arm_reveals(arms) -> None:  # noqa: ANN001  both structures
    i, j = arms.pairs
    assert len(i) == arms.n_pairs == len(set(zip(i.tolist(), j.tolist(), strict=True)))
    assert (i < j).all()
    np.testing.assert_array_equal(np.arange(arms.n_pairs), j.astype(int) * (j.astype(int) - 1) // 2 + i)
    for arm in range(len(arms)):
        assert arms.revealed(arm).tolist() == known(arms, arm)
        pairs = arms.revealed_pairs(arm)
        seen = {(int(a), int(b)) for a, b in zip(i[pairs], j[pairs], strict=True)}
        assert seen == set(combinations(known(arms, arm), 2))
        fewer, more = arms.coverings(arm)
        revealed = [set(arms.arms[k].tests) for k in arms.revealed(arm)]
        steps = {(a, b) for a, x in enumerate(revealed) for b, y in enumerate(revealed) if x < y and len(y - x) == 1}
        assert set(zip(fewer.tolist(), more.tolist(), strict=True)) == steps


def test_costs_are_summed_as_typed() -> None:
    tests = [DiagnosticTest("a", 0.1), DiagnosticTest("b", 0.2)]
    assert total_cost(tests, [0, 1]) == 0.3
    assert total_cost(tests, []) == 0.0


def test_costs_whose_sum_no_number_holds_are_refused() -> None:
    tests = [DiagnosticTest(name, 1e308) for name in "abc"]
    with pytest.raises(InvalidInputError) as error:
        make_arms("subset", tests, 0.1)
    assert [f.pointer for f in error.value.faults] == ["/tests"]
    with pytest.raises(InvalidInputError) as error:
        make_arms("cascade", [DiagnosticTest("a", 1e60)], [1e60])
    assert [f.pointer for f in error.value.faults] == ["/trade_off"]


def test_every_fault_is_named_at_once() -> None:
    tests = [
        DiagnosticTest("a", -1.0, ("x",)),
        DiagnosticTest("a", float("nan"), ("y", "x")),
        DiagnosticTest("", float("inf")),
    ]
    with pytest.raises(InvalidInputError) as error:
        make_arms("cascade", tests, [1.0, -2.0])
    assert [f.pointer for f in error.value.faults] == [
        "/tests/0/cost",
        "/tests/1/name",
        "/tests/1/cost",
        "/tests/1/features/1",
        "/tests/2/name",
        "/tests/2/cost",
        "/trade_off",
        "/trade_off/1",
    ]


def test_too_many_subsets_are_told_by_their_number() -> None:
    with pytest.raises(InvalidInputError, match=r"11 tests have 2,047 subsets; at most 10"):
        subsets([1.0] * 11)
    assert len(subsets([1.0] * 10)) == 1023


@pytest.mark.parametrize("trade_off", [-0.1, float("inf"), float("nan")])
def test_no_test_and_a_wrong_trade_off(trade_off: float) -> None:
    with pytest.raises(InvalidInputError) as error:
        cascade([], trade_off)
    assert [f.pointer for f in error.value.faults] == ["/tests", "/trade_off"]
