"""Imputation by chained equations: each column regressed on the others, round after round."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.experimental import enable_iterative_imputer  # noqa: F401  makes IterativeImputer importable
from sklearn.impute import IterativeImputer

from autoprog.space._base import Algorithm, Cost, TableShape
from autoprog.space.fitted_rows import check_rows
from autoprog.space.hyperparameters import Integer, Parameter
from autoprog.space.imputation._observed import observed_range

# Each column is regressed on at most this many others; without the limit, the cost grows with the square of the width.
_MAX_REGRESSORS = 30


# scikit-learn's class leaves patients without observed cells at the initial guesses if a call has only such patients,
# and regresses them otherwise; here they are always regressed. `transform` evaluates scikit-learn's linear regressions
# only for the patients who need them: the library copies the whole table for each, which takes half a minute for
# 400,000 patients and 87 columns.
class ChainedEquations(IterativeImputer):  # type: ignore[misc]
    """`IterativeImputer` that imputes each patient independently of the others, within the observed training range."""

    def fit_transform(self, X: ArrayLike, y: object = None, **params: Any) -> NDArray[np.float64]:  # noqa: ANN401
        """Fit, and impute the missing cells of the training patients; observed cells stay."""
        table = np.asarray(X, dtype=np.float64)
        self.lowest_, self.highest_ = observed_range(table)
        return self._bounded(table, super().fit_transform(table.copy(), y, **params))

    def transform(self, X: ArrayLike) -> NDArray[np.float64]:
        """Impute the missing cells of these patients; observed cells stay."""
        table = check_rows(self, X)
        filled: NDArray[np.float64] = self.initial_imputer_.transform(table)
        # A column with at most one distinct observed value needs no regression.
        varies = self.lowest_ < self.highest_
        rows = [
            np.flatnonzero(np.isnan(column)) if some else np.empty(0, np.intp)
            for column, some in zip(table.T, varies, strict=True)
        ]
        for j, regressors, regression in self.imputation_sequence_:
            if len(rows[j]):
                coefficients = np.zeros(table.shape[1])  # copying whole rows is faster than selecting from them
                coefficients[regressors] = regression.coef_
                filled[rows[j], j] = filled[rows[j]] @ coefficients + regression.intercept_
        return self._bounded(table, filled)

    def _bounded(self, table: NDArray[np.float64], imputed: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.where(np.isnan(table), np.clip(imputed, self.lowest_, self.highest_), table)


def _build(parameters: Mapping[str, Parameter], shape: TableShape, seed: int) -> BaseEstimator:
    return ChainedEquations(
        max_iter=int(parameters["iterations"]),
        n_nearest_features=_MAX_REGRESSORS if shape.n_columns > _MAX_REGRESSORS else None,
        keep_empty_features=True,
        random_state=seed,
    )


MICE = Algorithm(
    "imputation",
    "mice",
    (Integer("iterations", 1, 20, 5, log=True),),
    _build,
    family="imputation",
    takes=frozenset({"missing", "negative", "collinear"}),
    cost=Cost(0.3, 0.7, 1.1),
    max_columns=200,
    max_patients=3_000,
    stored_types=(
        "autoprog.space.imputation.mice.ChainedEquations",
        "sklearn.impute._iterative._ImputerTriplet",
    ),
    reference="van Buuren & Groothuis-Oudshoorn, J. Stat. Softw. 45 (2011) 3",
)
