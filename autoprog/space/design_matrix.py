"""From the cohort's matrix of numbers and codes to the design matrix that every learner can take.

Order of its columns: the features as the cohort has them, each as one column or as its dummies, then the indicators of
missing cells.
"""

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
_MIN_RANGE = 2.0**-7
_LARGEST_POWER = 1023  # 2 to a larger one is no number


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
    indicated : sequence of int
        Features that get an indicator: 1 where their cell is missing, 0 elsewhere.
    codes : bool
        For learners that take unordered levels as they are: leave a categorical feature one column of codes. Levels
        that would share the last dummy share a code, and a level that no training patient has is missing.

    Attributes
    ----------
    scale_ : ndarray, shape = (n_features,)
        What a numeric feature is multiplied by: 1, or, of one that varies by less than 1/128 among the training
        patients (a hormone in mol/l), the power of 2 that makes its range about 1. scikit-learn's trees take values
        within 1e-7 for equal.
    """

    def __init__(self, n_levels: Sequence[int], indicated: Sequence[int] = (), *, codes: bool = False) -> None:
        self.n_levels = n_levels
        self.indicated = indicated
        self.codes = codes

    @classmethod
    def for_features(
        cls, features: Sequence[Feature], *, missing_indicators: bool = False, codes: bool = False
    ) -> DesignMatrix:
        """The design matrix of a cohort's features; indicators are for those with missing cells in the whole cohort."""
        n_levels = [len(f.levels) if f.kind == "categorical" else 0 for f in features]
        indicated = [j for j, f in enumerate(features) if missing_indicators and f.missing_fraction > 0]
        return cls(n_levels, indicated, codes=codes)

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
        self.scale_: NDArray[np.float64] = np.array(
            [1.0 if n else _scale(codes[:, j]) for j, n in enumerate(self.n_levels)]
        )
        self.seen_: list[list[int]] = [
            np.unique(codes[:, j][~np.isnan(codes[:, j])]).astype(int).tolist() if n else []
            for j, n in enumerate(self.n_levels)
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
        cells: NDArray[np.float64] = validate_data(
            self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=False
        )
        if not any(self.n_levels) and not self.indicated:
            return cells * self.scale_
        widths = [1 if self.codes else max(1, min(n, MAX_DUMMIES)) for n in self.n_levels]
        # In place: the blocks of a large cohort side by side in a list would be its matrix once more.
        matrix = np.empty((len(cells), sum(widths) + len(self.indicated)))
        for j, (n, width, end) in enumerate(zip(self.n_levels, widths, np.cumsum(widths), strict=True)):
            matrix[:, end - width : end] = self._block(cells[:, j], j) if n else cells[:, [j]] * self.scale_[j]
        matrix[:, sum(widths) :] = np.isnan(cells[:, list(self.indicated)])
        return matrix

    def _block(self, codes: NDArray[np.float64], feature: int) -> NDArray[np.float64]:
        n = self.n_levels[feature]
        if self.codes:
            return _codes(codes, self.dummies_[feature], self.seen_[feature], n)
        return _dummies(codes, self.dummies_[feature], n)

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _scale(column: NDArray[np.float64]) -> float:
    observed = column[~np.isnan(column)]
    spread = float(np.ptp(observed)) if len(observed) else 0.0
    if not 0 < spread < _MIN_RANGE:
        return 1.0
    return float(2.0 ** min(-np.floor(np.log2(spread)), _LARGEST_POWER))


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


def _codes(codes: NDArray[np.float64], levels: list[int], seen: list[int], n_levels: int) -> NDArray[np.float64]:
    """Place of each code among `levels`, the next one for all others; shape = (n, 1)."""
    places = np.full(n_levels, len(levels), dtype=np.float64)
    places[levels] = np.arange(len(levels))
    places[np.setdiff1d(np.arange(n_levels), seen)] = np.nan
    column = np.full((len(codes), 1), np.nan)
    known = ~np.isnan(codes)
    column[known, 0] = places[codes[known].astype(np.int64)]
    return column
