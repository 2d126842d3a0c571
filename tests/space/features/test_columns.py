from __future__ import annotations

import numpy as np
import pytest
from sklearn.decomposition import PCA

from autoprog.space.features.share_of_columns import ShareOfColumns
from autoprog.space.features.varying_columns import VaryingColumns

X = np.random.default_rng(11).normal(size=(20, 5))


@pytest.mark.parametrize(("share", "outputs"), [(0.01, 1), (0.2, 1), (0.21, 2), (0.5, 3), (1.0, 5)])
def test_a_share_is_rounded_up(share: float, outputs: int) -> None:
    assert ShareOfColumns(PCA(), "n_components", share).fit_transform(X).shape == (20, outputs)


def test_a_share_is_of_the_patients_where_they_are_fewer() -> None:
    assert ShareOfColumns(PCA(), "n_components", 1.0).fit(X[:3]).transform(X).shape == (20, 3)


def test_a_single_column_is_handed_on() -> None:
    np.testing.assert_array_equal(ShareOfColumns(PCA(), "n_components", 0.5).fit_transform(X[:, [0]]), X[:, [0]])


def test_the_transformer_that_was_given_is_left_as_it_was() -> None:
    pca = PCA()
    ShareOfColumns(pca, "n_components", 0.5).fit(X)
    assert pca.n_components is None


def test_columns_that_vary_stay() -> None:
    mixed = np.column_stack([X[:, 0], np.full(20, 3.0), 1e-6 * X[:, 1], X[:, 2]])
    np.testing.assert_array_equal(VaryingColumns().fit_transform(mixed), mixed[:, [0, 3]])


def test_the_most_varied_column_stays_where_none_varies() -> None:
    still = np.column_stack([np.zeros(20), 1e-8 * X[:, 0]])
    np.testing.assert_array_equal(VaryingColumns().fit_transform(still), still[:, [1]])
