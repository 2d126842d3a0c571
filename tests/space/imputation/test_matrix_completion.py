"""Matrix completion minimises its objective, and completes new patients as it would have completed them in training."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from autoprog.space.imputation.matrix_completion import MatrixCompletion


def _low_rank(seed: int, n: int = 40, d: int = 9, missing: float = 0.25) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2)) @ rng.normal(size=(2, d)) + 0.2 * rng.normal(size=(n, d))
    X[rng.random((n, d)) < missing] = np.nan
    return X


def _standardised(X: np.ndarray) -> np.ndarray:
    return (X - np.nanmean(X, axis=0)) / np.nanstd(X, axis=0)


def _completed(imputer: MatrixCompletion, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The standardised table with its missing cells imputed, not kept within bounds, and the completion M = Z P."""
    P = np.eye(X.shape[1]) - imputer.precision_
    Z = np.nan_to_num(_standardised(X))
    for _ in range(5000):
        Z = np.where(np.isnan(X), Z @ P, Z)
    return Z, Z @ P


def _tight(shrinkage: float, rank_fraction: float = 1.0) -> MatrixCompletion:
    return MatrixCompletion(shrinkage, rank_fraction, tol=1e-12, max_iter=50_000)


def _objective(M: np.ndarray, X: np.ndarray, threshold: float) -> float:
    return float(0.5 * np.nansum((_standardised(X) - M) ** 2) + threshold * np.linalg.norm(M, "nuc"))


@pytest.mark.parametrize("shrinkage", [0.02, 0.15, 0.6])
def test_meets_the_conditions_of_the_minimum(shrinkage: float) -> None:
    """The residual of the observed cells is threshold times a subgradient of the sum of the singular values."""
    X = _low_rank(0)
    imputer = _tight(shrinkage).fit(X)
    _, M = _completed(imputer, X)
    residual = np.nan_to_num(_standardised(X) - M) / imputer.threshold_
    U, sigma, Vt = np.linalg.svd(M, full_matrices=False)
    kept = sigma > 1e-8
    U, Vt = U[:, kept], Vt[kept]
    np.testing.assert_allclose(U.T @ residual, Vt, atol=1e-6)
    np.testing.assert_allclose(residual @ Vt.T, U, atol=1e-6)
    assert np.linalg.norm(residual, 2) <= 1 + 1e-6


def test_equals_a_proximal_gradient_that_runs_long() -> None:
    X = _low_rank(1)
    imputer = _tight(0.2).fit(X)
    gaps, observed = np.isnan(X), np.nan_to_num(_standardised(X))
    np.testing.assert_allclose(imputer.threshold_, 0.2 * np.linalg.norm(observed, 2))
    M = np.random.default_rng(0).normal(size=X.shape)
    for _ in range(3000):
        U, sigma, Vt = np.linalg.svd(M + np.where(gaps, 0.0, observed - M), full_matrices=False)
        M = (U * np.maximum(sigma - imputer.threshold_, 0)) @ Vt
    ours = _completed(imputer, X)[1]
    np.testing.assert_allclose(ours, M, atol=1e-7)
    assert _objective(ours, X, imputer.threshold_) <= _objective(M, X, imputer.threshold_) + 1e-9


@pytest.mark.parametrize("rank_fraction", [0.2, 1.0])
def test_a_patient_is_a_ridge_regression_on_the_loadings(rank_fraction: float) -> None:
    """In training or new: his factors are those of the factored objective, whose minimum is the same."""
    X = _low_rank(2)
    imputer = _tight(0.1, rank_fraction).fit(X)
    Z, M = _completed(imputer, X)
    _, sigma, Vt = np.linalg.svd(Z, full_matrices=False)
    rank = 2 if rank_fraction < 1 else len(sigma)
    shrunk = np.maximum(sigma - imputer.threshold_, 0)[:rank]
    B = Vt[:rank].T * np.sqrt(shrunk)
    A = np.empty((len(X), rank))
    for i, row in enumerate(_standardised(X)):
        o = ~np.isnan(row)
        A[i] = np.linalg.solve(B[o].T @ B[o] + imputer.threshold_ * np.eye(rank), B[o].T @ row[o])
    np.testing.assert_allclose(A @ B.T, M, atol=1e-6)
    nuclear = np.linalg.norm(M, "nuc")
    np.testing.assert_allclose(0.5 * (np.sum(A**2) + np.sum(B**2)), nuclear, rtol=1e-6)

    lowest, highest = np.nanmin(X, axis=0), np.nanmax(X, axis=0)
    expected = np.clip(np.nanmean(X, axis=0) + np.nanstd(X, axis=0) * (A @ B.T), lowest, highest)
    gaps = np.isnan(X)
    np.testing.assert_allclose(imputer.transform(X)[gaps], expected[gaps], atol=1e-6)


def test_the_rank_is_bounded_and_a_high_threshold_leaves_the_means() -> None:
    X = _low_rank(3)
    limited = MatrixCompletion(0.05, 0.3, max_iter=5000).fit(X)
    assert np.linalg.matrix_rank(np.eye(9) - limited.precision_, tol=1e-9) == 3
    means = MatrixCompletion(1 - 1e-9).fit(X).transform(X)
    gaps = np.isnan(X)
    np.testing.assert_allclose(means[gaps], np.broadcast_to(np.nanmean(X, axis=0), X.shape)[gaps], atol=1e-7)


def test_says_when_it_did_not_converge() -> None:
    with pytest.warns(ConvergenceWarning, match="iteration 1,"):
        MatrixCompletion(max_iter=1, tol=1e-9).fit(_low_rank(4))
