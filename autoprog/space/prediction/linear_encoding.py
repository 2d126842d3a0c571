"""Encoding for linear learners: no missing cells, no long tails, one scale.

=======  =========================================================================================  ==========
symbol   meaning                                                                                    shape
=======  =========================================================================================  ==========
x        columns of the design matrix, NaN for missing                                              (n, d)
c, s     median and interquartile range of each column, half the range if the latter is 0           (d,)
z        (x - c) / s, bent smoothly into (-3, 3): u / sqrt(1 + (u / 3)^2)                           (n, d)
=======  =========================================================================================  ==========

A missing cell gets the median, and an indicator column marks missing cells. Columns that distinguish fewer than three
patients, or one in 500, are left out. Every encoded column is scaled to mean 0 and variance 1.

References
----------
Holzmueller, Grinsztajn & Steinwart (2024), Better by default: strong pre-tuned MLPs and boosted trees on tabular data,
NeurIPS: the scale and the bend.
"""

from __future__ import annotations

import warnings
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import validate_data

from autoprog.space.fitted_rows import check_rows

_CLIP = 3.0
_MIN_PATIENTS, _MIN_SHARE = 3, 0.002
_TOLD_APART = 1e-9


class LinearEncoding(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """The encoding of this module: the kept columns, then the indicators; one column of zeros if there are none."""

    def fit(self, X: ArrayLike, y: object = None) -> Self:  # noqa: ARG002  scikit-learn's signature
        """Learn the encoding; NaN is missing."""
        x: NDArray[np.float64] = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan")
        least = max(_MIN_PATIENTS, int(np.ceil(_MIN_SHARE * len(x))))
        missing = np.isnan(x)
        n_missing = missing.sum(axis=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a column without any known cell
            low, centre, high = np.nanquantile(x, [0.25, 0.5, 0.75], axis=0)
            lowest, highest = np.nanmin(x, axis=0), np.nanmax(x, axis=0)
        self.centre_ = np.nan_to_num(centre)
        scale = np.where(high > low, high - low, (highest - lowest) / 2.0)
        self.scale_ = np.where(np.nan_to_num(scale) > 0, scale, 1.0)
        differing = ((x != self.centre_) & ~missing).sum(axis=0)
        self.kept_ = np.flatnonzero(differing >= least)
        candidates = np.flatnonzero((n_missing >= least) & (len(x) - n_missing >= least))
        _, first = np.unique(missing[:, candidates], axis=1, return_index=True)
        self.indicated_ = candidates[np.sort(first)]
        self.n_columns_out_ = max(1, len(self.kept_) + len(self.indicated_))
        encoded = self._encoded(x)
        self.mean_, deviation = encoded.mean(axis=0), encoded.std(axis=0)
        self.deviation_ = np.where(deviation > _TOLD_APART, deviation, 1.0)
        return self

    def transform(self, X: ArrayLike) -> NDArray[np.float64]:
        """Encode patients, shape = (n_patients, n_columns_out_)."""
        x = check_rows(self, X)
        return np.asarray((self._encoded(x) - self.mean_) / self.deviation_)

    def _encoded(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        encoded = np.zeros((len(x), self.n_columns_out_))
        k = len(self.kept_)
        u = (x[:, self.kept_] - self.centre_[self.kept_]) / self.scale_[self.kept_]
        u[np.isnan(u)] = 0.0
        encoded[:, :k] = u / np.sqrt(1.0 + (u / _CLIP) ** 2)
        encoded[:, k : k + len(self.indicated_)] = np.isnan(x[:, self.indicated_])
        return encoded

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
