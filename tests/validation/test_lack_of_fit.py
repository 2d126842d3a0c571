"""How far risks are from the truth, as trees find it in their errors."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit

from autoprog.validation import estimate_lack_of_fit

LINE = np.array([0.8, -0.5, 0.3, 0.0])


def patients(n: int, product: float, seed: int) -> tuple[NDArray[np.float64], NDArray[np.int8], NDArray[np.float64]]:
    """Features, outcomes, and the risks of a model that knows all but the product of two features."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    known = X @ LINE - 0.5
    y = (rng.random(n) < expit(known + product * X[:, 0] * X[:, 1])).astype(np.int8)
    return X, y, expit(known)


def estimated(n: int, product: float, seed: int, weights: NDArray[np.float64] | None = None) -> float:
    X, y, p = patients(n, product, seed)
    return estimate_lack_of_fit(X, y, p, np.ones(n) if weights is None else weights)


def test_a_model_that_is_right_lacks_less_the_more_patients_say_so() -> None:
    few, many = (np.mean([estimated(n, 0.0, seed) for seed in range(8)]) for n in (200, 2000))
    # Of T standard normal, and S = n s.
    information = 0.2 * np.array([200, 2000])
    assert np.all(np.array([few, many]) * information < 4 + 4 + 1 + 6)
    assert many < few / 5


def test_what_it_does_not_know_is_found_and_about_measured() -> None:
    """The mean square of the error is product squared; trees of four leaves find a good part of it."""
    right = np.mean([estimated(2000, 0.0, seed) for seed in range(4)])
    for product in (0.5, 1.0):
        found = np.mean([estimated(2000, product, seed) for seed in range(4)])
        assert found > 2 * right
        assert 0.2 * product**2 < found < 1.5 * product**2


def test_patients_whose_outcome_is_unknown_count_for_nothing() -> None:
    X, y, p = patients(600, 1.0, 0)
    known = np.arange(600) < 400
    whole = estimate_lack_of_fit(X[:400], y[:400], p[:400], np.ones(400))
    assert estimate_lack_of_fit(X, np.where(known, y, 1 - y), p, known.astype(float)) == whole


def test_unequal_weights_carry_less_information() -> None:
    weights = np.where(np.arange(1000) % 2, 1.0, 3.0)
    assert estimated(1000, 0.0, 1, weights) > estimated(1000, 0.0, 1)


def test_missing_values_and_groups_are_taken() -> None:
    X, y, p = patients(300, 0.5, 2)
    X[::3, 1] = np.nan
    found = estimate_lack_of_fit(X, y, p, np.ones(300), np.arange(300) // 3)
    assert 0 < found < 1


@pytest.mark.parametrize("constant", [0, 1])
def test_risks_that_are_all_the_same_have_a_finite_estimate(constant: int) -> None:
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = (np.arange(60) % 4 == 0).astype(np.int8) if constant else (X[:, 0] > 0).astype(np.int8)
    found = estimate_lack_of_fit(X, y, np.full(60, y.mean()), np.ones(60))
    assert np.isfinite(found)
    assert found > 0


def test_the_outcomes_of_a_single_group_tell_of_no_fault_in_others() -> None:
    """The sample may miss all patients of a small second hospital."""
    X, y, p = patients(300, 2.0, 3)
    alone = estimate_lack_of_fit(X, y, p, np.ones(300), np.zeros(300, dtype=int))
    without_features = estimate_lack_of_fit(np.zeros_like(X), y, p, np.ones(300))
    assert 0 < alone <= without_features
