"""The imputation stage of Table 1: what becomes of missing cells.

Every imputer is fitted on the training patients alone, keeps all columns, and gives a single new patient the same
answer that it gives him among others.
"""

from __future__ import annotations

from collections.abc import Mapping

from sklearn.base import BaseEstimator
from sklearn.experimental import enable_iterative_imputer  # noqa: F401  makes IterativeImputer importable
from sklearn.impute import IterativeImputer, SimpleImputer

from autoprog.space._base import Algorithm, TableShape
from autoprog.space.hyperparameters import Integer, Parameter

# Each column is regressed on this many others at most: beyond it the cost grows with the square of the width.
_MAX_REGRESSORS = 30


def _simple(strategy: str) -> Algorithm:
    def build(_parameters: Mapping[str, Parameter], _shape: TableShape, _seed: int) -> BaseEstimator:
        return SimpleImputer(strategy=strategy, keep_empty_features=True)

    return Algorithm("imputation", strategy, (), build, family="imputation")


def _mice(parameters: Mapping[str, Parameter], shape: TableShape, seed: int) -> BaseEstimator:
    """Chained equations with a Bayesian ridge regression a column (van Buuren & Groothuis-Oudshoorn 2011)."""
    return IterativeImputer(
        max_iter=int(parameters["iterations"]),
        n_nearest_features=_MAX_REGRESSORS if shape.n_columns > _MAX_REGRESSORS else None,
        keep_empty_features=True,
        random_state=seed,
    )


IMPUTATION: tuple[Algorithm, ...] = (
    _simple("mean"),
    _simple("median"),
    _simple("most_frequent"),
    Algorithm(
        "imputation",
        "mice",
        (Integer("iterations", 1, 20, 5, log=True),),
        _mice,
        family="imputation",
        stored_types=("sklearn.impute._iterative.IterativeImputer", "sklearn.impute._iterative._ImputerTriplet"),
    ),
    Algorithm("imputation", "none", (), lambda *_: None, family="imputation", takes_missing=True),
)
