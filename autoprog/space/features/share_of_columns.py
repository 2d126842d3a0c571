"""Transformers whose number of outputs is a share of the columns."""

from __future__ import annotations

from math import ceil
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, TransformerMixin, clone
from sklearn.utils.validation import validate_data

from autoprog.space.fitted_rows import check_rows

SHARE_OF_COLUMNS = "autoprog.space.features.share_of_columns.ShareOfColumns"


class ShareOfColumns(MetaEstimatorMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Fit a transformer with a share of the columns, or of the patients if fewer, as its number of outputs."""

    def __init__(self, transformer: BaseEstimator, parameter: str, share: float) -> None:
        self.transformer = transformer
        self.parameter = parameter  # the one that holds the number of outputs
        self.share = share  # in (0, 1]

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Fit the transformer; cells must not be missing, and `y` is passed on."""
        columns: NDArray[np.float64] = validate_data(self, X, dtype=np.float64)
        self.transformer_ = None
        if columns.shape[1] > 1:
            # Known only here: an inner fold has fewer patients, and other constant columns.
            outputs = ceil(self.share * min(columns.shape))
            self.transformer_ = clone(self.transformer).set_params(**{self.parameter: outputs}).fit(columns, y)
        return self

    def transform(self, X: ArrayLike) -> NDArray[np.float64]:
        """Transform any number of patients; a single column stays as it is."""
        columns = check_rows(self, X, missing=False)
        if self.transformer_ is None:
            return columns
        transformed: NDArray[np.float64] = self.transformer_.transform(columns)
        return transformed
