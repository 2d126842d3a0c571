from __future__ import annotations

import json
from itertools import product
from math import comb

import numpy as np
import pytest
from scipy.stats import dirichlet_multinomial

from autoprog.optimizer.decomposition import Decomposition, co_membership, draw_labels, log_prior

KEYS = ("a", "b", "c", "d")


def test_equal_partitions_are_equal_whatever_their_labels() -> None:
    one = Decomposition.from_labels(KEYS, np.array([2, 0, 2, 1]))
    other = Decomposition.from_labels(KEYS, np.array([0, 3, 0, 2]))
    assert one == other
    assert hash(one) == hash(other)
    assert one.subspaces == (("a", "c"), ("b",), ("d",))
    assert one.labels(KEYS).tolist() == [0, 1, 0, 2]


def test_a_decomposition_survives_json() -> None:
    one = Decomposition.from_labels(KEYS, np.array([1, 1, 0, 1]))
    assert Decomposition.from_json(json.loads(json.dumps(one.to_json()))) == one


@pytest.mark.parametrize("gamma", [0.3, 1.0, 5.0])
def test_the_prior_sums_to_one_and_is_the_dirichlet_multinomial(gamma: float) -> None:
    sizes = [np.bincount(z, minlength=3) for z in product(range(3), repeat=4)]
    assert sum(np.exp(log_prior(s, gamma)) for s in sizes) == pytest.approx(1.0, rel=1e-12)
    for s in sizes:
        labellings = comb(4, int(s[0])) * comb(4 - int(s[0]), int(s[1]))
        expected = dirichlet_multinomial.logpmf(s, np.full(3, gamma), 4) - np.log(labellings)
        assert log_prior(s, gamma) == pytest.approx(expected, rel=1e-9)


def test_labels_drawn_from_the_prior_share_a_subspace_as_often_as_it_says() -> None:
    rng = np.random.default_rng(0)
    draws = np.array([draw_labels(2, 4, 0.5, rng) for _ in range(20_000)])
    # (gamma + 1) / (M gamma + 1) = .5; four standard errors are .014.
    assert (draws[:, 0] == draws[:, 1]).mean() == pytest.approx(0.5, abs=0.014)


def test_co_membership_counts_shared_subspaces() -> None:
    samples = [Decomposition.from_labels(KEYS, np.array(z)) for z in ([0, 0, 1, 1], [0, 1, 1, 1])]
    expected = [[1, 0.5, 0, 0], [0.5, 1, 0.5, 0.5], [0, 0.5, 1, 1], [0, 0.5, 1, 1]]
    assert co_membership(samples, KEYS).tolist() == expected
