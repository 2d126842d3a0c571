"""missForest imputes what no linear method can, and new patients by the forests of the training patients."""

from __future__ import annotations

import numpy as np

from autoprog.space.imputation.em import EMImputer
from autoprog.space.imputation.miss_forest import MissForest


def _parabola(seed: int, n: int = 400) -> np.ndarray:
    """A column, its square, a step of it as 0 and 1, and noise."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2, 2, n)
    return np.column_stack([x, x**2, x > 0.5, rng.normal(size=n)])


def _with_gaps(X: np.ndarray, columns: list[int], seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    gaps = np.zeros(X.shape, dtype=bool)
    gaps[:, columns] = rng.random((len(X), len(columns))) < 0.2
    return np.where(gaps, np.nan, X)


def _error(imputed: np.ndarray, X: np.ndarray, gaps: np.ndarray, column: int) -> float:
    return float(np.sqrt(np.mean((imputed - X)[gaps[:, column], column] ** 2)))


def test_learns_a_curve_and_applies_it_to_new_patients() -> None:
    incomplete = _with_gaps(_parabola(0), [1, 2], seed=0)
    X = _parabola(1)
    new = _with_gaps(X, [1, 2], seed=1)
    gaps = np.isnan(new)
    imputed = MissForest(max_features=1.0, random_state=0).fit(incomplete).transform(new)
    linear = EMImputer().fit(incomplete).transform(new)
    assert _error(imputed, X, gaps, 1) < 0.15
    assert _error(linear, X, gaps, 1) > 0.8
    # The expectation of a column of 0 and 1 is a probability.
    assert imputed[:, 2].min() >= 0
    assert imputed[:, 2].max() <= 1
    assert np.mean((imputed[:, 2] > 0.5) == X[:, 2]) > 0.98


def test_a_column_that_was_complete_in_training_is_predicted_too() -> None:
    X = _parabola(2)
    new = X[:50].copy()
    new[:, 1] = np.nan
    for training in (X[50:], _with_gaps(X[50:], [0, 3], seed=2)):
        imputed = MissForest(max_features=1.0, random_state=0).fit(training).transform(new)
        assert np.sqrt(np.mean((imputed - X[:50])[:, 1] ** 2)) < 0.2


def test_same_seed_same_imputation_and_another_seed_another() -> None:
    incomplete = _with_gaps(_parabola(3), [0, 1, 2], seed=3)
    first, second, other = (MissForest(random_state=s).fit_transform(incomplete) for s in (1, 1, 2))
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, other)


def test_rounds_help_where_columns_miss_together_and_end_when_changes_grow() -> None:
    """The copies of a column are of use to each other only once they are imputed themselves."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=600)
    X = np.column_stack([x, x + 0.05 * rng.normal(size=600), x + 0.05 * rng.normal(size=600)])
    incomplete = np.where(rng.random(X.shape) < 0.3, np.nan, X)
    gaps = np.isnan(incomplete) & ~np.isnan(incomplete).all(axis=1, keepdims=True)
    one, most = (MissForest(max_iter=k, random_state=0).fit(incomplete) for k in (1, 50))
    errors = [np.sqrt(np.mean((m.transform(incomplete) - X)[gaps] ** 2)) for m in (one, most)]
    assert one.n_iter_ == 1
    assert 1 < most.n_iter_ < 50
    assert errors[1] < 0.8 * errors[0]
