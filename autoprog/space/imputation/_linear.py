"""What imputers have in common that predict a missing cell linearly from the observed ones."""

from __future__ import annotations

from abc import abstractmethod
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from autoprog.space.imputation._conditional_mean import MissingCells
from autoprog.space.imputation._observed import observed_range


class LinearImputer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Imputes the conditional expectation under a location and a precision matrix, which subclasses estimate.

    Columns are standardised by their observed cells before the estimation. An imputed cell is kept within the range of
    its column's observed training cells, so that no mistyped value of a new patient drives the others out of all
    bounds. A column without any observed training cell is imputed by 0 and has no influence on the others.

    Attributes
    ----------
    location_, scale_ : ndarray, shape = (n_columns,)
        A cell's standardised value is `(x - location_) / scale_`.
    precision_ : ndarray, shape = (n_columns, n_columns)
        Of the standardised columns, up to a factor; positive definite.
    lowest_, highest_ : ndarray, shape = (n_columns,)
        Range of the observed training cells.
    """

    def fit(self, X: ArrayLike, y: object = None) -> Self:  # noqa: ARG002  scikit-learn's signature
        """Estimate location and precision.

        Parameters
        ----------
        X : array-like, shape = (n_patients, n_columns)
            Design matrix; NaN is missing.
        y : object
            Ignored.

        Returns
        -------
        LinearImputer
            Itself.
        """
        table: NDArray[np.float64] = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan")
        missing = np.isnan(table)
        self.lowest_, self.highest_ = observed_range(table)
        self.location_, self.scale_ = _location_and_scale(table, missing)
        Z = np.where(missing, 0.0, (table - self.location_) / self.scale_)
        shift, self.precision_ = self._estimate(Z, missing)
        self.location_ = self.location_ + self.scale_ * shift
        return self

    @abstractmethod
    def _estimate(
        self, Z: NDArray[np.float64], missing: NDArray[np.bool_]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Location and precision of a standardised table that is 0 where a cell is missing."""

    def transform(self, X: ArrayLike) -> NDArray[np.float64]:
        """Impute the missing cells of these patients.

        Parameters
        ----------
        X : array-like, shape = (n_patients, n_columns)
            Design matrix; NaN is missing.

        Returns
        -------
        ndarray, shape = (n_patients, n_columns)
            Observed cells as they were, and no NaN.
        """
        check_is_fitted(self)
        table: NDArray[np.float64] = validate_data(
            self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=False
        )
        missing = np.isnan(table)
        Z = np.where(missing, 0.0, (table - self.location_) / self.scale_)
        MissingCells(missing).impute(Z, self.precision_)
        imputed = np.clip(self.location_ + self.scale_ * Z, self.lowest_, self.highest_)
        return np.where(missing, imputed, table)

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _location_and_scale(
    X: NDArray[np.float64], missing: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and standard deviation of each column's observed cells; 0 and 1 where there are none."""
    n_observed = np.maximum((~missing).sum(axis=0), 1)
    location = np.where(missing, 0.0, X).sum(axis=0) / n_observed
    deviations = np.where(missing, 0.0, X - location)
    scale = np.sqrt((deviations**2).sum(axis=0) / n_observed)
    # Rounding leaves a constant column a deviation of some units in its last place.
    varies = scale > 1e-10 * np.abs(location)
    return location, np.where(varies & (scale > 0), scale, 1.0)
