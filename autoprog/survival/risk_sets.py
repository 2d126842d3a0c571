"""Risk sets: who is at risk, fails or is censored at each time.

    s       distinct times, ascending                                                 (m,)    time
    w       weight of each patient: how often the patient counts                      (n,)    1
    d_k     weight of those who fail by cause k at s                                  (K, m)  1
    c       weight of those who are censored at s                                     (m,)    1
    r       weight of those at risk at s: their time is s or later                    (m,)    1
    l       weight of those at risk who do not fail at s, r - sum_k d_k               (m,)    1

At a shared time failures come before censorings: the censored are at risk of failing at s, while those who fail are not
at risk of being censored at s.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autoprog.survival.errors import OutcomeError
from autoprog.survival.outcomes import Events, Times

_Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class RiskSets:
    """Weights of the patients by time."""

    times: Times  # s
    events: _Floats  # d_k, shape = (K, m)
    censored: _Floats  # c
    at_risk: _Floats  # r
    left: _Floats  # l; exactly 0 where all who are at risk fail, whatever the weights

    def share(self, part: _Floats) -> _Floats:
        """Divide a part by those at risk, 0 where nobody is; the shape of `part`."""
        return np.divide(part, self.at_risk, out=np.zeros_like(part), where=self.at_risk > 0)


class Timeline:
    """Patients sorted by time once, for any number of weights; OutcomeError if a code exceeds `causes`."""

    def __init__(self, time: Times, event: Events, causes: int | None = None) -> None:
        largest = int(event.max())
        self.causes = max(largest, 1) if causes is None else causes
        if largest > self.causes:
            msg = f"event codes must be 0 (censored) to {self.causes}: the largest is {largest}"
            raise OutcomeError(msg)
        self.times, self.position = np.unique(time, return_inverse=True)
        self._cell = event * len(self.times) + self.position

    def risk_sets(self, weights: NDArray[np.generic] | None = None) -> RiskSets:
        """Count the patients by time and code, with weights 1 by default; times of patients with weight 0 are kept."""
        w = None if weights is None else check_weights(weights, len(self.position))
        m = len(self.times)
        counts: _Floats = np.bincount(self._cell, w, minlength=(self.causes + 1) * m).astype(np.float64)
        censored, events = counts[:m], counts[m:].reshape(self.causes, m)
        failed = events.sum(axis=0)
        at_risk: _Floats = np.cumsum((failed + censored)[::-1], dtype=np.float64)[::-1]
        left = np.append(at_risk[1:], 0.0) + censored
        return RiskSets(self.times, events, censored, at_risk, left)


def check_weights(weights: NDArray[np.generic], n: int) -> _Floats:
    """Check n case weights: OutcomeError unless all are finite and 0 or more, and one is above 0."""
    w = np.asarray(weights, dtype=np.float64)
    if w.shape != (n,):
        msg = f"one weight a patient is needed: got shape {w.shape} for {n:,} patients"
        raise OutcomeError(msg)
    if not np.isfinite(w).all() or (w < 0).any() or not (w > 0).any():
        msg = "weights must be finite and 0 or more, one of them above 0"
        raise OutcomeError(msg)
    return w
