"""Chained equations are scikit-learn's, without its exception for patients who lack everything."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.experimental import enable_iterative_imputer  # noqa: F401  makes IterativeImputer importable
from sklearn.impute import IterativeImputer

from autoprog.space.imputation.mice import ChainedEquations

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def _table(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, 2)) @ rng.normal(size=(2, 5)) + 0.3 * rng.normal(size=(120, 5))
    X[rng.random(X.shape) < 0.2] = np.nan
    return X


def test_equals_scikit_learns_within_the_range_of_the_training_cells() -> None:
    X, new = _table(0), _table(1)
    ours, theirs = (c(max_iter=4, random_state=0).fit(X) for c in (ChainedEquations, IterativeImputer))
    bounds = np.nanmin(X, axis=0), np.nanmax(X, axis=0)
    for table in (X, new):
        expected = np.where(np.isnan(table), np.clip(theirs.transform(table), *bounds), table)
        np.testing.assert_allclose(ours.transform(table), expected, atol=1e-12)
    np.testing.assert_allclose(ours.transform(X), ChainedEquations(max_iter=4, random_state=0).fit_transform(X))
    mistyped = np.array([[1e6, np.nan, np.nan, np.nan, np.nan]])
    assert np.isin(ours.transform(mistyped)[0, 1:], np.array(bounds)[:, 1:]).all()


def test_a_patient_without_any_cell_gets_the_same_alone_as_among_others() -> None:
    X = _table(2)
    imputer = ChainedEquations(max_iter=4, random_state=0).fit(X)
    empty = np.full((1, 5), np.nan)
    among_others = imputer.transform(np.vstack([X, empty]))[-1]
    np.testing.assert_allclose(imputer.transform(empty)[0], among_others, rtol=1e-12)
    # The difference that scikit-learn makes.
    assert np.abs(imputer.initial_imputer_.transform(empty)[0] - among_others).max() > 1e-3
