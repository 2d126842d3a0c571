"""Leaving out columns that contain only rounding error."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

# Least variance of a standardised column, or a principal component of them; rounding alone leaves about 1e-32.
MIN_VARIANCE = 1e-9

VARYING_COLUMNS = "autoprog.space.features.varying_columns.VaryingColumns"


# scikit-learn's `VarianceThreshold` raises if no column varies, which can happen in a fold of a small cohort.
class VaryingColumns(SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """Keep the columns that vary among the training patients, or the one with the largest variance if none does."""

    def __init__(self, least_variance: float = MIN_VARIANCE) -> None:
        self.least_variance = least_variance

    def fit(self, X: ArrayLike, y: object = None) -> Self:  # noqa: ARG002  scikit-learn's signature
        """Find the columns to keep; their scales must be comparable."""
        variance: NDArray[np.float64] = validate_data(self, X, dtype=np.float64).var(axis=0)
        self.kept_: NDArray[np.bool_] = variance > self.least_variance
        if not self.kept_.any():
            self.kept_[np.argmax(variance)] = True
        return self

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        return self.kept_
