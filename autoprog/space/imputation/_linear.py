"""Base of imputers that predict a missing cell linearly from the observed ones."""

from __future__ import annotations

from abc import abstractmethod
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import validate_data

from autoprog.space.fitted_rows import check_rows
from autoprog.space.imputation._conditional_mean import MissingCells
from autoprog.space.imputation._observed import observed_range


class LinearImputer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Impute the conditional expectation under a location and a precision matrix, which subclasses estimate."""

    def fit(self, X: ArrayLike, y: object = None) -> Self:  # noqa: ARG002  scikit-learn's signature
        """Estimate location and precision; NaN is missing."""
        table: NDArray[np.float64] = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan")
        missing = np.isnan(table)
        self.lowest_, self.highest_ = observed_range(table)
        self.location_, self.scale_ = _location_and_scale(table, missing)
        Z = np.where(missing, 0.0, (table - self.location_) / self.scale_)
        # The precision is that of the standardised columns, up to a factor.
        shift, self.precision_ = self._estimate(Z, missing)
        self.location_ = self.location_ + self.scale_ * shift
        return self

    @abstractmethod
    def _estimate(
        self, Z: NDArray[np.float64], missing: NDArray[np.bool_]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Location and precision of a standardised table that is 0 where a cell is missing."""

    def transform(self, X: ArrayLike) -> NDArray[np.float64]:
        """Impute the missing cells of these patients; observed cells stay."""
        table = check_rows(self, X)
        missing = np.isnan(table)
        Z = np.where(missing, 0.0, (table - self.location_) / self.scale_)
        MissingCells(missing).impute(Z, self.precision_)
        # Clipped, so that a mistyped value of a new patient cannot drive the other cells out of bounds.
        imputed = np.clip(self.location_ + self.scale_ * Z, self.lowest_, self.highest_)
        return np.where(missing, imputed, table)

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _location_and_scale(
    X: NDArray[np.float64], missing: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and standard deviation of each column's observed cells; 0 and 1 if there are none."""
    n_observed = np.maximum((~missing).sum(axis=0), 1)
    location = np.where(missing, 0.0, X).sum(axis=0) / n_observed
    deviations = np.where(missing, 0.0, X - location)
    scale = np.sqrt((deviations**2).sum(axis=0) / n_observed)
    # Rounding leaves a constant column with a deviation of a few units in the last place.
    varies = scale > 1e-10 * np.abs(location)
    return location, np.where(varies & (scale > 0), scale, 1.0)
