"""Risks on the scale of log odds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

EPSILON = 1e-6  # a risk of 0 or 1 has no logit


def compute_logit(p: NDArray[np.floating]) -> NDArray[np.float64]:
    """Log odds of risks in [0, 1], which are clipped to [1e-6, 1 - 1e-6]; same shape."""
    x: NDArray[np.float64] = logit(np.clip(np.asarray(p, dtype=np.float64), EPSILON, 1 - EPSILON))
    return x
