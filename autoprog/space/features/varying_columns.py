"""Leaving out columns that hold nothing but rounding."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

# Of a standardised column, or of a principal component of such; rounding leaves about 1e-32 where there is none.
MIN_VARIANCE = 1e-9

VARYING_COLUMNS = "autoprog.space.features.varying_columns.VaryingColumns"


class VaryingColumns(SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """Keep the columns that vary among the training patients; the most varying one where none does.

    scikit-learn's `VarianceThreshold` raises where no column varies, which can happen in one fold of a small cohort.

    Parameters
    ----------
    least_variance : float
        A column stays where its variance is larger.

    Attributes
    ----------
    kept_ : ndarray of bool, shape = (n_columns,)
        Which columns stay.
    """

    def __init__(self, least_variance: float = MIN_VARIANCE) -> None:
        self.least_variance = least_variance

    def fit(self, X: ArrayLike, y: object = None) -> Self:  # noqa: ARG002  scikit-learn's signature
        """Find the columns to keep.

        Parameters
        ----------
        X : array-like, shape = (n_patients, n_columns)
            Columns of comparable scale.
        y : object
            Ignored.

        Returns
        -------
        VaryingColumns
            Itself.
        """
        variance: NDArray[np.float64] = validate_data(self, X, dtype=np.float64).var(axis=0)
        self.kept_: NDArray[np.bool_] = variance > self.least_variance
        if not self.kept_.any():
            self.kept_[np.argmax(variance)] = True
        return self

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        return self.kept_
