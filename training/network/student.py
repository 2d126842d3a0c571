"""A small model that says what the network says, so that neither the network nor the patients are needed after a fit.

n, q          patients to learn from, synthetic patients
p, k          columns, numbers that the network tells of a patient (log odds)
phi           features of a patient: z / 2, at most 1.5 in size, and u of each column, an indicator of each gap
t             what the network tells of the synthetic patients, shape = (q, k)
f             b' (1, phi) + sum_i a_i exp(-|phi - phi_i|^2 / (l m)), m the median of |phi_i - phi_j|^2

A synthetic patient has columns of two patients, at least a third of each where there are three columns or more, and is
moved towards others in those with many values. f is kernel ridge regression on what linear regression leaves; l and its
penalty are those that foretell a fifth of the synthetic patients best.

References
----------
Bucilua, Caruana & Niculescu-Mizil (2006), Model compression, KDD: a small model taught on synthetic rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from training.network.encoding import CAUSES, INTERVALS, EventTable, n_groups
from training.network.predictions import hazard_log_odds, log_odds

_Floats = NDArray[np.float64]

# Floating-point operations of a fit, about three seconds of one core, and of a token in a forward pass.
_WORK, _BLOCKS, _LINEAR, _A_ROW = 1.8e11, 8, 5.3e5, 512
_MOST_ORDERS, _MOST_QUERIES, _FEWEST_QUERIES = 4, 1200, 500
_SWAPPED, _MOVED, _MANY_VALUES = 0.6, 0.25, 10
_KNOTS, _LARGEST_Z = 33, 3.0
_LENGTHS, _PENALTIES, _LINEAR_PENALTY = (0.5, 1.0, 2.0, 4.0), (0.003, 0.03, 0.3), 0.1
_TINY = 1e-12


@dataclass(frozen=True, eq=False)
class Features:
    """phi from columns, by a few numbers of each column.

    Attributes
    ----------
    mean, sd : ndarray, shape = (p,)
        Of the known cells.
    knots, shares : list of ndarray, length p
        Quantiles of a column, and u there.
    gaps : ndarray of int
        Columns that lack cells.
    """

    mean: _Floats
    sd: _Floats
    knots: list[_Floats]
    shares: list[_Floats]
    gaps: NDArray[np.intp]

    @classmethod
    def of(cls, X: _Floats) -> Self:
        """Take the numbers from a table."""
        known = [np.sort(column[~np.isnan(column)]) for column in X.T]
        knots = [np.unique(np.quantile(v, np.linspace(0, 1, _KNOTS), method="nearest")) if len(v) else v for v in known]
        shares = [
            (np.searchsorted(v, at, "left") + np.searchsorted(v, at, "right")) / max(len(v), 1) - 1.0
            for v, at in zip(known, knots, strict=True)
        ]
        mean = np.array([v.mean() if len(v) else 0.0 for v in known])
        sd = np.array([v.std() if len(v) else 0.0 for v in known])
        return cls(mean, sd, knots, shares, np.flatnonzero(np.isnan(X).any(axis=0)))

    def __call__(self, X: _Floats) -> _Floats:
        """Phi of patients with columns X, shape = (q, d)."""
        missing = np.isnan(X)
        z = np.where(missing, 0.0, (X - self.mean) / np.where(self.sd > _TINY, self.sd, np.inf))
        u = np.zeros(X.shape)
        for j, (knots, shares) in enumerate(zip(self.knots, self.shares, strict=True)):
            if len(knots) > 1:
                u[:, j] = np.interp(X[:, j], knots, shares)
        u[missing] = 0.0
        return np.concatenate([np.clip(z, -_LARGEST_Z, _LARGEST_Z) / 2, u, missing[:, self.gaps]], axis=1)


@dataclass(frozen=True, eq=False)
class Student:
    """f, as plain arrays.

    Attributes
    ----------
    features : callable (X) -> phi
        Shape = (q, d) from shape = (q, p).
    intercept : ndarray, shape = (k,)
        The mean of t.
    slopes : ndarray, shape = (d, k)
        b, of phi less its mean.
    centre : ndarray, shape = (d,)
        The mean of phi.
    centres : ndarray, shape = (q, d)
        phi_i.
    weights : ndarray, shape = (q, k)
        a.
    width : float
        l m.
    fidelity : float
        Share of the variance of t that f explains in synthetic patients that it did not see.
    """

    features: Features
    intercept: _Floats
    slopes: _Floats
    centre: _Floats
    centres: NDArray[np.float32]
    weights: _Floats
    width: float
    fidelity: float

    @classmethod
    def of(cls, X: _Floats, mixed: _Floats, told: _Floats, rng: np.random.Generator) -> Self:
        """Fit f to what was told, shape = (q, k), of mixed patients, shape = (q, p); features as in the table X."""
        features = Features.of(X)
        phi = features(mixed)
        intercept, centre = told.mean(axis=0), phi.mean(axis=0)
        centred = phi - centre
        slopes = np.linalg.solve(
            centred.T @ centred + _LINEAR_PENALTY * np.eye(len(centre)), centred.T @ (told - intercept)
        )
        left = told - intercept - centred @ slopes
        squares = cdist(phi, phi, "sqeuclidean")
        middle = max(float(np.median(squares)), _TINY)
        aside = rng.permutation(len(phi)) < len(phi) // 5
        errors = {
            (length, penalty): _error(np.exp(-squares / (length * middle)), left, aside, penalty)
            for length in _LENGTHS
            for penalty in _PENALTIES
        }
        length, penalty = min(errors, key=lambda both: errors[both])
        kernel = np.exp(-squares / (length * middle))
        weights = np.linalg.solve(kernel + penalty * np.eye(len(phi)), left)
        unexplained = errors[length, penalty] / max(float(((told - intercept) ** 2).mean()), _TINY)
        return cls(
            features, intercept, slopes, centre, phi.astype(np.float32), weights, length * middle, 1.0 - unexplained
        )

    def __call__(self, X: _Floats) -> _Floats:
        """f of patients with columns X, shape = (q, p); shape = (q, k)."""
        phi = self.features(X)
        kernel = np.exp(-cdist(phi, self.centres, "sqeuclidean") / self.width)
        told: _Floats = self.intercept + (phi - self.centre) @ self.slopes + kernel @ self.weights
        return told


def _error(kernel: _Floats, left: _Floats, aside: NDArray[np.bool_], penalty: float) -> float:
    seen = ~aside
    weights = np.linalg.solve(kernel[np.ix_(seen, seen)] + penalty * np.eye(int(seen.sum())), left[seen])
    return float(((left[aside] - kernel[np.ix_(aside, seen)] @ weights) ** 2).mean())


def mix_patients(X: _Floats, q: int, rng: np.random.Generator) -> _Floats:
    """Draw synthetic patients from the columns of real ones, shape = (q, p)."""
    n, p = X.shape
    mixed, second = X[rng.integers(n, size=q)], X[rng.integers(n, size=q)]
    least, most = p // 3, p - p // 3
    swapped = rng.random((q, p)).argsort(axis=1) < np.clip(np.round(rng.random((q, 1)) * _SWAPPED * p), least, most)
    mixed = np.where(swapped, second, mixed)
    for j in range(p):
        known = X[~np.isnan(X[:, j]), j]
        if len(np.unique(known)) > _MANY_VALUES:
            step = np.where(rng.random(q) < 0.5, _MOVED * rng.random(q), 0.0)
            mixed[:, j] += step * (rng.choice(known, q) - mixed[:, j])
    return mixed


def _effort(n: int, p: int) -> tuple[int, int]:
    """Orders of columns and synthetic patients that a fit has time for."""
    tokens = n_groups(p) + 1
    rows = _WORK / (tokens * _BLOCKS * (_LINEAR + _A_ROW * n))
    queries = int(np.clip(rows - n, _FEWEST_QUERIES, _MOST_QUERIES))
    return int(np.clip((rows - queries) // n, 1, _MOST_ORDERS)), queries


def teach_risks(X: _Floats, y: NDArray[np.int64], seed: int) -> Student:
    """Fit a student to the network's log odds of an event, k = 1.

    Parameters
    ----------
    X : ndarray, shape = (n, p)
        Columns of the patients to learn from; NaN is missing.
    y : ndarray of int, shape = (n,)
        Their outcomes, 0 or 1.
    seed : int
        Draws the synthetic patients and the orders of the columns.

    Returns
    -------
    Student
        Its centres are mixed patients; with one or two columns one of them may be alike to a real one.
    """
    rng = np.random.default_rng(seed)
    orders, queries = _effort(*X.shape)
    mixed = mix_patients(X, queries, rng)
    return Student.of(X, mixed, log_odds(X, y, mixed, orders, rng)[:, None], rng)


def teach_hazards(X: _Floats, events: EventTable, seed: int) -> Student:
    """Fit a student to the network's log odds of each cause in each interval, k = INTERVALS * CAUSES.

    Parameters
    ----------
    X : ndarray, shape = (n, p)
        Columns of the patients to learn from; NaN is missing.
    events : EventTable
        Their outcomes.
    seed : int
        Draws the synthetic patients and the orders of the columns.

    Returns
    -------
    Student
        Its centres are mixed patients; with one or two columns one of them may be alike to a real one.
    """
    rng = np.random.default_rng(seed)
    orders, queries = _effort(*X.shape)
    mixed = mix_patients(X, queries, rng)
    told = hazard_log_odds(X, events, mixed, orders, rng)
    return Student.of(X, mixed, told.reshape(queries, INTERVALS * CAUSES), rng)
