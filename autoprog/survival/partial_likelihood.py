"""Partial likelihood of proportional hazards, of one cause or of a subdistribution, by cumulative sums.

    n, d    numbers of patients and columns                                                 scalar  -
    m, M    numbers of distinct times of the event, and of slots                            scalar  -
    X       columns, centred and standardised                                               (n, d)  1
    w       case weights                                                                    (n,)    1
    beta    log hazard ratios                                                               (d,)    1 / X's
    e       w exp(X beta)                                                                   (n,)    1
    u       distinct times of the event, ascending                                          (m,)    time
    k       number of u that are T or earlier: a patient is at risk at u_1 to u_k           (n,)    count
    g       censoring survival just before u, G(u-)                                         (m,)    [0, 1]
    c       1/G(T-) of patients with a competing event, 0 of others                         (n,)    0 up
    S0      weight at risk at u: sum_{k_i >= l} e_i + g_l sum_{k_i < l} c_i e_i             (m,)    1
    D0      weight of those who fail at u                                                   (m,)    1
    f       share of the failing that a slot leaves out, 0 of the first                     (M,)    [0, 1)
    omega   weight of a slot                                                                (M,)    1
    z       mean of X at risk in a slot                                                     (M, d)  X's
    h       hazard of a slot, omega / (S0 - f D0)                                           (M,)    1
    a       expected events of a patient, e times the hazard while at risk                  (n,)    1

Breslow's method has one slot per time, with the weight of all who fail at it, and f = 0. Efron's has one slot for each
of the q who fail, with their mean weight, and f = 0, 1/q, ..., (q - 1)/q: they leave the risk set in turn.

    log L     = sum_{i fails} w_i X_i beta - sum_slots omega log(S0 - f D0)
    gradient  = X' (w 1{fails} - a)
    - Hessian = X' diag(a) X - sum_slots omega z z'

The Hessian thus takes a matrix product and nothing of size (m, d, d). A patient's score residual, the share in the
gradient, is the sum over slots of (events - expected events) (X_i - z).

Risk sets: who is at risk, fails or is censored at each time.

    s       distinct times, ascending                                                 (m,)    time
    w       weight of each patient: how often the patient counts                      (n,)    1
    d_k     weight of those who fail by cause k at s                                  (K, m)  1
    c       weight of those who are censored at s                                     (m,)    1
    r       weight of those at risk at s: their time is s or later                    (m,)    1
    l       weight of those at risk who do not fail at s, r - sum_k d_k               (m,)    1

At a shared time failures come before censorings: the censored are at risk of failing at s, while those who fail are not
at risk of being censored at s.

References
----------
Cox 1972, J R Stat Soc B 34:187; Breslow 1974, Biometrics 30:89; Efron 1977, JASA 72:557; the weights of competing
events: Fine & Gray 1999, JASA 94:496; robust variance: Lin & Wei 1989, JASA 84:1074.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from autoprog.survival.outcomes import Events, OutcomeError, Times
from autoprog.survival.step import StepFunction

_Floats = NDArray[np.float64]
Ties = Literal["breslow", "efron"]

_BLOCK = 65_536  # patients per matrix product, so that X is never copied as a whole


@dataclass(frozen=True, slots=True, eq=False)
class Subdistribution:
    """Patients at risk after a competing event, with weights that fall with the censoring survival."""

    competing: NDArray[np.bool_]  # shape = (n,): has a competing event
    G: StepFunction  # censoring survival

    def of(self, patients: NDArray[np.bool_]) -> Subdistribution:
        """Select some of the patients."""
        return Subdistribution(self.competing[patients], self.G)

    def factors(self, u: Times, time: Times) -> tuple[_Floats, _Floats]:
        """Two factors of the weight: g at each time of the event, and c of each patient."""
        left = self.G.left(time)
        return self.G.left(u), np.divide(1.0, left, out=np.zeros_like(left), where=self.competing)


@dataclass(frozen=True, slots=True, eq=False)
class _State:
    """Quantities at one beta."""

    lp: _Floats
    e: _Floats
    denominators: _Floats
    hazards: _Floats


class PartialLikelihood:
    """The log partial likelihood and its derivatives; without `subdistribution`, a competing event is a censoring."""

    def __init__(
        self,
        X: _Floats,
        time: Times,
        fails: NDArray[np.bool_],
        weights: _Floats,
        *,
        ties: Ties,
        subdistribution: Subdistribution | None = None,
    ) -> None:
        # X is contiguous by columns, weights are above 0, and at least one patient fails.
        self.X, self._w, self._fails = X, weights, fails
        self.times, place, counts = np.unique(time[fails], return_inverse=True, return_counts=True)
        self._k = np.searchsorted(self.times, time, side="right")
        self._place = place
        self._stay = None if subdistribution is None else subdistribution.factors(self.times, time)
        failing: _Floats = np.bincount(place, weights[fails]).astype(np.float64)
        if ties == "breslow":
            self._slot_time = np.arange(len(self.times))
            self._f: _Floats = np.zeros(len(self.times))
            self._omega = failing
        else:
            self._slot_time = np.repeat(np.arange(len(self.times)), counts)
            turn = np.arange(len(place)) - np.repeat(np.cumsum(counts) - counts, counts)
            self._f = turn / counts[self._slot_time]
            self._omega = (failing / counts)[self._slot_time]

    def at(self, beta: _Floats) -> tuple[float, _State]:
        """log L at beta, not finite if beta is too large, and the state for the derivatives."""
        lp = self.X @ beta
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            e = self._w * np.exp(lp)
            denominators = self._in_slots(e)
            log_L = float(self._w[self._fails] @ lp[self._fails] - self._omega @ np.log(denominators))
            return log_L, _State(lp, e, denominators, self._omega / denominators)

    def derivatives(self, state: _State) -> tuple[_Floats, _Floats]:
        """Gradient, shape = (d,), and negative Hessian, shape = (d, d), of log L."""
        a = state.e * self._while_at_risk(state.hazards)
        gradient = self.X.T @ (self._w * self._fails - a)
        Z = self._means(state) * np.sqrt(self._omega)[:, None]
        information = -(Z.T @ Z)
        for first in range(0, len(a), _BLOCK):
            block = self.X[first : first + _BLOCK]
            information += (block * a[first : first + _BLOCK, None]).T @ block
        return gradient, information

    def score_residuals(self, state: _State) -> _Floats:
        """Score residuals times the weights, shape = (n, d)."""
        excess = self._w * self._fails - state.e * self._while_at_risk(state.hazards)
        U = self.X * excess[:, None]
        Z = self._means(state)
        slots = np.bincount(self._slot_time)
        for j in range(U.shape[1]):
            U[:, j] += state.e * self._while_at_risk(state.hazards * Z[:, j])
            mean = np.bincount(self._slot_time, Z[:, j]) / slots
            U[self._fails, j] -= self._w[self._fails] * mean[self._place]
        return U

    def cumulative_hazard(self, state: _State) -> StepFunction:
        """Baseline cumulative hazard at X = 0, summed over the slots of each time."""
        return StepFunction(self.times, np.cumsum(np.bincount(self._slot_time, state.hazards)), 0.0)

    def _means(self, state: _State) -> _Floats:
        Z = np.empty((len(self._f), self.X.shape[1]), order="F")  # z
        for j in range(Z.shape[1]):
            Z[:, j] = self._in_slots(state.e * self.X[:, j]) / state.denominators
        return Z

    def _in_slots(self, v: _Floats) -> _Floats:
        """Sum a patients' quantity over those at risk in each slot, shape = (M,)."""
        m = len(self.times)
        by_last = np.bincount(self._k, v, minlength=m + 1)
        at_risk: _Floats = np.cumsum(by_last[:0:-1], dtype=np.float64)[::-1]
        if self._stay is not None:
            g, c = self._stay
            at_risk = at_risk + g * np.cumsum(np.bincount(self._k, c * v, minlength=m + 1)[:-1])
        failing = np.bincount(self._place, v[self._fails])
        sums: _Floats = at_risk[self._slot_time] - self._f * failing[self._slot_time]
        return sums

    def _while_at_risk(self, q: _Floats) -> _Floats:
        """Sum a slots' quantity over those in which each patient is at risk, shape = (n,)."""
        by_time = np.bincount(self._slot_time, q)
        until = np.concatenate([[0.0], np.cumsum(by_time)])
        sums: _Floats = until[self._k]
        if self._stay is not None:
            g, c = self._stay
            after = np.concatenate([[0.0], np.cumsum((g * by_time)[::-1])])[::-1]
            sums = sums + c * after[self._k]
        sums[self._fails] -= np.bincount(self._slot_time, self._f * q)[self._place]
        return sums


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
        msg = f"one weight per patient is needed: got shape {w.shape} for {n:,} patients"
        raise OutcomeError(msg)
    if not np.isfinite(w).all() or (w < 0).any() or not (w > 0).any():
        msg = "weights must be finite and 0 or more, one of them above 0"
        raise OutcomeError(msg)
    return w
