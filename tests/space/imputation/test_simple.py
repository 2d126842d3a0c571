"""The quick median is scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.impute import SimpleImputer

from autoprog.space.imputation.simple import MedianImputer


@pytest.mark.parametrize("n", [1, 2, 7, 200])
def test_medians_are_those_of_scikit_learn(n: int) -> None:
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 6))
    X[rng.random(X.shape) < 0.3] = np.nan
    X[:, 2], X[:, 4] = np.nan, rng.integers(0, 2, n)
    ours = clone(MedianImputer()).fit(X)
    theirs = SimpleImputer(strategy="median", keep_empty_features=True).fit(X)
    new = np.where(rng.random((5, 6)) < 0.5, np.nan, 3.0)
    np.testing.assert_array_equal(ours.transform(new), theirs.transform(new))
    np.testing.assert_array_equal(clone(ours).fit_transform(X), theirs.transform(X))
    np.testing.assert_array_equal(ours.statistics_, theirs.statistics_)
    with pytest.raises(ValueError, match="features"):
        ours.transform(new[:, 1:])
