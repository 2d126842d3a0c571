from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from tests.space.features.tables import built

RNG = np.random.default_rng(6)
GROUPS = RNG.normal(size=(100, 3))


@pytest.mark.parametrize(
    ("linkage", "metric", "pooling"),
    [*product(["ward", "complete", "average"], ["euclidean", "manhattan", "cosine"], ["mean", "median", "max"])],
)
def test_columns_that_say_the_same_become_one(linkage: str, metric: str, pooling: str) -> None:
    # Three copies of each of three columns, on other scales, in any order.
    copies = np.hstack([scale * GROUPS + scale for scale in (1.0, 10.0, 1e-3)])[:, RNG.permutation(9)]
    agglomeration = built("agglomeration", copies, fraction=0.3, linkage=linkage, metric=metric, pooling=pooling)
    Z = agglomeration.fit_transform(copies)
    expected = StandardScaler().fit_transform(GROUPS)
    order = [int(np.abs(Z - column[:, None]).sum(axis=0).argmin()) for column in expected.T]
    assert Z.shape == (100, 3)
    np.testing.assert_allclose(Z[:, order], expected, atol=1e-8)


@pytest.mark.parametrize(("pooling", "pool"), [("mean", np.mean), ("median", np.median), ("max", np.max)])
def test_a_cluster_is_pooled_as_chosen(pooling: str, pool: object) -> None:
    near = GROUPS[:, [0]] + 0.01 * RNG.normal(size=(100, 3))
    X = np.hstack([near, GROUPS[:, [1]]])
    Z = built("agglomeration", X, fraction=0.5, pooling=pooling).fit_transform(X)
    expected = pool(StandardScaler().fit_transform(near), axis=1)  # type: ignore[operator]
    assert np.abs(Z - expected[:, None]).max(axis=0).min() < 1e-12


@pytest.mark.parametrize("metric", ["manhattan", "cosine"])
def test_wards_criterion_knows_no_other_metric(metric: str) -> None:
    X = RNG.normal(size=(50, 8))
    expected = built("agglomeration", X, linkage="ward").fit_transform(X)
    np.testing.assert_array_equal(built("agglomeration", X, linkage="ward", metric=metric).fit_transform(X), expected)


def test_constant_columns_are_no_cluster() -> None:
    X = np.hstack([GROUPS, np.full((100, 2), 4.0)])
    Z = built("agglomeration", X, fraction=0.9, linkage="average", metric="cosine").fit_transform(X)
    assert Z.shape == (100, 3)
    assert Z.std(axis=0).min() > 0.5
