"""From the cohort's matrix of numbers and codes to the design matrix that every learner can take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from autoprog.cohort import Feature

MAX_DUMMIES = 50


def n_columns(feature: Feature) -> int:
    """Columns that a feature takes in the design matrix."""
    return min(len(feature.levels), MAX_DUMMIES) if feature.kind == "categorical" else 1


class DesignMatrix(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Turn codes of unordered levels into dummies; leave every other column as it is.

    A missing cell, and a level that has no dummy, are missing in all dummies of their feature, so that the imputation
    stage decides what they become. A feature of more than `MAX_DUMMIES` levels keeps those that the training patients
    have most often; its last dummy stands for all the others.

    Parameters
    ----------
    n_levels : sequence of int, length n_features
        Number of levels of each categorical feature, 0 for a feature that stays one column.
    """

    def __init__(self, n_levels: Sequence[int]) -> None:
        self.n_levels = n_levels

    @classmethod
    def for_features(cls, features: Sequence[Feature]) -> DesignMatrix:
        """The design matrix of a cohort's features."""
        return cls([len(f.levels) if f.kind == "categorical" else 0 for f in features])

    def fit(self, X: ArrayLike, y: object = None) -> Self:  # noqa: ARG002  scikit-learn's signature
        """Find the levels that get a dummy of their own.

        Parameters
        ----------
        X : array-like, shape = (n_patients, n_features)
            Numbers and codes; NaN is missing.
        y : object
            Ignored.

        Returns
        -------
        DesignMatrix
            Itself.
        """
        codes: NDArray[np.float64] = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan")
        self.dummies_: list[list[int]] = [
            _frequent_levels(codes[:, j], n) if n else [] for j, n in enumerate(self.n_levels)
        ]
        return self

    def transform(self, X: ArrayLike) -> NDArray[np.float64]:
        """Design matrix of these patients.

        Parameters
        ----------
        X : array-like, shape = (n_patients, n_features)
            Numbers and codes; NaN is missing.

        Returns
        -------
        ndarray, shape = (n_patients, n_columns)
            float64, with NaN where a value is not known.
        """
        check_is_fitted(self)
        codes = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=False)
        blocks = [
            _dummies(codes[:, j], self.dummies_[j], n) if n else codes[:, [j]] for j, n in enumerate(self.n_levels)
        ]
        return np.hstack(blocks)

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _frequent_levels(codes: NDArray[np.float64], n_levels: int) -> list[int]:
    """Levels with a dummy of their own, in the order of their codes."""
    if n_levels <= MAX_DUMMIES:
        return list(range(n_levels))
    counts = np.bincount(codes[~np.isnan(codes)].astype(np.int64), minlength=n_levels)
    most_frequent = np.argsort(-counts, kind="stable")[: MAX_DUMMIES - 1]
    return [int(level) for level in np.sort(most_frequent)]


def _dummies(codes: NDArray[np.float64], levels: list[int], n_levels: int) -> NDArray[np.float64]:
    dummies: NDArray[np.float64] = (codes[:, None] == np.array(levels, dtype=np.float64)[None, :]).astype(np.float64)
    if len(levels) < n_levels:
        dummies = np.column_stack([dummies, 1.0 - dummies.sum(axis=1)])
    dummies[np.isnan(codes)] = np.nan
    return dummies
