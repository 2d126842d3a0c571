from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import entropy

from autoprog.diagnosis.discretization import (
    coin_entropy,
    cost_aware_gain,
    expected_information,
    exponential_gain,
    realised_gain,
)
from autoprog.errors import InvalidInputError


def test_information_is_the_mutual_information_of_answer_and_group() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        J = int(rng.integers(1, 6))
        w, theta = rng.dirichlet(np.ones(J)), rng.random((J, 3))
        joint = np.stack([w[:, None] * theta, w[:, None] * (1 - theta)])
        for k in range(3):
            table = joint[:, :, k]
            outer = table.sum(1, keepdims=True) * table.sum(0, keepdims=True)
            assert expected_information(w, theta)[k] == pytest.approx(
                entropy(table.ravel(), outer.ravel(), base=2), abs=1e-12
            )


def test_information_is_one_less_the_criterion_of_group_identification() -> None:
    """1 - C_a, C_a = 1 - h(rho) + sum_k pi_k / pi h(rho_k), over objects that answer without noise (to 1e-12)."""
    rng = np.random.default_rng(1)
    for _ in range(200):
        groups, answers = rng.integers(0, 4, 12), rng.random(12) < 0.5
        pi = rng.dirichlet(np.ones(12))
        present = np.unique(groups)
        w = np.array([pi[groups == g].sum() for g in present])
        theta = np.array([pi[(groups == g) & answers].sum() for g in present]) / w
        criterion = 1 - coin_entropy(pi[answers].sum()) + (w * coin_entropy(theta)).sum()
        assert expected_information(w, theta) == pytest.approx(1 - criterion, abs=1e-12)


def test_information_is_never_negative() -> None:
    w = np.random.default_rng(2).dirichlet(np.ones(7))
    assert expected_information(w, np.full((7, 4), 0.3)).min() >= 0
    np.testing.assert_array_equal(expected_information(np.array([1.0]), np.array([[0.4]])), 0.0)


def renyi_ratio(w: np.ndarray, theta: np.ndarray, base: float) -> float:
    """(pi_l D(l) + pi_r D(r)) / D(a), written out from the definition of D."""
    alpha = 1 / (1 + np.log2(base))

    def diversity(v: np.ndarray) -> float:
        return ((v / v.sum()) ** alpha).sum() ** (1 / alpha)

    left, right = w * (1 - theta), w * theta
    return (left.sum() * diversity(left) + right.sum() * diversity(right)) / diversity(w)


@pytest.mark.parametrize("base", [1.01, 2.0, 10.0])
def test_exponential_gain(base: float) -> None:
    rng = np.random.default_rng(3)
    for _ in range(100):
        w, theta = rng.dirichlet(np.ones(4)), rng.random((4, 2))
        gain = exponential_gain(w, theta, base)
        for k in range(2):
            assert gain[k] == pytest.approx(1 - renyi_ratio(w, theta[:, k], base), abs=1e-10)
        assert ((gain >= 0) & (gain < 1)).all()


def test_exponential_gain_of_a_certain_answer_and_of_a_huge_base() -> None:
    w = np.array([0.5, 0.5])
    assert exponential_gain(w, np.array([[1.0], [0.0]]), 2.0)[0] == pytest.approx(0.5)
    assert exponential_gain(w, np.array([[1.0], [1.0]]), 2.0)[0] == 0.0
    assert 0 <= exponential_gain(w, np.array([[0.9], [0.2]]), 1e300)[0] < 1


def test_realised_gain_has_the_expected_information_as_its_mean() -> None:
    """Before the map to [0, 1], enumerated over the answer."""
    rng = np.random.default_rng(4)
    for _ in range(100):
        w, theta = rng.dirichlet(np.ones(3)), rng.random(3)
        yes = float(w @ theta)
        gains = [realised_gain(w, v / v.sum()) * 2 * np.log2(3) - np.log2(3) for v in (w * theta, w * (1 - theta))]
        assert yes * gains[0] + (1 - yes) * gains[1] == pytest.approx(float(expected_information(w, theta)), abs=1e-12)


def test_realised_gain_spans_zero_to_one() -> None:
    certain, even = np.array([1.0, 0.0]), np.array([0.5, 0.5])
    assert realised_gain(certain, even) == 0.0
    assert realised_gain(even, certain) == 1.0
    assert realised_gain(even, even) == 0.5
    assert realised_gain(np.array([1.0]), np.array([1.0])) == 0.5


def test_cost_aware_gain_spans_zero_to_one_and_sees_the_cost() -> None:
    assert cost_aware_gain(0.0, 1.0, 3.0, 3.0) == 0.0
    assert cost_aware_gain(1.0, 0.0, 0.0, 3.0) == 1.0
    assert cost_aware_gain(1.0, 0.0, 0.5, 3.0) == pytest.approx(4.5 / 5)
    assert cost_aware_gain(1.0, 0.0, 0.1, 3.0) > cost_aware_gain(1.0, 0.0, 0.2, 3.0)


def test_faults() -> None:
    with pytest.raises(InvalidInputError) as error:
        cost_aware_gain(-1.0, float("nan"), 2.0, 1.0)
    assert len(error.value.faults) == 3
    with pytest.raises(InvalidInputError):
        cost_aware_gain(0.0, 0.0, 0.0, float("inf"))
    for base in (1.0, float("inf")):
        with pytest.raises(InvalidInputError):
            exponential_gain(np.array([1.0]), np.array([[0.5]]), base)
