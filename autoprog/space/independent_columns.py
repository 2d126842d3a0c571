"""Leave out columns that are constant, or linearly determined by others, among the training patients.

Z    columns standardised on the training patients                                   (n, d)
C    their correlations, Z'Z / n                                                     (d, d)
K    kept columns                                                                    list of int
L    Cholesky factor of C[K, K]                                                      (|K|, |K|), lower
w    solution of L w = C[K, j]; 1 - |w|^2 is the share of column j's variance that K leaves unexplained
"""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import solve_triangular
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import validate_data

from autoprog.space.fitted_rows import check_rows

# Tolerance of R's lm.
_UNEXPLAINED = 1e-7
# Largest standard deviation of a constant column, relative to its largest absolute value.
_ROUNDING = 1e-10


class IndependentColumns(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Keep, from left to right, each column that the columns kept before it do not determine linearly.

    This serves learners that need a regular covariance matrix. If every column is constant, the first is kept.

    Attributes
    ----------
    kept_ : ndarray of int
        Kept columns, ascending.
    constant_ : ndarray of int
        Columns left out because they are constant among the training patients.
    determined_ : ndarray of int
        Columns left out because earlier columns and the intercept determine them.
    """

    def fit(self, X: ArrayLike, y: object = None) -> Self:  # noqa: ARG002  scikit-learn's signature
        """Find the columns to keep; cells must not be missing."""
        columns: NDArray[np.float64] = validate_data(self, X, dtype=np.float64)
        sd = columns.std(axis=0)
        varies = sd > _ROUNDING * np.abs(columns).max(axis=0)
        candidates = np.flatnonzero(varies)
        Z = (columns[:, candidates] - columns[:, candidates].mean(axis=0)) / sd[candidates]
        independent = candidates[_independent(Z.T @ Z / len(Z))]
        self.constant_: NDArray[np.intp] = np.flatnonzero(~varies)
        self.determined_: NDArray[np.intp] = np.setdiff1d(candidates, independent)
        self.kept_: NDArray[np.intp] = independent if len(independent) else np.array([0])
        return self

    def transform(self, X: ArrayLike) -> NDArray[np.float64]:
        """The kept columns of these patients, shape = (n_patients, n_kept)."""
        columns = check_rows(self, X, missing=False)
        return columns[:, self.kept_]


def _independent(C: NDArray[np.float64]) -> list[int]:
    d = len(C)
    L = np.zeros((d, d))
    K: list[int] = []
    for j in range(d):
        k = len(K)
        w = solve_triangular(L[:k, :k], C[K, j], lower=True) if k else np.empty(0)
        unexplained = C[j, j] - w @ w
        if unexplained > _UNEXPLAINED:
            L[k, :k], L[k, k] = w, np.sqrt(unexplained)
            K.append(j)
    return K
