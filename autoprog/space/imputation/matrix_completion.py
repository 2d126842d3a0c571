"""Imputation by matrix completion: the table as a matrix of low rank plus noise.

==================  ==================================================================================================
symbol              meaning
==================  ==================================================================================================
`n`, `d`            patients, columns
`Z`                 standardised table, shape = (n, d); 0, then the current completion, where a cell is missing
`lambda_`           threshold subtracted from the singular values
`sigma`, `V`        singular values and right singular vectors of `Z`, shapes (d,) and (d, d)
`P`                 `V diag((1 - lambda_ / sigma)_+) V'`, shape = (d, d): `Z P` has the thresholded singular values
==================  ==================================================================================================

Soft-impute minimises `1/2 sum_observed (z_ij - m_ij)^2 + lambda_ ||M||_*` over matrices M (`||.||_*` is the sum of the
singular values) by repeating `M = Z P` and putting M into the missing cells of Z. With loadings `B = V diag((sigma -
lambda_)_+^1/2)`, M is `A B'`, where each patient's factors A are the ridge regression of the observed cells on their
loadings with penalty `lambda_`, because `||M||_* = min over M = A B' of 1/2 (||A||^2 + ||B||^2)`.

A new patient's factors are that ridge regression with fixed loadings. In closed form, the missing cells are
`B_m (B_o' B_o + lambda_ I)^-1 B_o' z_o = (I - P_mm)^-1 P_mo z_o`: the conditional expectation of a normal distribution
with covariance `B B' + lambda_ I`, whose precision matrix is `I - P` up to the factor `lambda_`. It is also the fixed
point of the iteration with fixed `P`, so that at convergence training patients get the result of the iteration.

References
----------
Mazumder, Hastie & Tibshirani 2010, Journal of Machine Learning Research 11, algorithm 1; factors and their ridge
regressions: Hastie et al. 2015, Journal of Machine Learning Research 16.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from math import ceil

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from autoprog.space._base import Algorithm, Cost, TableShape
from autoprog.space.hyperparameters import Float, Parameter
from autoprog.space.imputation._linear import LinearImputer

# Thresholds from the largest singular value down to the final one, each warm-started from the one before.
_PATH = 5


class MatrixCompletion(LinearImputer):
    """Soft-impute, with new patients completed on the loadings of the training patients."""

    def __init__(
        self, shrinkage: float = 0.15, rank_fraction: float = 1.0, *, tol: float = 1e-4, max_iter: int = 200
    ) -> None:
        self.shrinkage = shrinkage  # in (0, 1), times the largest singular value with missing cells at 0: the threshold
        self.rank_fraction = rank_fraction  # in (0, 1], largest rank as a share of the columns
        self.tol = tol  # root mean square change of the missing cells, in standard deviations of the columns
        self.max_iter = max_iter  # per threshold

    def _estimate(
        self, Z: NDArray[np.float64], missing: NDArray[np.bool_]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        n, d = Z.shape
        rank = ceil(self.rank_fraction * min(n, d))
        largest = float(np.linalg.norm(Z, 2))
        self.threshold_ = self.shrinkage * largest
        for lambda_ in largest * np.geomspace(1.0, self.shrinkage, _PATH + 1)[1:]:
            P, change = self._complete(Z, missing, lambda_, rank)
        if change >= self.tol:
            message = f"soft-impute changed missing cells by {change:.2g} in iteration {self.max_iter}, its last"
            warnings.warn(message, ConvergenceWarning, stacklevel=2)
        return np.zeros(d), np.eye(d) - P

    def _complete(
        self, Z: NDArray[np.float64], missing: NDArray[np.bool_], lambda_: float, rank: int
    ) -> tuple[NDArray[np.float64], float]:
        """Iterate at one threshold, changing the missing cells of `Z` in place; return `P` and the last change."""
        n_missing = max(int(missing.sum()), 1)
        for n_iter in range(1, self.max_iter + 1):
            P = _shrinking(Z, lambda_, rank)
            completed = np.where(missing, Z @ P, Z)
            change = float(np.linalg.norm(completed - Z)) / n_missing**0.5
            Z[:] = completed
            self.n_iter_ = n_iter
            if change < self.tol:
                break
        return P, change


def _shrinking(Z: NDArray[np.float64], lambda_: float, rank: int) -> NDArray[np.float64]:
    """`P`, with at most `rank` singular values kept."""
    # The square root halves the digits of singular values far below the largest; the threshold removes these.
    squares, V = np.linalg.eigh(Z.T @ Z)
    sigma = np.sqrt(np.maximum(squares, 0.0))
    kept = sigma > lambda_
    kept[: len(sigma) - rank] = False  # eigh sorts in ascending order
    V, sigma = V[:, kept], sigma[kept]
    P: NDArray[np.float64] = (V * (1 - lambda_ / sigma)) @ V.T
    return P


def _build(parameters: Mapping[str, Parameter], _shape: TableShape, _seed: int) -> BaseEstimator:
    return MatrixCompletion(float(parameters["shrinkage"]), float(parameters["rank_fraction"]))


MATRIX_COMPLETION = Algorithm(
    "imputation",
    "matrix_completion",
    (Float("shrinkage", 0.03, 0.6, 0.15, log=True), Float("rank_fraction", 0.1, 1.0, 1.0)),
    _build,
    family="imputation",
    takes=frozenset({"missing", "negative", "collinear"}),
    cost=Cost(0.01, 0.8, 1.7),
    max_columns=500,
    max_patients=20_000,
    stored_types=("autoprog.space.imputation.matrix_completion.MatrixCompletion",),
    reference="Mazumder, Hastie & Tibshirani, J. Mach. Learn. Res. 11 (2010) 2287-2322, algorithm 1",
)
