"""The meta-features of one cohort."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autoprog.metalearning.meta_features.catalogue import META_FEATURES

_STATISTICAL = tuple(i for i, m in enumerate(META_FEATURES) if m.group == "statistical")


@dataclass(frozen=True, slots=True)
class MetaFeatures:
    """The description of a cohort in 55 numbers; `values` are in the order of `META_FEATURES`."""

    values: tuple[float, ...]

    @classmethod
    def of(cls, values: Mapping[str, float]) -> MetaFeatures:
        """Build from the values of all 55 names; ValueError lists lacking or unknown names."""
        known = [m.name for m in META_FEATURES]
        if wrong := sorted(set(known) ^ set(values)):
            msg = f"meta-features must be the {len(known)} of the table; lacking or unknown: {', '.join(wrong)}"
            raise ValueError(msg)
        return cls(tuple(values[name] for name in known))

    @property
    def names(self) -> tuple[str, ...]:
        """Names, in order, length 55."""
        return tuple(m.name for m in META_FEATURES)

    @property
    def of_patients(self) -> tuple[float, ...]:
        """The statistical values, which need no names; rounded, so equal for copies of a cohort and no others."""
        return tuple(self.values[i] for i in _STATISTICAL)

    def to_array(self) -> NDArray[np.float64]:
        """Values, shape = (55,)."""
        return np.array(self.values)

    def to_dict(self) -> dict[str, float]:
        """Map names to values, in order; the inverse of `of`."""
        return dict(zip(self.names, self.values, strict=True))
