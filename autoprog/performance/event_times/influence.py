"""Influence of each patient on measures at a horizon, with the censoring weights taken as known.

    h        horizon                                                                                       scalar
    p        risk of the event of interest by h                                                            (n,)
    d        1 for a patient with the event of interest by h                                               (n,)
    w        weights of inverse probability of censoring at h, 0 where the outcome is unknown              (n,)
    a, b     w of the patients with the event by h, and of those without, else 0                           (n,)
    K        1 where the case has the larger risk, 1/2 where both have the same                            (n, n)
    O        observed incidence by h                                                                       scalar
    c        thresholds                                                                                    (m,)
    psi      influences, see `autoprog.performance.influence`                                               (n,)

    A, the area              n (a_i (sum_j b_j K_ij / sum b - A) / sum a + b_i (sum_j a_j K_ji / sum a - A) / sum b)
    B, the Brier score       w (d - p)^2, less its mean
    skill 1 - B / B_0        -(psi_B - (B / B_0) psi_B0) / B_0,   B_0 that of giving all O, at which it is stationary
    net benefit at c         w (d - (1 - d) c / (1 - c)) of those with p >= c, less its mean

Estimated weights make the true variance slightly smaller (Hung & Chiang 2010, Can J Stat 38:8).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from autoprog.performance.influence import of_mean
from autoprog.survival import ipcw_weights

_Floats = NDArray[np.float64]


def horizon_influences(
    y: NDArray[np.void], p: _Floats, horizon: float, incidence: float | None = None, ranked: _Floats | None = None
) -> dict[str, _Floats]:
    """Influences on `auc` (of `ranked`, by default p), `brier` and, given the incidence, `brier_skill`."""
    w = ipcw_weights(y["time"], y["event"], np.array([horizon]))[:, 0]
    d = (y["event"] == 1) & (y["time"] <= horizon)
    losses = w * (d - p) ** 2
    areas = _of_area(p if ranked is None else ranked, np.where(d, w, 0.0), np.where(d, 0.0, w))
    found = {"auc": areas, "brier": of_mean(losses)}
    if incidence is not None:
        of_none = w * (d - incidence) ** 2
        ratio = losses.mean() / of_none.mean()
        found["brier_skill"] = -(of_mean(losses) - ratio * of_mean(of_none)) / of_none.mean()
    return found


def net_benefit_influences(
    y: NDArray[np.void], horizon: float, thresholds: _Floats, p: _Floats, other: _Floats | None = None
) -> Iterator[_Floats]:
    """Yield, for each threshold, the influences on the net benefit of `p`, less that of `other` if given."""
    w = ipcw_weights(y["time"], y["event"], np.array([horizon]))[:, 0]
    d = (y["event"] == 1) & (y["time"] <= horizon)
    for c in thresholds:
        treated = (p >= c).astype(np.float64) - (0.0 if other is None else other >= c)
        yield of_mean(treated * w * np.where(d, 1.0, -c / (1 - c)))


def _of_area(p: _Floats, a: _Floats, b: _Floats) -> _Floats:
    _, place = np.unique(p, return_inverse=True)
    at_a, at_b = np.bincount(place, a), np.bincount(place, b)
    below_b = ((np.cumsum(at_b) - at_b / 2) / b.sum())[place]
    above_a = (1 - (np.cumsum(at_a) - at_a / 2) / a.sum())[place]
    A = float(a @ below_b / a.sum())
    influences: _Floats = len(p) * (a * (below_b - A) / a.sum() + b * (above_a - A) / b.sum())
    return influences
