"""Cumulative incidence from the hazards of all causes, bounded by 1, and rescaling of incidences that sum to more.

    u       times at which a hazard jumps, up to the last horizon                           (m,)    time
    dH0_k   jump of the cumulative hazard of cause k, at log hazard ratio 0                 (m,)    1
    eta_k   log hazard ratio of a patient for cause k                                       (n, K)  1
    dH_k    dH0_k exp(eta_k);  dH = sum_k dH_k                                              (n, m)  1
    S       survival free of any event, exp(-sum dH)                                        (n, m)  [0, 1]
    F_k     cumulative incidence of cause k                                                 (n, H)  [0, 1]

    F_k(h) = sum_{u <= h} S(u-) (1 - exp(-dH(u))) dH_k(u)/dH(u)

Each jump of 1 - S is shared among the causes by their hazards, so that F_1 + ... + F_K = 1 - S. The plain sum of
S(u-) dH_k(u) exceeds 1 for a patient of high risk.

References
----------
Therneau, Crowson & Atkinson, Multi-state models and competing risks, vignette of the R package survival;
Benichou & Gail 1990, Biometrics 46:813.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from autoprog.survival.errors import OutcomeError
from autoprog.survival.step import StepFunction

_Floats = NDArray[np.float64]

_CELLS = 2**20  # patients times jumps held at once, 8 MiB per array
_LARGEST_EXPONENT = 700.0


def cause_specific_incidence(
    hazards: Sequence[StepFunction], log_hazard_ratio: ArrayLike, horizons: ArrayLike
) -> NDArray[np.float64]:
    """Cumulative incidence of every cause, in time proportional to n times the number of jumps of the hazards.

    Parameters
    ----------
    hazards : sequence of StepFunction, length = K
        Cumulative hazard of each cause, from 0 upwards, of a patient with log hazard ratio 0.
    log_hazard_ratio : array-like, shape = (n, K)
    horizons : array-like, shape = (H,), ascending

    Returns
    -------
    ndarray, shape = (n, H, K)
        In [0, 1], not falling with the horizon; the sum over the causes is at most 1.

    Raises
    ------
    OutcomeError
        If the log hazard ratios have another shape or one is missing.
    """
    eta = np.asarray(log_hazard_ratio, dtype=np.float64)
    h = np.atleast_1d(np.asarray(horizons, dtype=np.float64))
    if eta.ndim != 2 or eta.shape[1] != len(hazards) or np.isnan(eta).any():
        msg = f"log hazard ratios for {len(hazards)} causes are needed, none missing: got shape {eta.shape}"
        raise OutcomeError(msg)
    u = np.unique(np.concatenate([hazard.times for hazard in hazards]))
    u = u[u <= h.max()]
    jumps = np.stack([np.diff(hazard(u), prepend=0.0) for hazard in hazards])
    log_jumps = np.log(jumps, out=np.full(jumps.shape, -np.inf), where=jumps > 0)
    until = np.searchsorted(u, h, side="right")
    F = np.zeros((len(eta), len(h), len(hazards)))
    patients = max(1, _CELLS // max(1, len(u)))
    for first in range(0, len(eta), patients):
        F[first : first + patients] = _incidence(log_jumps, eta[first : first + patients], until)
    return F


def bounded_incidence(dH: NDArray[np.float64]) -> NDArray[np.float64]:
    """Cumulative incidence (n, K, m), at most 1 in sum, of K causes after each jump dH (n, K, m) of their hazards."""
    total = dH.sum(axis=1)
    # An overflowing sum is infinite, and the survival rightly 0.
    with np.errstate(over="ignore"):
        S = np.exp(-np.cumsum(total, axis=1))
    fall = np.concatenate([np.ones((len(dH), 1)), S[:, :-1]], axis=1) * -np.expm1(-total)
    share = np.divide(dH, total[:, None], out=np.zeros_like(dH), where=total[:, None] > 0)
    F: NDArray[np.float64] = np.cumsum(fall[:, None] * share, axis=2)
    return F


def _incidence(log_jumps: _Floats, eta: _Floats, until: NDArray[np.intp]) -> _Floats:
    """F of some patients; `until` is the number of jumps by each horizon."""
    F = bounded_incidence(np.exp(np.minimum(eta[:, :, None] + log_jumps, _LARGEST_EXPONENT)))
    by_now = np.concatenate([np.zeros((*F.shape[:2], 1)), F], axis=2)[:, :, until]
    return by_now.transpose(0, 2, 1)


def rescale_causes(risks: ArrayLike) -> tuple[NDArray[np.float64], int]:
    """Scale risks (..., K) of K causes that sum to more than 1 down to 1; return them and the number of such sums."""
    r = np.asarray(risks, dtype=np.float64)
    total = r.sum(axis=-1, keepdims=True)
    return r / np.maximum(total, 1.0), int((total > 1).sum())
