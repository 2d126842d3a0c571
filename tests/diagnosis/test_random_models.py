"""The source's random model: its probabilities, and what it is asked for wrongly."""

from __future__ import annotations

import numpy as np
import pytest

from autoprog.diagnosis import (
    cost_bounds,
    expected_cost,
    grow_tree,
    random_agreement,
    random_model,
    random_partition,
    random_responses,
    zipf_prior,
)
from autoprog.errors import InvalidInputError


def test_groups_are_of_equal_size() -> None:
    sizes = np.bincount(random_partition(400, 15, np.random.default_rng(1)))
    assert sorted(sizes.tolist()) == [26] * 5 + [27] * 10


def test_objects_agree_with_their_group_as_often_as_they_should() -> None:
    rng = np.random.default_rng(2)
    within, between = np.array([1.0, 0.9, 0.5]), np.array([0.8, 0.8, 0.8])
    group_of = np.repeat(np.arange(500), 20)
    matrix = random_responses(group_of, within, between, rng).reshape(500, 20, 3)
    # two objects of a group agree with probability g^2 + (1 - g)^2; five standard errors of 500 independent groups
    pairs = (matrix[:, 0] == matrix[:, 1]).mean(axis=0)
    expected = within**2 + (1 - within) ** 2
    assert (np.abs(pairs - expected) <= 5 * np.sqrt(expected * (1 - expected) / 500)).all()
    # groups agree with each other as often as gamma_b says, wherever objects are those of their group
    share = matrix[:, 0, 0].mean()
    assert abs(max(share, 1 - share) - 0.8) < 5 * np.sqrt(0.16 / 500)


def test_agreement_lies_between_a_half_and_one_and_has_its_mean() -> None:
    for beta in (0.5, 1.0, 8.0):
        gamma = random_agreement(beta, 20_000, np.random.default_rng(3))
        assert ((gamma >= 0.5) & (gamma <= 1)).all()
        mean, variance = 1 / (1 + beta), beta / ((1 + beta) ** 2 * (2 + beta))
        assert abs(gamma.mean() - (1 + mean) / 2) < 5 * np.sqrt(variance / 4 / 20_000)


def test_priors_are_zipf() -> None:
    prior = zipf_prior(50, 1.5, np.random.default_rng(4))
    assert np.sort(prior)[::-1] == pytest.approx(np.arange(1, 51) ** -1.5 / (np.arange(1, 51) ** -1.5).sum())


def test_easy_groups_cost_little_more_than_their_entropy() -> None:
    # of the source's Figure 6, the corner at which the queries tell the groups apart and nothing else
    costs, bounds = [], []
    for seed in range(20):
        model = random_model(np.random.default_rng(seed), 400, 200, 15, beta_within=0.5, beta_between=8.0)
        assert (model.n_objects, model.n_queries, model.n_groups, model.algorithm) == (400, 200, 15, "ggbs")
        costs.append(expected_cost(grow_tree(model)))
        bounds.append(cost_bounds(model).expected)
    assert np.mean(bounds) == pytest.approx(3.9067, abs=1e-4)
    assert np.mean(costs) == pytest.approx(3.935, abs=0.01)


def test_without_groups_every_object_is_one() -> None:
    model = random_model(np.random.default_rng(5), 30, 60, delta=1.0)
    assert not model.grouped
    assert model.prior.max() == pytest.approx(1 / (1 / np.arange(1, 31)).sum())
    assert random_model(np.random.default_rng(5), 30, 60).has_uniform_prior


def test_every_fault_is_named() -> None:
    with pytest.raises(InvalidInputError) as error:
        random_model(np.random.default_rng(6), 0, 0, 3, beta_within=0.0, beta_between=-1.0, delta=-1.0)
    assert [fault.pointer for fault in error.value.faults] == [
        "/objects", "/queries", "/groups", "/beta_within", "/beta_between", "/delta",
    ]  # fmt: skip
