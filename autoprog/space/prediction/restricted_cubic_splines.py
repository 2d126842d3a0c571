"""Restricted cubic splines: smooth curves that are linear outside the outer knots.

======  ==========================================================================  =================
symbol  meaning                                                                     shape
======  ==========================================================================  =================
x       one column                                                                  (n,)
t       its knots, ascending                                                        (k,)
s       columns beside x: ((x - t_j)+^3 - (x - t_[k-1])+^3 (t_k - t_j) / (t_k - t_[k-1])
        + (x - t_k)+^3 (t_[k-1] - t_j) / (t_k - t_[k-1])) / (t_k - t_1)^2           (n, k - 2)
======  ==========================================================================  =================

References
----------
Harrell (2015), Regression Modeling Strategies, 2nd ed., section 2.4.5, equations 2.25 to 2.27.
"""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import validate_data

from autoprog.space.fitted_rows import check_rows

# Columns with fewer distinct values stay linear.
_MIN_VALUES = 8
# Quantile of the outer knots by the number of knots, Harrell's table 2.3.
_OUTER = {3: 0.10, 4: 0.05, 5: 0.05, 6: 0.05, 7: 0.025}


class RestrictedCubicSplines(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """The columns s of every column, each scaled to mean 0 and variance 1."""

    def __init__(self, knots: int = 5) -> None:
        self.knots = knots  # k, from 3 to 7

    def fit(self, X: ArrayLike, y: object = None) -> Self:  # noqa: ARG002  scikit-learn's signature
        """Place the knots; a column with fewer than 3 distinct knots gets no spline."""
        x: NDArray[np.float64] = validate_data(self, X, dtype=np.float64)
        outer = _OUTER[self.knots]
        quantiles = np.quantile(x, np.linspace(outer, 1.0 - outer, self.knots), axis=0)
        columns: list[int] = []
        knots: list[tuple[float, float, float, float]] = []
        for j in range(x.shape[1]):
            t = np.unique(quantiles[:, j])
            if len(t) < 3 or len(np.unique(x[:, j])) < _MIN_VALUES:
                continue
            columns += [j] * (len(t) - 2)
            knots += [(float(inner), float(t[-2]), float(t[-1]), float(t[0])) for inner in t[:-2]]
        self.columns_ = np.array(columns, dtype=np.intp)  # (m,), the column of each spline
        self.knots_ = np.array(knots, dtype=np.float64).reshape(-1, 4)  # t_j, t_[k-1], t_k and t_1 of each
        s = self._splines(x)
        self.mean_ = s.mean(axis=0)
        deviation = s.std(axis=0)
        self.deviation_ = np.where(deviation > 0, deviation, 1.0)
        return self

    def transform(self, X: ArrayLike) -> NDArray[np.float64]:
        """The splines of any patients, without the linear columns, shape = (n_patients, m)."""
        x = check_rows(self, X, missing=False)
        return np.asarray((self._splines(x) - self.mean_) / self.deviation_)

    def _splines(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        inner, before, last, first = self.knots_.T
        columns = x[:, self.columns_]
        cubes = [np.maximum(columns - t, 0.0) ** 3 for t in (inner, before, last)]
        width = last - before
        s = cubes[0] - cubes[1] * (last - inner) / width + cubes[2] * (before - inner) / width
        return np.asarray(s / (last - first) ** 2)
