"""How many patients have which risk."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

_BINS = 20
_DECIMALS = 6


@dataclass(frozen=True, slots=True)
class RiskDistribution:
    """Histogram of risks, by outcome.

    Attributes
    ----------
    edges : tuple of float
        0 to 1, one more than there are bins; a bin holds its lower edge, the last one both.
    with_outcome, without_outcome : tuple of int
        Patients of each bin.
    """

    edges: tuple[float, ...]
    with_outcome: tuple[int, ...]
    without_outcome: tuple[int, ...]

    def to_json(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {name: list(value) for name, value in asdict(self).items()}


def risk_distribution(y: NDArray[np.integer], p: NDArray[np.floating]) -> RiskDistribution:
    """Count patients by risk.

    Parameters
    ----------
    y : ndarray, shape = (n_patients,)
        0 and 1.
    p : ndarray, shape = (n_patients,)
        Risks in [0, 1].

    Returns
    -------
    RiskDistribution
        Of twenty bins of equal width.
    """
    edges = np.linspace(0, 1, _BINS + 1)
    with_outcome, without = (tuple(np.histogram(p[y == label], edges)[0].tolist()) for label in (1, 0))
    return RiskDistribution(tuple(edges.round(_DECIMALS).tolist()), with_outcome, without)
