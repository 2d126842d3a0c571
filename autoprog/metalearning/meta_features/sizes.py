"""Sizes of a cohort, and kinds of its features."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort import Feature

RARE = 0.01
"""Share of the patients below which a level is rare."""


def size_features(
    features: Sequence[Feature], X: NDArray[np.float64], n_patients: int, n_columns: int
) -> dict[str, float]:
    """Describe the size of a cohort and the kinds of its features; `n_columns` counts the design matrix."""
    levels = [len(f.levels) for f in features if f.kind != "numeric"]
    shares = {
        f"{kind}_share": sum(f.kind == kind for f in features) / max(len(features), 1)
        for kind in ("numeric", "binary", "categorical", "ordinal")
    }
    return {
        "n_patients": float(n_patients),
        "n_features": float(len(features)),
        "n_columns": float(n_columns),
        "patients_per_column": n_patients / max(n_columns, 1),
        **shares,
        "levels_mean": float(np.mean(levels)) if levels else 0.0,
        "levels_max": float(max(levels, default=0)),
        "rare_level_share": _rare_levels(features, X) / max(sum(levels), 1),
    }


def _rare_levels(features: Sequence[Feature], X: NDArray[np.float64]) -> int:
    rare = 0
    for feature, x in zip(features, X.T, strict=True):
        if feature.kind != "numeric":
            codes = x[~np.isnan(x)].astype(np.intp)
            rare += int((np.bincount(codes, minlength=len(feature.levels)) < RARE * len(x)).sum())
    return rare
