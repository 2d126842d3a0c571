"""Filling cells of columns that are complete in training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import validate_data

from autoprog.space.fitted_rows import check_rows


# A learner that takes missing cells learns nothing from a complete column: gradient boosting would send a patient with
# such a missing cell to an arbitrary side, or read the cell as 0.
class CompleteColumns(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Fill missing cells of new patients in columns that were complete in training; leave other cells missing."""

    def __init__(self, categorical: Sequence[int] = ()) -> None:
        self.categorical = categorical  # columns of codes

    def fit(self, X: ArrayLike, y: object = None) -> Self:  # noqa: ARG002  scikit-learn's signature
        """Find the fill value of each complete column: the mode of codes, the median of numbers."""
        table: NDArray[np.float64] = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan")
        self.values_ = np.full(table.shape[1], np.nan)  # NaN for a column with missing cells in training
        for j in np.flatnonzero(~np.isnan(table).any(axis=0)):
            column = table[:, j]
            if j in self.categorical:
                self.values_[j] = np.bincount(column.astype(np.int64)).argmax()
            else:
                self.values_[j] = np.median(column)
        return self

    def transform(self, X: ArrayLike) -> NDArray[np.float64]:
        """These patients with the cells filled, shape = (n_patients, n_columns)."""
        table = check_rows(self, X)
        filled: NDArray[np.float64] = np.where(np.isnan(table), self.values_, table)
        return filled

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
