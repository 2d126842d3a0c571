"""From the cohort's matrix of numbers and codes to a design matrix that every learner takes.

Its columns are the features in the cohort's order, as one column or as dummies each, then the missingness indicators.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import validate_data

from autoprog.cohort import Feature
from autoprog.space.fitted_rows import check_rows

MAX_DUMMIES = 50
_MIN_RANGE = 2.0**-7
_LARGEST_POWER = 1023  # a larger power of 2 overflows
_ROWS_AT_ONCE = 10_000


def n_columns(feature: Feature) -> int:
    """Number of columns of a feature in the design matrix."""
    return min(len(feature.levels), MAX_DUMMIES) if feature.kind == "categorical" else 1


class DesignMatrix(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Turn codes of unordered levels into dummies, or recode them, and rescale columns of tiny range."""

    def __init__(self, n_levels: Sequence[int], indicated: Sequence[int] = (), *, codes: bool = False) -> None:
        self.n_levels = n_levels  # per feature; 0 for a feature that stays one column
        self.indicated = indicated  # features with a missingness indicator
        self.codes = codes  # keep one column of codes for learners that take unordered levels

    @classmethod
    def for_features(
        cls, features: Sequence[Feature], *, missing_indicators: bool = False, codes: bool = False
    ) -> DesignMatrix:
        """The design matrix of a cohort's features; indicators are for features with missing cells in the cohort."""
        n_levels = [len(f.levels) if f.kind == "categorical" else 0 for f in features]
        indicated = [j for j, f in enumerate(features) if missing_indicators and f.missing_fraction > 0]
        return cls(n_levels, indicated, codes=codes)

    def fit(self, X: ArrayLike, y: object = None) -> Self:  # noqa: ARG002  scikit-learn's signature
        """Find the levels that get a dummy of their own."""
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
        """Design matrix of these patients, shape = (n_patients, n_columns); NaN is missing."""
        cells = check_rows(self, X)
        if not any(self.n_levels) and not self.indicated:
            return cells * self.scale_
        widths = [1 if self.codes else max(1, min(n, MAX_DUMMIES)) for n in self.n_levels]
        begins = np.cumsum([0, *widths])
        numbers = [j for j, n in enumerate(self.n_levels) if not n]
        # In place, and in parts: a list of blocks would hold a large cohort's matrix twice.
        matrix = np.empty((len(cells), begins[-1] + len(self.indicated)))
        for first in range(0, len(cells), _ROWS_AT_ONCE):
            part, told = cells[first : first + _ROWS_AT_ONCE], matrix[first : first + _ROWS_AT_ONCE]
            told[:, begins[numbers]] = part[:, numbers] * self.scale_[numbers]
            for j, (n, begin, width) in enumerate(zip(self.n_levels, begins, widths, strict=False)):
                if n:
                    told[:, begin : begin + width] = self._block(part[:, j], j)
            told[:, begins[-1] :] = np.isnan(part[:, list(self.indicated)])
        return matrix

    def _block(self, codes: NDArray[np.float64], feature: int) -> NDArray[np.float64]:
        n = self.n_levels[feature]
        if self.codes:
            return _codes(codes, _places(tuple(self.dummies_[feature]), tuple(self.seen_[feature]), n))
        return _dummies(codes, self.dummies_[feature], n)

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


# A numeric column that varies by less than 1/128 (a hormone in mol/l) is multiplied by the power of 2 that makes its
# range about 1: scikit-learn's trees treat values within 1e-7 as equal.
def _scale(column: NDArray[np.float64]) -> float:
    observed = column[~np.isnan(column)]
    spread = float(np.ptp(observed)) if len(observed) else 0.0
    if not 0 < spread < _MIN_RANGE:
        return 1.0
    return float(2.0 ** min(-np.floor(np.log2(spread)), _LARGEST_POWER))


def _frequent_levels(codes: NDArray[np.float64], n_levels: int) -> list[int]:
    """Levels with their own dummy, ascending."""
    if n_levels <= MAX_DUMMIES:
        return list(range(n_levels))
    # The last dummy stands for all levels that are not among the most frequent ones.
    counts = np.bincount(codes[~np.isnan(codes)].astype(np.int64), minlength=n_levels)
    most_frequent = np.argsort(-counts, kind="stable")[: MAX_DUMMIES - 1]
    return [int(level) for level in np.sort(most_frequent)]


def _dummies(codes: NDArray[np.float64], levels: list[int], n_levels: int) -> NDArray[np.float64]:
    dummies: NDArray[np.float64] = (codes[:, None] == np.array(levels, dtype=np.float64)[None, :]).astype(np.float64)
    if len(levels) < n_levels:
        dummies = np.column_stack([dummies, 1.0 - dummies.sum(axis=1)])
    # Missing in all dummies, so that the imputation stage decides.
    dummies[np.isnan(codes)] = np.nan
    return dummies


@lru_cache(maxsize=1024)  # for one patient they would take most of the time
def _places(levels: tuple[int, ...], seen: tuple[int, ...], n_levels: int) -> NDArray[np.float64]:
    """Place of each level among `levels`; others share the next place; NaN for one that no training patient has."""
    places = np.full(n_levels, len(levels), dtype=np.float64)
    places[list(levels)] = np.arange(len(levels))
    places[np.setdiff1d(np.arange(n_levels), seen)] = np.nan
    places.flags.writeable = False
    return places


def _codes(codes: NDArray[np.float64], places: NDArray[np.float64]) -> NDArray[np.float64]:
    """Place of each code, shape = (n, 1)."""
    column = np.full((len(codes), 1), np.nan)
    known = ~np.isnan(codes)
    column[known, 0] = places[codes[known].astype(np.int64)]
    return column
