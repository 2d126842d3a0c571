"""How other patients differ from those that a model was fitted on, feature by feature."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort import Feature

# More than a few patients beyond what the model has learnt from, or far more of them without a value.
_MANY_OUTSIDE, _MANY_MORE_MISSING = 0.05, 0.2


@dataclass(frozen=True, slots=True)
class FeatureShift:
    """One feature in the model's patients and in these.

    Attributes
    ----------
    feature : str
        Its name.
    training_range, range : tuple of (float, float) or None
        Smallest and largest value; None of a feature that is no number, and where nothing was observed.
    outside : float
        Share of the observed values that lie outside the training range, in [0, 1].
    training_missing, missing : float
        Share of rows without a value, in [0, 1].
    """

    feature: str
    training_range: tuple[float, float] | None
    range: tuple[float, float] | None
    outside: float
    training_missing: float
    missing: float

    @classmethod
    def of(cls, feature: Feature, x: NDArray[np.float64]) -> FeatureShift:
        """Of a model's feature and the values that others have of it, NaN for none."""
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
        """What to warn of, in words."""
        doubts = []
        if self.outside > _MANY_OUTSIDE and self.training_range:
            low, high = self.training_range
            doubts.append(f"{self.outside:.0%} of the values of {self.feature} lie outside {low:g} to {high:g}")
        if self.missing > self.training_missing + _MANY_MORE_MISSING:
            before = f"{self.training_missing:.0%}"
            doubts.append(f"{self.feature} is missing in {self.missing:.0%}, in training in {before}")
        return doubts
