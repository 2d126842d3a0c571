"""Differences between other patients and those that a model was fitted on, by feature."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort import Feature

# Shares above which to warn: values outside the training range, and additional missing values.
_MANY_OUTSIDE, _MANY_MORE_MISSING = 0.05, 0.2


@dataclass(frozen=True, slots=True)
class FeatureShift:
    """One feature in the model's patients and in others."""

    feature: str
    training_range: tuple[float, float] | None  # None if the feature is no number, or nothing was observed
    range: tuple[float, float] | None
    outside: float  # share of the observed values outside the training range
    training_missing: float  # share of rows without a value
    missing: float

    @classmethod
    def of(cls, feature: Feature, x: NDArray[np.float64]) -> FeatureShift:
        """Compare a model's feature with other patients' values x, in which NaN is missing."""
        seen = x[~np.isnan(x)]
        training = here = None
        outside = 0.0
        if feature.kind == "numeric" and len(seen):
            here = (float(seen.min()), float(seen.max()))
            if feature.minimum is not None and feature.maximum is not None:
                training = (feature.minimum, feature.maximum)
                outside = float(np.mean((seen < feature.minimum) | (seen > feature.maximum)))
        return cls(feature.name, training, here, outside, feature.missing_fraction, 1 - len(seen) / len(x))

    @property
    def doubts(self) -> list[str]:
        """Warnings as text."""
        doubts = []
        if self.outside > _MANY_OUTSIDE and self.training_range:
            low, high = self.training_range
            doubts.append(f"{self.outside:.0%} of the values of {self.feature} lie outside {low:g} to {high:g}")
        if self.missing > self.training_missing + _MANY_MORE_MISSING:
            before = f"{self.training_missing:.0%}"
            doubts.append(f"{self.feature} is missing in {self.missing:.0%}, in training in {before}")
        return doubts
