"""Conditional means and covariances of missing cells equal those of the textbook formula, patient by patient."""

from __future__ import annotations

import numpy as np
import pytest

from autoprog.space.imputation import _conditional_mean
from autoprog.space.imputation._conditional_mean import MissingCells


def _table(seed: int, n: int = 60, d: int = 11) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Standardised rows, which cells are missing, and a covariance; rows of all and of no missing cells among them."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(d, d))
    missing = rng.random((n, d)) < rng.random((n, 1))
    missing[0], missing[1] = True, False
    missing[2] = missing[3]
    return rng.normal(size=(n, d)), missing, A @ A.T + 0.1 * np.eye(d)


def _by_hand(Z: np.ndarray, missing: np.ndarray, Sigma: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    imputed, total = Z.copy(), np.zeros_like(Sigma)
    for row, gaps in zip(imputed, missing, strict=True):
        m, o = np.flatnonzero(gaps), np.flatnonzero(~gaps)
        regression = Sigma[np.ix_(m, o)] @ np.linalg.inv(Sigma[np.ix_(o, o)])
        row[m] = regression @ row[o]
        total[np.ix_(m, m)] += Sigma[np.ix_(m, m)] - regression @ Sigma[np.ix_(o, m)]
    return imputed, total


@pytest.mark.parametrize("stack", [2**22, 200, 1])
def test_equals_the_formula_in_blocks_of_any_size(stack: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_conditional_mean, "_MAX_STACK", stack)
    Z, missing, Sigma = _table(0)
    expected, covariances = _by_hand(Z, missing, Sigma)
    filled = np.where(missing, 0.0, Z)
    C = MissingCells(missing).impute(filled, np.linalg.inv(Sigma))
    np.testing.assert_allclose(filled, expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(C, covariances, rtol=1e-9, atol=1e-9)


def test_a_complete_table_stays_as_it_is() -> None:
    Z, _, Sigma = _table(1)
    filled = Z.copy()
    C = MissingCells(np.zeros(Z.shape, dtype=bool)).impute(filled, np.linalg.inv(Sigma))
    np.testing.assert_array_equal(filled, Z)
    assert not C.any()
