"""From a table of patients to what the network reads.

n, m          patients to learn from, all patients (those to learn from come first)
p, g          columns; groups of at most `SLOTS` columns, each of which becomes one token
z, u          a column standardised by the patients to learn from; their share below a value, from -1 to 1
x~            z with 0 for missing cells, and an indicator for each column that lacks some
s             what ridge regression on x~ says of a patient who was left out; also on curves of the columns (z, u,
              cos(pi k (u + 1) / 2) / k for k = 2, 3, and the indicators), and on similarities of patients
lambda        its penalty, of `_PENALTIES`, by the sum of squared residuals of patients left out
h_i           leverage of patient i: 1/n + sum_j q_ij^2 / (l_j + lambda), with x~'x~ = V diag(l) V', q = x~ V
phi           what patients are similar by: z / 2, at most 1.5 in size, u, and the indicators; the kernel
              exp(-|phi_i - phi_j|^2 / median) is approximated by similarities to `_LANDMARKS` patients (Nystroem)
d_kc, n_k     events of cause c in interval k, patients at risk at its beginning
r_kc          (d_kc + a / 2) / (n_k + a), a = 1: what is known of a hazard before any feature is looked at

References
----------
Williams & Seeger (2001), Using the Nystroem method to speed up kernel machines, NIPS 13.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SLOTS, CELL = 4, 4
"""Columns of a group; numbers of a cell: z, u, whether it is missing, whether the slot holds a column."""
INTERVALS, CAUSES = 8, 3
"""Intervals of the event times that the network knows, and causes."""
SCORES = 6
"""Numbers told of a patient beside the columns: s of the first and of the other causes, log odds of an event, log n;
s of the first cause by curves, and by similarities."""

_PENALTIES = np.geomspace(1e-2, 1e4, 13)
_LARGEST_Z, _LARGEST_SCORE = 5.0, 6.0
_LOG_ODDS, _LOG_N = 3.0, 7.0
_LANDMARKS, _NEAR_Z = 100, 3.0

# Columns stand alone while they are few: in groups they are told apart less well.
_MOST_GROUPS = 10

_Floats = NDArray[np.float64]


def encode_cells(X: _Floats, n: int) -> tuple[_Floats, NDArray[np.bool_]]:
    """Standardise columns by the first n patients.

    Parameters
    ----------
    X : ndarray, shape = (m, p)
        Columns; NaN is missing.
    n : int
        Patients to learn from.

    Returns
    -------
    cells : ndarray, shape = (m, p, 2)
        z, at most 5 in size, and u; both 0 for a missing cell.
    missing : ndarray of bool, shape = (m, p)
        Which cells are missing.
    """
    missing = np.isnan(X)
    cells = np.zeros((*X.shape, 2))
    for j in range(X.shape[1]):
        known = np.sort(X[:n, j][~missing[:n, j]])
        if not len(known):
            continue
        sd = known.std()
        column = X[:, j]
        here = ~missing[:, j]
        if sd > 1e-12 * max(1.0, abs(known[0]), abs(known[-1])):
            cells[here, j, 0] = np.clip((column[here] - known.mean()) / sd, -_LARGEST_Z, _LARGEST_Z)
            below = np.searchsorted(known, column[here], "left") + np.searchsorted(known, column[here], "right")
            cells[here, j, 1] = below / len(known) - 1.0
    return cells, missing


def n_groups(p: int) -> int:
    """Groups that p columns are put into."""
    return max(-(-p // SLOTS), min(p, _MOST_GROUPS))


def group_cells(
    cells: _Floats, missing: NDArray[np.bool_], groups: int, rng: np.random.Generator
) -> NDArray[np.float32]:
    """Put the columns into groups at random, shape = (m, groups, SLOTS * CELL); 4 * groups columns at most."""
    m, p = missing.shape
    told = np.zeros((m, groups * SLOTS, CELL), dtype=np.float32)
    # Column i of the order is slot i // groups of group i % groups: sizes differ by one at most.
    order = rng.permutation(p)
    places = (np.arange(p) % groups) * SLOTS + np.arange(p) // groups
    told[:, places, :2] = cells[:, order]
    told[:, places, 2] = missing[:, order]
    told[:, places, 3] = 1.0
    return told.reshape(m, groups, SLOTS * CELL)


@dataclass(frozen=True, eq=False)
class Ridge:
    """Ridge regressions on one table, of which the outcomes may be several.

    Attributes
    ----------
    q : ndarray, shape = (m, k)
        The centred columns along the eigenvectors.
    values : ndarray, shape = (k,)
        The eigenvalues.
    n : int
        Patients to learn from.
    """

    q: _Floats
    values: _Floats
    n: int

    @classmethod
    def of(cls, x: _Floats, n: int) -> Ridge:
        """Decompose the table."""
        x = x - x[:n].mean(axis=0)
        values, vectors = np.linalg.eigh(x[:n].T @ x[:n])
        return cls(x @ vectors, np.maximum(values, 0.0), n)

    def scores(self, y: _Floats) -> _Floats:
        """Predict y of every patient, of those to learn from as if left out; in standard deviations from the mean."""
        n, mean, sd = self.n, y.mean(), y.std()
        if sd == 0.0:
            return np.zeros(len(self.q))
        q, r = self.q[:n], y - mean
        shrunk = 1.0 / (self.values + _PENALTIES[:, None])
        coefficients = shrunk * (q.T @ r)
        leverages = np.minimum(1.0 / n + q**2 @ shrunk.T, 1.0 - 1e-3)
        residuals = (r[:, None] - q @ coefficients.T) / (1.0 - leverages)
        best = int(np.argmin((residuals**2).sum(axis=0)))
        told = self.q @ coefficients[best]
        told[:n] = r - residuals[:, best]
        return np.asarray(np.clip(told / sd, -_LARGEST_SCORE, _LARGEST_SCORE))


@dataclass(frozen=True, eq=False)
class Regressions:
    """Ridge regressions on x~, on curves of the columns, and on similarities of patients."""

    lines: Ridge
    curves: Ridge
    similarities: Ridge

    @classmethod
    def of(cls, cells: _Floats, missing: NDArray[np.bool_], n: int) -> Regressions:
        """Decompose the three tables of m patients, of whom the first n are those to learn from."""
        gaps = missing[:, missing[:n].any(axis=0)].astype(np.float64)
        z, u = cells[:, :, 0], cells[:, :, 1]
        waves = [np.where(missing, 0.0, np.cos(np.pi / 2 * k * (u + 1.0))) / k for k in (2, 3)]
        curves = np.concatenate([z, u, *waves, gaps], axis=1)
        phi = np.concatenate([np.clip(z, -_NEAR_Z, _NEAR_Z) / 2, u, gaps], axis=1)
        return cls(
            Ridge.of(np.concatenate([z, gaps], axis=1), n), Ridge.of(curves, n), Ridge.of(_similarities(phi, n), n)
        )


def _similarities(phi: _Floats, n: int) -> _Floats:
    """Columns whose products approximate the kernel."""
    few = np.random.default_rng(n).permutation(n)[:_LANDMARKS]
    sizes = (phi**2).sum(axis=1)
    squares = np.maximum(sizes[:, None] + sizes[few] - 2.0 * phi @ phi[few].T, 0.0)
    kernel = np.exp(-squares / max(float(np.median(squares[few])), 1e-9))
    values, vectors = np.linalg.eigh(kernel[few])
    kept = values > 1e-6 * values[-1]
    return np.asarray(kernel @ (vectors[:, kept] / np.sqrt(values[kept])))


def binary_scores(regressions: Regressions, y: NDArray[np.integer]) -> tuple[_Floats, float]:
    """`SCORES` numbers of each patient, shape = (m, SCORES), and log odds of an event; y of those to learn from."""
    n, outcome = len(y), y.astype(np.float64)
    odds = float(np.log((y.sum() + 0.5) / (n - y.sum() + 0.5)))
    told = np.zeros((len(regressions.lines.q), SCORES))
    told[:, 0], told[:, 4] = regressions.lines.scores(outcome), regressions.curves.scores(outcome)
    told[:, 5] = regressions.similarities.scores(outcome)
    told[:, 2], told[:, 3] = odds / _LOG_ODDS, np.log(n) - _LOG_N
    return told, odds


def event_scores(regressions: Regressions, time: _Floats, cause: NDArray[np.integer]) -> _Floats:
    """`SCORES` numbers of every patient, shape = (m, SCORES): s of events less their cumulative hazard at `time`."""
    n = len(time)
    told = np.zeros((len(regressions.lines.q), SCORES))
    order = np.argsort(time, kind="stable")
    first = np.searchsorted(time[order], time[order], "left")
    last = np.searchsorted(time[order], time, "right")
    at_risk = n - first
    for place, events in enumerate((cause == 1, cause > 1)):
        hazard = np.concatenate([[0.0], np.cumsum(events[order] / at_risk)])
        martingale = events - hazard[last]
        told[:, place] = regressions.lines.scores(martingale)
        if place == 0:
            told[:, 4] = regressions.curves.scores(martingale)
            told[:, 5] = regressions.similarities.scores(martingale)
    rate = (cause > 0).mean()
    told[:, 2] = np.log((rate * n + 0.5) / (n - rate * n + 0.5)) / _LOG_ODDS
    told[:, 3] = np.log(n) - _LOG_N
    return told


@dataclass(frozen=True, eq=False)
class EventTable:
    """Outcomes of the patients to learn from, on a grid.

    Attributes
    ----------
    time : ndarray, shape = (n,)
        Of the first event, or of censoring.
    cause : ndarray of int, shape = (n,)
        0 is censored, 1 to CAUSES.
    grid : ndarray, shape = (INTERVALS,)
        Ends of the intervals, ascending.
    """

    time: _Floats
    cause: NDArray[np.int64]
    grid: _Floats


def event_grid(time: _Floats, cause: NDArray[np.integer], most: float) -> _Floats:
    """Ends of the intervals: quantiles of the times of events until the share `most` of them; shape = (INTERVALS,)."""
    events = time[cause > 0]
    return np.quantile(events if len(events) else time, np.arange(1, INTERVALS + 1) / INTERVALS * most)


def base_log_odds(interval: NDArray[np.integer], cause: NDArray[np.integer]) -> _Floats:
    """log(r_kc / (1 - sum_c r_kc)), shape = (INTERVALS, CAUSES); -30 for a cause without events."""
    told = np.full((INTERVALS, CAUSES), -30.0)
    at_risk = np.array([(interval >= k).sum() for k in range(INTERVALS)])
    d = np.array([[((interval == k) & (cause == c + 1)).sum() for c in range(CAUSES)] for k in range(INTERVALS)])
    seen = d.sum(axis=0) > 0
    r = (d[:, seen] + 0.5 / seen.sum()) / (at_risk[:, None] + 1.0)
    told[:, seen] = np.log(r) - np.log1p(-r.sum(axis=1, keepdims=True).clip(max=0.999))
    return told
