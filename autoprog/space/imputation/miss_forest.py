"""Imputation by chained random forests, which are kept to impute new patients.

References
----------
Stekhoven & Bühlmann 2012, Bioinformatics 28, algorithm 1; forests kept for new patients: Albu et al. 2024,
missForestPredict, arXiv 2407.03379.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.ensemble import RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.utils import Tags
from sklearn.utils.validation import validate_data

from autoprog.space._base import Algorithm, Cost, TableShape
from autoprog.space.fitted_rows import check_rows
from autoprog.space.hyperparameters import Float, Integer, Parameter

# Fewest patients in a leaf: missForest's default for numbers.
_MIN_LEAF = 5

# A tree is grown on at most this many patients: with 1,000 the error was no smaller and the time twice as long.
_MAX_PATIENTS_OF_A_TREE = 500


# A column of 0 and 1 is imputed by the mean of its trees, which is a probability. The imputed dummies of a feature sum
# to one except for the differences between their forests.
class MissForest(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Impute each column by a random forest on all others, round after round, starting from the column means."""

    def __init__(
        self, trees: int = 10, max_features: float = 0.3, *, max_iter: int = 3, random_state: int | None = None
    ) -> None:
        self.trees = trees
        self.max_features = max_features
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: object = None) -> Self:  # noqa: ARG002  scikit-learn's signature
        """Grow the forests; NaN is missing."""
        table: NDArray[np.float64] = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan")
        rng = np.random.default_rng(self.random_state)
        missing = np.isnan(table)
        self.initial_imputer_ = SimpleImputer(keep_empty_features=True).fit(table)
        filled: NDArray[np.float64] = self.initial_imputer_.transform(table)
        n_missing = missing.sum(axis=0)
        # Columns with the fewest missing cells first.
        self.order_ = [int(j) for j in np.argsort(n_missing, kind="stable")]
        alone = table.shape[1] == 1
        learnt = [j for j in self.order_ if n_missing[j] < len(table) and not alone]
        filled = self._rounds(filled, missing, [j for j in learnt if n_missing[j]], rng)
        self.forests_: list[RandomForestRegressor | None] = [None] * table.shape[1]
        # Grown once more for new patients, also for complete columns: keeping the forests of every round would multiply
        # the size of the model.
        for j in learnt:
            self.forests_[j] = self._grow(filled, missing[:, j], j, rng)
        return self

    def _rounds(
        self,
        filled: NDArray[np.float64],
        missing: NDArray[np.bool_],
        columns: Sequence[int],
        rng: np.random.Generator,
    ) -> NDArray[np.float64]:
        """Impute round after round; return the table before the first round that changed more than its predecessor."""
        variance = filled.var(axis=0)
        precision = np.divide(1.0, variance, out=np.zeros_like(variance), where=variance > 0)
        change = np.inf
        self.n_iter_ = 1
        for n_rounds in range(1, self.max_iter + 1):
            updated = filled.copy()
            for j in columns:
                forest = self._grow(updated, missing[:, j], j, rng)
                _impute_column(updated, missing[:, j], j, forest)
            before, change = change, float(((updated - filled) ** 2 * precision).sum())
            if change >= before:
                break
            filled, self.n_iter_ = updated, n_rounds
        return filled

    def _grow(
        self, filled: NDArray[np.float64], missing: NDArray[np.bool_], j: int, rng: np.random.Generator
    ) -> RandomForestRegressor:
        """The forest of column `j` on all others, from the patients in whom it is observed."""
        observed = ~missing
        n_observed = int(observed.sum())
        forest = RandomForestRegressor(
            self.trees,
            max_features=self.max_features,
            min_samples_leaf=_MIN_LEAF,
            max_samples=min(n_observed, _MAX_PATIENTS_OF_A_TREE),
            n_jobs=1,
            random_state=int(rng.integers(2**31)),
        )
        return forest.fit(np.delete(filled[observed], j, axis=1), filled[observed, j])

    def transform(self, X: ArrayLike) -> NDArray[np.float64]:
        """Impute the missing cells of these patients; observed cells stay."""
        table = check_rows(self, X)
        missing = np.isnan(table)
        filled: NDArray[np.float64] = self.initial_imputer_.transform(table)
        for _ in range(self.n_iter_):
            for j in self.order_:
                forest = self.forests_[j]
                if forest is not None:
                    _impute_column(filled, missing[:, j], j, forest)
        return filled

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _impute_column(
    filled: NDArray[np.float64], missing: NDArray[np.bool_], j: int, forest: RandomForestRegressor
) -> None:
    if missing.any():
        filled[missing, j] = forest.predict(np.delete(filled[missing], j, axis=1))


def _build(parameters: Mapping[str, Parameter], _shape: TableShape, seed: int) -> BaseEstimator:
    return MissForest(int(parameters["trees"]), float(parameters["max_features"]), random_state=seed)


MISS_FOREST = Algorithm(
    "imputation",
    "miss_forest",
    # A third of the columns is usual for regression forests.
    (Integer("trees", 5, 30, 10, log=True), Float("max_features", 0.1, 1.0, 0.3, log=True)),
    _build,
    family="imputation",
    takes=frozenset({"missing", "negative", "collinear"}),
    cost=Cost(1.5, 0.3, 1.6),
    max_columns=100,
    max_cells=10_000_000,  # every patient passes the forests of all missing columns in every round
    max_patients=5000,
    stored_types=("autoprog.space.imputation.miss_forest.MissForest", "sklearn.tree._tree.Tree"),
    reference="Stekhoven & Bühlmann, Bioinformatics 28 (2012) 112-118; 100 trees and 10 rounds there",
)
