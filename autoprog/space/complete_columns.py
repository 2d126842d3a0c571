"""Filling cells of columns that no training patient lacks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data


class CompleteColumns(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Fill the missing cells of new patients in columns that were complete in training; leave all others missing.

    A learner that takes missing cells has learnt nothing about a column without any: gradient boosting would send
    such a patient down a side that no data chose, or read the cell as 0.

    Parameters
    ----------
    categorical : sequence of int
        Columns of codes, which get their most frequent one; the others get their median.

    Attributes
    ----------
    values_ : ndarray, shape = (n_columns,)
        What a missing cell becomes; NaN for a column that had missing cells in training.
    """

    def __init__(self, categorical: Sequence[int] = ()) -> None:
        self.categorical = categorical

    def fit(self, X: ArrayLike, y: object = None) -> Self:  # noqa: ARG002  scikit-learn's signature
        """Find the value of each complete column.

        Parameters
        ----------
        X : array-like, shape = (n_patients, n_columns)
            Design matrix; NaN is missing.
        y : object
            Ignored.

        Returns
        -------
        CompleteColumns
            Itself.
        """
        table: NDArray[np.float64] = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan")
        self.values_ = np.full(table.shape[1], np.nan)
        for j in np.flatnonzero(~np.isnan(table).any(axis=0)):
            column = table[:, j]
            if j in self.categorical:
                self.values_[j] = np.bincount(column.astype(np.int64)).argmax()
            else:
                self.values_[j] = np.median(column)
        return self

    def transform(self, X: ArrayLike) -> NDArray[np.float64]:
        """These patients with the cells filled, shape = (n_patients, n_columns)."""
        check_is_fitted(self)
        table: NDArray[np.float64] = validate_data(
            self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=False
        )
        filled: NDArray[np.float64] = np.where(np.isnan(table), self.values_, table)
        return filled

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
