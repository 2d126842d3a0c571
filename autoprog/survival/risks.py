"""Checks of risks at horizons."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from autoprog.survival.errors import OutcomeError


def risk_columns(risk: ArrayLike, n: int, n_horizons: int) -> NDArray[np.float64]:
    """Bring risks (n, H) or (n,) into one row per horizon, (H, n); OutcomeError for another shape or a missing risk."""
    r = np.asarray(risk, dtype=np.float64)
    columns = np.broadcast_to(r, (n_horizons, n)) if r.shape == (n,) else r.T
    if columns.shape != (n_horizons, n):
        msg = f"risks of {n:,} patients at {n_horizons} horizons are needed: got shape {r.shape}"
        raise OutcomeError(msg)
    missing = int(np.isnan(r).sum())
    if missing:
        msg = f"{missing:,} of {r.size:,} risks are missing"
        raise OutcomeError(msg)
    return columns


def check_probabilities(risk: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the risks, none missing; OutcomeError if one is below 0 or above 1."""
    outside = int(((risk < 0) | (risk > 1)).sum())
    if outside:
        reach = f"from {risk.min():g} to {risk.max():g}"
        msg = f"risks must lie in [0, 1]: {outside:,} of {risk.size:,} do not, they reach {reach}"
        raise OutcomeError(msg)
    return risk
