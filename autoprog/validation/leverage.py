"""Leverage: how unusual a patient's values are among those that a model was fitted on.

    X      cohort's matrix: numbers and codes of levels, NaN is missing                   (n, n_features)
    Z      its columns, a 0/1 column a level of a categorical feature, standardised; 0 where missing   (n, d)
    C      Z'Z / n + ridge I = U diag(l) U', r largest l kept                             (d, d)
    h      leverage z' U diag(1/l) U' z, about r on average; unit 1                       (n,)

In a linear model with constant variance, the variance of a patient's linear predictor is proportional to h.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort import Feature

_Floats = NDArray[np.float64]

_RIDGE = 0.01
_MAX_DIRECTIONS = 20
_MAX_LEVELS = 20  # levels of a categorical feature with a column of their own


@dataclass(frozen=True, eq=False)
class Leverage:
    """Leverage relative to the patients that it was fitted to."""

    levels: tuple[int, ...]  # columns of each categorical feature, 0 for a feature that stays one column
    centre: _Floats  # means of the columns, (d,)
    scale: _Floats  # standard deviations of the columns, (d,)
    directions: _Floats  # diag(l)^(-1/2) U', (r, d)

    @classmethod
    def fit(cls, features: Sequence[Feature], X: _Floats) -> Self:
        """Fit to the patients X, shape = (n, n_features); keeps the 20 directions of largest variance."""
        levels = tuple(min(len(f.levels), _MAX_LEVELS) if f.kind == "categorical" else 0 for f in features)
        columns = _columns(levels, X)
        known = ~np.isnan(columns)
        count = np.maximum(known.sum(axis=0), 1)
        centre = np.where(known, columns, 0.0).sum(axis=0) / count
        deviations = np.where(known, columns - centre, 0.0)
        scale = np.sqrt((deviations**2).sum(axis=0) / count)
        scale[scale == 0] = 1.0
        Z = deviations / scale
        l, U = np.linalg.eigh(Z.T @ Z / len(Z) + _RIDGE * np.eye(Z.shape[1]))  # noqa: E741  the table's symbol
        # Rounding may leave eigenvalues below the ridge.
        directions = (U / np.sqrt(np.maximum(l, _RIDGE))).T[::-1][:_MAX_DIRECTIONS]
        return cls(levels, centre, scale, directions)

    def __call__(self, X: _Floats) -> _Floats:
        """Leverage, at least 0, of patients described by the same features."""
        columns = _columns(self.levels, X)
        Z = np.where(np.isnan(columns), 0.0, (columns - self.centre) / self.scale)
        h: _Floats = ((Z @ self.directions.T) ** 2).sum(axis=1)
        return h

    def to_json(self) -> dict[str, Any]:
        """JSON document."""
        return {
            "levels": list(self.levels),
            "centre": self.centre.tolist(),
            "scale": self.scale.tolist(),
            "directions": self.directions.tolist(),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Read what `to_json` wrote; raises KeyError, TypeError or ValueError for any other document."""
        levels = tuple(int(n) for n in document["levels"])
        centre, scale = (np.array(document[key], dtype=np.float64) for key in ("centre", "scale"))
        directions = np.array(document["directions"], dtype=np.float64).reshape(-1, len(centre))
        if len(centre) != sum(max(1, n) for n in levels) or scale.shape != centre.shape:
            msg = "the leverage's columns do not match the features"
            raise ValueError(msg)
        return cls(levels, centre, scale, directions)


def _columns(levels: Sequence[int], X: _Floats) -> _Floats:
    blocks = []
    for x, n in zip(X.T, levels, strict=True):
        block = (x[:, None] == np.arange(n)).astype(np.float64) if n else x[:, None].astype(np.float64)
        block[np.isnan(x)] = np.nan
        blocks.append(block)
    return np.hstack(blocks)
