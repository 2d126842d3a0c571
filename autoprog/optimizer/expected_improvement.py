"""Expected improvement on a logarithmic scale, without underflow.

======  ==================================================================  =======  =======
symbol  meaning                                                             shape    unit
======  ==================================================================  =======  =======
mu, sd  posterior mean and standard deviation of the true gain              (p,)     1
best    gain to improve on; with noise a posterior mean, not a score        scalar   1
z       (mu - best) / sd                                                    (p,)     1
h(z)    phi(z) + z Phi(z)                                                   (p,)     1
======  ==================================================================  =======  =======

    log EI = log sd + log h(z)

References
----------
Ament, Daulton, Eriksson, Balandat & Bakshy 2023, NeurIPS, "Unexpected improvements to expected improvement", eq. 9.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, ndtr

_HALF_LOG_2PI = 0.5 * np.log(2.0 * np.pi)
_HALF_LOG_HALF_PI = 0.5 * np.log(0.5 * np.pi)
# Below this, erfcx times |z| rounds to one, so the series gives its difference from one.
_ASYMPTOTIC = -1e4


def log_expected_improvement(mean: NDArray[np.float64], sd: NDArray[np.float64], best: float) -> NDArray[np.float64]:
    """log EI of each candidate, shape = (p,); minus infinity where a certain candidate does not improve."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        z = (mean - best) / sd
        log_ei: NDArray[np.float64] = np.log(sd) + log_h(z)
        certain = np.where(mean > best, np.log(np.maximum(mean - best, 0.0)), -np.inf)
    return np.where(sd > 0, log_ei, certain)


def log_h(z: NDArray[np.float64]) -> NDArray[np.float64]:
    """log(phi(z) + z Phi(z)), finite for every finite z; same shape."""
    result = np.empty_like(z)
    near, far = z > -1.0, z <= _ASYMPTOTIC
    middle = ~near & ~far
    x = z[near]
    result[near] = np.log(np.exp(-0.5 * x * x - _HALF_LOG_2PI) + x * ndtr(x))
    x = z[middle]
    inner = np.log(erfcx(-x / np.sqrt(2.0)) * -x) + _HALF_LOG_HALF_PI
    result[middle] = -0.5 * x * x - _HALF_LOG_2PI + np.log(-np.expm1(inner))
    x = z[far]
    result[far] = -0.5 * x * x - _HALF_LOG_2PI - 2.0 * np.log(-x)
    return result
