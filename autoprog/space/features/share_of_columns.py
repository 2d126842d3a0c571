"""A number of outputs that is a share of the columns at hand."""

from __future__ import annotations

from math import ceil
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data

SHARE_OF_COLUMNS = "autoprog.space.features.share_of_columns.ShareOfColumns"


class ShareOfColumns(MetaEstimatorMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Fit a transformer with as many outputs as are a share of the columns, or of the patients if these are fewer.

    How many there are is known at the fit only: a fold of a fold has fewer patients, and other columns that are
    constant in it. A single column is handed on as it is.

    Parameters
    ----------
    transformer : estimator
        Unfitted; a clone of it is fitted.
    parameter : str
        Its parameter that holds the number of outputs.
    share : float
        In (0, 1]; the number is rounded up.

    Attributes
    ----------
    transformer_ : estimator or None
        Fitted; None where there is one column.
    """

    def __init__(self, transformer: BaseEstimator, parameter: str, share: float) -> None:
        self.transformer = transformer
        self.parameter = parameter
        self.share = share

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Fit the transformer.

        Parameters
        ----------
        X : array-like, shape = (n_patients, n_columns)
            Without missing cells.
        y : object
            Handed on.

        Returns
        -------
        ShareOfColumns
            Itself.
        """
        columns: NDArray[np.float64] = validate_data(self, X, dtype=np.float64)
        self.transformer_ = None
        if columns.shape[1] > 1:
            outputs = ceil(self.share * min(columns.shape))
            self.transformer_ = clone(self.transformer).set_params(**{self.parameter: outputs}).fit(columns, y)
        return self

    def transform(self, X: ArrayLike) -> NDArray[np.float64]:
        """Transform any number of patients.

        Parameters
        ----------
        X : array-like, shape = (n_patients, n_columns)
            Without missing cells.

        Returns
        -------
        ndarray, shape = (n_patients, n_outputs)
            What the transformer makes of them.
        """
        check_is_fitted(self, "transformer_")
        columns: NDArray[np.float64] = validate_data(self, X, dtype=np.float64, reset=False)
        if self.transformer_ is None:
            return columns
        transformed: NDArray[np.float64] = self.transformer_.transform(columns)
        return transformed
