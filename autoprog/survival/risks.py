"""Risks at horizons, as measures take them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from autoprog.survival.errors import OutcomeError


def risk_columns(risk: ArrayLike, n: int, n_horizons: int) -> NDArray[np.float64]:
    """Risks, a row a horizon.

    Parameters
    ----------
    risk : array-like, shape = (n, H) or (n,)
        Risk by each horizon, or one marker for all of them.
    n : int
        Number of patients.
    n_horizons : int
        H.

    Returns
    -------
    ndarray, shape = (H, n)
        A view where it can be one.

    Raises
    ------
    OutcomeError
        If the shape is another or a risk is missing.
    """
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
    """Risks that are probabilities.

    Parameters
    ----------
    risk : ndarray
        Risks, none missing.

    Returns
    -------
    ndarray
        The same.

    Raises
    ------
    OutcomeError
        If one is below 0 or above 1.
    """
    outside = int(((risk < 0) | (risk > 1)).sum())
    if outside:
        reach = f"from {risk.min():g} to {risk.max():g}"
        msg = f"risks must lie in [0, 1]: {outside:,} of {risk.size:,} do not, they reach {reach}"
        raise OutcomeError(msg)
    return risk
