"""The greedy portfolio against enumeration, its bounds and worked cases."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from autoprog.errors import InvalidInputError
from autoprog.metalearning import greedy_portfolio


def value(gains: np.ndarray, members: tuple[int, ...], weights: np.ndarray | None = None) -> float:
    """Weighted mean of the best gain on each cohort."""
    return float(np.average(gains[list(members)].max(axis=0), weights=weights))


def test_it_chooses_what_complements_and_not_the_next_best() -> None:
    gains = [[0.9, 0.9, 0.1], [0.9, 0.8, 0.2], [0.0, 0.0, 0.8]]
    assert greedy_portfolio(gains, ["a", "b", "c"], 2) == (0, 2)
    assert greedy_portfolio(gains, ["a", "b", "c"], 3) == (0, 2, 1)


def test_no_prediction_algorithm_comes_twice() -> None:
    gains = [[0.9, 0.1], [0.1, 0.9], [0.3, 0.3]]
    assert greedy_portfolio(gains, ["ridge", "ridge", "forest"], 3) == (0, 2)


def test_every_step_is_the_best_one_by_enumeration() -> None:
    rng = np.random.default_rng(11)
    for _ in range(30):
        gains = rng.normal(size=(12, 5))
        predictors = rng.integers(0, 6, 12).tolist()
        weights = rng.random(5)
        members = greedy_portfolio(gains, predictors, 4, weights)
        for step in range(len(members)):
            before = members[:step]
            left = [i for i in range(12) if predictors[i] not in {predictors[m] for m in before}]
            best = max(value(gains, (*before, i), weights) for i in left)
            assert value(gains, members[: step + 1], weights) == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize(("distinct", "bound"), [(True, 1 - 1 / np.e), (False, 0.5)])
def test_it_is_within_its_bound_of_the_best_portfolio(distinct: bool, bound: float) -> None:
    rng = np.random.default_rng(5)
    for _ in range(20):
        gains = rng.random((10, 6))
        predictors = list(range(10)) if distinct else rng.integers(0, 5, 10).tolist()
        members = greedy_portfolio(gains, predictors, 3)
        allowed = [c for c in combinations(range(10), len(members)) if len({predictors[i] for i in c}) == len(members)]
        floor = float(gains.min(axis=0).mean())
        best = max(value(gains, c) for c in allowed)
        assert value(gains, members) - floor >= bound * (best - floor)


def test_a_failure_is_as_poor_as_the_worst() -> None:
    gains = np.array([[np.nan, 0.6], [0.2, 0.5], [0.3, np.nan]])
    filled = np.array([[0.2, 0.6], [0.2, 0.5], [0.3, 0.5]])
    names = ["a", "b", "c"]
    assert greedy_portfolio(gains, names, 3) == greedy_portfolio(filled, names, 3)


def test_what_fails_everywhere_is_never_chosen() -> None:
    assert greedy_portfolio([[np.nan, np.nan], [-1.0, np.nan]], ["a", "b"], 2) == (1,)
    assert greedy_portfolio([[np.nan], [np.nan]], ["a", "b"], 2) == ()


def test_a_cohort_on_which_all_fail_changes_nothing() -> None:
    gains = np.random.default_rng(2).normal(size=(8, 3))
    lost = np.column_stack([gains, np.full(8, np.nan)])
    names = list("abcdefgh")
    assert greedy_portfolio(lost, names, 4) == greedy_portfolio(gains, names, 4)


def test_copies_of_a_study_that_share_its_weight_count_as_one() -> None:
    rng = np.random.default_rng(3)
    gains = rng.normal(size=(9, 4))
    doubled = gains[:, [0, 0, 1, 2, 3]]
    names = list(range(9))
    assert greedy_portfolio(doubled, names, 5, [0.5, 0.5, 1, 1, 1]) == greedy_portfolio(gains, names, 5)


def test_the_order_of_the_cohorts_and_a_shift_of_all_gains_change_nothing() -> None:
    rng = np.random.default_rng(4)
    gains = rng.normal(size=(9, 4))
    names = list(range(9))
    expected = greedy_portfolio(gains, names, 5)
    assert greedy_portfolio(gains[:, ::-1], names, 5) == expected
    assert greedy_portfolio(3.0 * gains + 7.0, names, 5) == expected


def test_among_equals_the_greater_mean_then_the_earlier_row() -> None:
    # Once row 0 is in, neither of the others raises the best gain anywhere.
    gains = [[1.0, 1.0], [0.2, 0.2], [0.4, 0.1], [0.3, 0.2]]
    assert greedy_portfolio(gains, list("abcd"), 4) == (0, 2, 3, 1)


def test_one_error_names_every_fault() -> None:
    with pytest.raises(InvalidInputError) as caught:
        greedy_portfolio([[0.1, np.inf], [0.2, 0.3]], ["a"], 0, [-1.0, 1.0, 2.0])
    assert {fault.pointer for fault in caught.value.faults} == {"/gains", "/predictors", "/size", "/weights"}
    assert len(caught.value.faults) == 5


@pytest.mark.parametrize("gains", [[], [[]], [0.1, 0.2]])
def test_gains_must_be_a_matrix(gains: list[float]) -> None:
    with pytest.raises(InvalidInputError, match="configurations x cohorts"):
        greedy_portfolio(gains, ["a", "b"], 1)


def test_weights_of_zero_alone_say_nothing() -> None:
    with pytest.raises(InvalidInputError, match="not all be 0"):
        greedy_portfolio([[0.1, 0.2]], ["a"], 1, [0.0, 0.0])
