from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import beta, binom

from autoprog.csmd import KLUCB, POLICIES, UCB1, ThompsonSampling, make_policy
from autoprog.errors import InvalidInputError
from tests.csmd.naive import kl_index

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(("D", "N", "t", "index"), [(0, 10, 100, 0.369043), (15, 50, 1000, 0.560367), (5, 5, 10, 1.0)])
def test_known_values_of_the_kl_index(D: int, N: int, t: int, index: float) -> None:
    assert float(KLUCB().index(np.array(D), np.array(N), t)) == pytest.approx(index, abs=1e-6)


@pytest.mark.parametrize("a", [0.0, 3.0])
def test_the_kl_index_is_the_largest_q_within_the_bound(a: float) -> None:
    for _ in range(300):
        N = int(RNG.integers(1, 200))
        D, t = int(RNG.integers(0, N + 1)), int(RNG.integers(2, 10_000))
        rhs = max(0.0, math.log(t) + (a * math.log(math.log(t)) if a else 0.0))
        assert float(KLUCB(a).index(np.array(D), np.array(N), t)) == pytest.approx(kl_index(D / N, N, rhs), abs=1e-9)


def test_the_bound_is_never_negative() -> None:
    assert KLUCB(3.0).bound(2) == 0.0
    assert KLUCB(3.0).bound(1) == 0.0
    assert KLUCB().bound(np.array([1, 100])).tolist() == [0.0, math.log(100)]


@pytest.mark.parametrize("policy", [KLUCB(), KLUCB(2.0), UCB1(), UCB1(2.0)])
def test_a_gap_is_reached_where_the_index_says_so(policy: KLUCB | UCB1) -> None:
    rng = np.random.default_rng(1)
    N = rng.integers(0, 60, 4000)
    D = rng.integers(0, N + 1)
    gap = rng.uniform(-0.2, 1.6, 4000)
    index = policy.index(D, N, 50)
    clear = np.abs(gap - index) > 1e-9
    reached = policy.reaches(gap, D, N, 50, rng)
    np.testing.assert_array_equal(reached[clear], (gap <= index)[clear])


def test_ties_are_reached() -> None:
    """The sets have <= on one side and > on the other."""
    one = np.array([1])
    assert KLUCB().reaches(np.array([0.5]), one, 2 * one, 1, RNG).all()
    assert UCB1().reaches(np.array([0.5]), one, 2 * one, 1, RNG).all()
    assert KLUCB().reaches(np.array([1.0]), one, one, 5, RNG).all()
    assert not KLUCB().reaches(np.array([1.0]), 0 * one, one, 5, RNG).any()


def test_nothing_observed() -> None:
    zero, gap = np.zeros(3, dtype=int), np.array([0.3, 1.0, 1.5])
    np.testing.assert_array_equal(KLUCB().reaches(gap, zero, zero, 9, RNG), [True, True, False])
    np.testing.assert_array_equal(UCB1().reaches(gap, zero, zero, 9, RNG), [True, True, True])
    np.testing.assert_array_equal(KLUCB().index(zero, zero, 9), 1.0)


def test_the_ucb1_index_is_not_clipped() -> None:
    index = float(UCB1().index(np.array(1), np.array(1), 100))
    assert index == pytest.approx(1 + math.sqrt(0.51 * math.log(100)))


@pytest.mark.parametrize(("D", "N", "gap"), [(0, 0, 0.3), (2, 9, 0.25), (9, 9, 0.9)])
def test_thompson_sampling_draws_from_the_posterior(D: int, N: int, gap: float) -> None:
    """A binomial of 20,000 draws, two-sided at 1e-6."""
    draws = 20_000
    reached = ThompsonSampling().reaches(np.full(draws, gap), np.full(draws, D), np.full(draws, N), 1, RNG).sum()
    probability = beta.sf(gap, 1 + D, 1 + N - D)
    assert binom.ppf(5e-7, draws, probability) <= reached <= binom.isf(5e-7, draws, probability)


def test_thompson_sampling_outside_the_unit_interval() -> None:
    zero = np.zeros(2, dtype=int)
    np.testing.assert_array_equal(ThompsonSampling().reaches(np.array([-0.1, 1.1]), zero, zero, 1, RNG), [True, False])


def test_policies_by_name() -> None:
    assert [type(make_policy(name)) for name in POLICIES] == [ThompsonSampling, KLUCB, UCB1]
    assert [make_policy(name).opens_with_last for name in POLICIES] == [False, True, True]
    with pytest.raises(InvalidInputError, match="must be one of ts, kl_ucb, ucb1"):
        make_policy("greedy")  # type: ignore[arg-type]


def test_policies_by_their_settings() -> None:
    assert make_policy("kl_ucb", a=3.0) == KLUCB(3.0)
    assert make_policy("ucb1", alpha=2.0) == UCB1(2.0)
    with pytest.raises(InvalidInputError) as error:
        make_policy("ts", a=1.0, alpha=1.0)
    assert [fault.pointer for fault in error.value.faults] == ["/a", "/alpha"]


@pytest.mark.parametrize(
    "call", [lambda: KLUCB(-1.0), lambda: KLUCB(math.nan), lambda: UCB1(0.5), lambda: UCB1(math.inf)]
)
def test_constants_out_of_range(call) -> None:  # noqa: ANN001
    with pytest.raises(InvalidInputError):
        call()
