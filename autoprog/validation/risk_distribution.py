"""Histogram of risks by outcome."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

_BINS = 20
_DECIMALS = 6


@dataclass(frozen=True, slots=True)
class RiskDistribution:
    """Histogram of risks, by outcome."""

    edges: tuple[float, ...]  # 0 to 1, one more than there are bins; a bin includes its lower edge, the last one both
    with_outcome: tuple[int, ...]
    without_outcome: tuple[int, ...]

    def to_json(self) -> dict[str, Any]:
        """JSON document."""
        return {name: list(value) for name, value in asdict(self).items()}


def risk_distribution(y: NDArray[np.integer], p: NDArray[np.floating]) -> RiskDistribution:
    """Count patients by outcome, 0 or 1, and by risk in [0, 1], in twenty bins of equal width."""
    edges = np.linspace(0, 1, _BINS + 1)
    with_outcome, without = (tuple(np.histogram(p[y == label], edges)[0].tolist()) for label in (1, 0))
    return RiskDistribution(tuple(edges.round(_DECIMALS).tolist()), with_outcome, without)
