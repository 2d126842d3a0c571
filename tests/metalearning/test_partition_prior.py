"""M and gamma given a partition: against enumeration, and by the law of total expectation."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from autoprog.metalearning.prior import CONCENTRATIONS, SUBSPACES, compact, grid_means, grid_posterior
from autoprog.optimizer.decomposition import draw_labels, log_prior


def same_partition(a: NDArray[np.int64], b: NDArray[np.int64]) -> bool:
    return bool(np.array_equal(a[:, None] == a, b[:, None] == b))


@pytest.mark.parametrize("labels", [(0, 0, 0, 0), (0, 0, 1, 2), (5, 1, 1, 5), (3, 2, 1, 0)])
def test_the_posterior_is_that_of_enumeration(labels: tuple[int, ...]) -> None:
    z = np.array(labels)
    p = np.array(
        [
            [
                sum(
                    np.exp(log_prior(np.bincount(other, minlength=M), gamma))
                    for other in product(range(M), repeat=len(z))
                    if same_partition(np.array(other), z)
                )
                for gamma in CONCENTRATIONS
            ]
            for M in SUBSPACES[:4]
        ]
    )
    # All points of the grid are alike before; those beyond the first four are left out on both sides.
    found = grid_posterior(z)[:4]
    np.testing.assert_allclose(found / found.sum(), p / p.sum(), rtol=1e-9)


def test_on_average_over_the_prior_the_posterior_is_the_prior() -> None:
    # The sd of the mean of 2,000 draws is at most 3.8 / sqrt(2000) = 0.085 for M, 0.022 for log gamma: five of them.
    rng = np.random.default_rng(0)
    means = np.array(
        [
            grid_means(draw_labels(41, int(rng.choice(SUBSPACES)), float(rng.choice(CONCENTRATIONS)), rng))
            for _ in range(2_000)
        ]
    )
    subspaces, log_concentration = means.mean(axis=0)
    assert subspaces == pytest.approx(8, abs=0.43)
    assert log_concentration == pytest.approx(0, abs=0.11)


def test_two_large_subspaces_are_few_and_many_small_ones_are_many() -> None:
    few, many = grid_means(np.arange(40) % 2), grid_means(np.arange(40) % 13)
    assert few[0] < 4
    assert many[0] > 12
    assert many[1] > np.log(2)


def test_the_numbering_of_labels_does_not_matter() -> None:
    z = np.random.default_rng(1).integers(0, 9, 20)
    assert same_partition(compact(z), z)
    np.testing.assert_array_equal(grid_posterior(z), grid_posterior(compact(8 - z)))
    assert set(compact(z)) == set(range(len(set(z))))
