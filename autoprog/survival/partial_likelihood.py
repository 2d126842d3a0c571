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

from autoprog.survival.outcomes import Times
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
