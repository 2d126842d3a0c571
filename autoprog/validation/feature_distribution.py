"""Joint distribution of the features among the training patients, from which missing values are drawn.

    X        cohort's matrix: numbers and codes of levels, NaN is missing                               (n, m)
    G_j      distribution of number j among the training patients, by at most 101 steps
    z_j      the standard normal variable of which a number is G_j^-1(Phi(z_j))                         (n,)
    Z        its columns: of a number Phi^-1(G_j(x)), of a feature with levels one 0/1 column a level,
             standardised; NaN where missing                                                            (n, d)
    h_jm     correlation of a column with the Hermite polynomial of z_j of order m, 8 of them; a = h_1  (d, 8)
    C        correlations of the columns among those who have both, drawn to 0 where these are few      (d, d)
    R        correlations of z: C_jk = sum over m of h_jm h_km R_jk^m                                   (d, d)
    L        R is about L L' off its diagonal: r factors f explain the correlations                     (d, r)
    l, psi   loadings a_j L_j of the columns; 1 - l_j l_j'                                              (d, r), (d,)

    f | known  ~  N(V l_k' diag(1/psi_k) Z_k, V)          V = (I + l_k' diag(1/psi_k) l_k)^-1, k the known columns
    z_j | f    ~  N(L_j f, 1 - L_j L_j')
    P(level l | known)  is proportional to  pi_l + sd_l L_l E(f | known), cut at 0

This is a Gaussian copula for numbers and a linear probability model for levels, whose columns count as z. Numbers are
independent given the factors. Tied values get the middle of their range in Z, which is then less correlated than z:
hence R and a. A level is drawn by the quantile of z of its first column, so that it follows the other draws. With d - 1
factors the covariances of few columns are kept whole. The outcome is left out: the risk is to be predicted from these
values.

References
----------
Hoff 2007, Annals of Applied Statistics 1:265 (copulas of mixed features); Tipping & Bishop 1999, JRSS B 61:611 (factors
by principal axes); Nijman et al. 2021, European Heart Journal - Digital Health 2:154 (joint models for patients with
missing predictors); Hoogland et al. 2020, Statistics in Medicine 39:3591.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.special import ndtr, ndtri
from scipy.stats import qmc

from autoprog.cohort import Feature

_Floats = NDArray[np.float64]

_MAX_STEPS = 101
# Narrow in the tails, as a long one has much of the mean.
_TAIL = np.array([0.0, 0.0003, 0.001, 0.003])
_SHARES = np.concatenate([_TAIL, np.linspace(0.01, 0.99, _MAX_STEPS - 2 * len(_TAIL)), 1 - _TAIL[::-1]])
_MAX_LEVELS = 20
_MAX_FACTORS = 20
_MAX_LEARNT_FROM = 20_000
# Correlations are shrunk as if so many patients with unrelated columns, at most d, were added: as many degrees of
# freedom as a regression on d columns takes. Of tied values more are added, as each tells less of z.
_MAX_UNRELATED = 20
_MIN_UNIQUENESS = 0.01
_NORMAL_POINTS = 2_000  # of a standard normal distribution
_ORDERS = 8
_AS_NORMAL: _Floats = np.eye(1, _ORDERS)[0]
_NEWTON_STEPS, _MAX_CORRELATION = 6, 0.99
_CELLS_AT_ONCE = 4_000_000
_SEED = 20_071
_NOMINAL = frozenset({"binary", "categorical"})

MIN_MISSING = 10
"""Fewest training rows without a value of a feature from which pipelines learn what its absence means."""


@dataclass(frozen=True, eq=False)
class _Number:
    """G_j as a step function."""

    values: _Floats  # ascending
    up_to: _Floats  # share of patients at or below each value
    between: bool  # whether values between two steps occur
    halves_ties: bool = True  # False in models of version 0.2, whose columns have tied values at the top of their range

    @classmethod
    def of(cls, x: _Floats) -> Self:
        values, counts = np.unique(x, return_counts=True)
        if len(values) <= _MAX_STEPS:
            return cls(values, np.cumsum(counts) / len(x), between=False)
        if (values != np.round(values)).any():
            return cls(np.quantile(x, _SHARES), _SHARES, between=True)
        # The numbers in the middle of each step: the largest in it would make the mean too large.
        middles = (_SHARES[:-1] + _SHARES[1:]) / 2
        return cls(np.quantile(x, middles, method="inverted_cdf"), _SHARES[1:], between=False)

    def scores(self, x: _Floats) -> _Floats:
        """Normal scores; tied values get the middle of their range."""
        left, right = (np.searchsorted(self.values, x, side=side) for side in ("left", "right"))
        if self.between:
            share = np.interp(x, self.values, self.up_to)
            steps = (right > left) & self.halves_ties
            share[steps] = (self.up_to[left[steps]] + self.up_to[right[steps] - 1]) / 2
        else:
            before = np.concatenate([[0.0], self.up_to])
            share = (before[left] + before[right]) / 2
        return np.asarray(ndtri(np.clip(share, 0.005, 0.995)), dtype=np.float64)

    def at(self, z: _Floats) -> _Floats:
        """Inverse of `scores`."""
        share = ndtr(z)
        if self.between:
            return np.asarray(np.interp(share, self.up_to, self.values), dtype=np.float64)
        place = np.minimum(np.searchsorted(self.up_to, share, side="left"), len(self.values) - 1)
        return np.asarray(self.values[place], dtype=np.float64)

    def hermite(self) -> _Floats:
        """h_j; that of z itself for a single value."""
        z = ndtri((np.arange(_NORMAL_POINTS) + 0.5) / _NORMAL_POINTS)
        scores = self.scores(self.at(z))
        if np.ptp(scores) == 0:
            return _AS_NORMAL
        standardised = (scores - scores.mean()) / scores.std()
        before, polynomial, found = np.ones(len(z)), z, []
        for order in range(1, _ORDERS + 1):
            found.append(standardised @ polynomial / len(z))
            before, polynomial = polynomial, (z * polynomial - np.sqrt(order) * before) / np.sqrt(order + 1)
        return np.array(found)

    def to_json(self) -> dict[str, Any]:
        return {
            "values": self.values.tolist(),
            "up_to": self.up_to.tolist(),
            "between": self.between,
            "halves_ties": self.halves_ties,
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        values, up_to = (np.array(document[name], dtype=np.float64) for name in ("values", "up_to"))
        if values.shape != up_to.shape or values.ndim != 1:
            msg = "the steps of a feature's distribution do not match"
            raise ValueError(msg)
        return cls(values, up_to, bool(document["between"]), bool(document.get("halves_ties", False)))


@dataclass(frozen=True, eq=False)
class _Levels:
    """The most frequent levels, which have columns, and the shares of all levels."""

    codes: NDArray[np.intp]
    shares: _Floats  # of all levels, by code

    @classmethod
    def of(cls, x: _Floats, n_levels: int) -> Self:
        counts = np.bincount(x.astype(np.intp), minlength=n_levels).astype(np.float64)
        codes = np.sort(np.argsort(-counts, kind="stable")[:_MAX_LEVELS])
        return cls(codes, counts / max(counts.sum(), 1.0))

    def columns(self, x: _Floats) -> _Floats:
        return np.where(np.isnan(x)[:, None], np.nan, (x[:, None] == self.codes).astype(np.float64))

    def drawn(self, probabilities: _Floats, u: _Floats) -> _Floats:
        """Draw codes; levels without a column share the rest in proportion to their frequencies."""
        rest = np.delete(np.arange(len(self.shares)), self.codes)
        codes = np.concatenate([self.codes, rest])
        of_rest = np.broadcast_to(self.shares[rest], (len(u), len(rest)))
        p = np.concatenate([np.maximum(probabilities, 0.0), of_rest], axis=1)
        p[p.sum(axis=1) <= 0] = self.shares[codes]
        up_to = np.cumsum(p, axis=1)
        place = (up_to < (u * up_to[:, -1])[:, None]).sum(axis=1)
        return np.asarray(codes[np.minimum(place, len(codes) - 1)], dtype=np.float64)

    def to_json(self) -> dict[str, Any]:
        return {"codes": self.codes.tolist(), "shares": self.shares.tolist()}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        codes, shares = np.array(document["codes"], dtype=np.intp), np.array(document["shares"], dtype=np.float64)
        if len(codes) and not 0 <= codes.min() <= codes.max() < len(shares):
            msg = "the levels of a feature's distribution do not match"
            raise ValueError(msg)
        return cls(codes, shares)


@dataclass(frozen=True, eq=False)
class FeatureDistribution:
    """Joint distribution of the features among the training patients."""

    margins: tuple[_Number | _Levels | None, ...]  # of each feature; None if nobody has a value
    centre: _Floats  # means of the columns, (d,)
    scale: _Floats  # standard deviations of the columns, (d,)
    loadings: _Floats  # l, (d, r), r at most 20
    n_missing: tuple[int, ...] = ()  # training patients without a value of each feature; empty if unknown

    @property
    def learnt_gaps(self) -> NDArray[np.bool_]:
        """Features that enough training patients lacked for the pipelines to learn what that means, shape = (m,)."""
        counts = self.n_missing or (0,) * len(self.margins)
        return np.array(counts) >= MIN_MISSING

    @classmethod
    def fit(cls, features: Sequence[Feature], X: _Floats) -> Self:
        """Estimate the distribution from X, shape = (n, m); beyond 20,000 patients, from evenly spaced ones."""
        n_missing = tuple(np.isnan(X).sum(axis=0).tolist())
        X = X[:: -(-len(X) // _MAX_LEARNT_FROM)]
        margins = tuple(_margin(feature, x) for feature, x in zip(features, X.T, strict=True))
        columns = _columns(margins, X)
        Z, centre, scale = standardise(columns)
        return cls(margins, centre, scale, _loadings(Z, ~np.isnan(columns), _hermite(margins)), n_missing)

    def completed(self, X: _Floats, n_draws: int) -> _Floats:
        """Draw the missing values of patients given their known values.

        Parameters
        ----------
        X : ndarray, shape = (n, m)
            Patients, with the features that the distribution was fitted on.
        n_draws : int
            Number of draws; those of one cell are spread evenly over its distribution.

        Returns
        -------
        ndarray, shape = (n_draws, n, m)
            Known values, and features that nobody had in training, are kept. Draws do not depend on the other patients.
        """
        d, r = self.loadings.shape
        told = np.broadcast_to(X, (n_draws, *X.shape)).copy()
        if not np.isnan(X).any() or not d:
            return told
        uniform = qmc.LatinHypercube(r + X.shape[1], seed=_SEED).random(n_draws)
        at_once = max(1, _CELLS_AT_ONCE // (r * r + n_draws * (r + d)))
        for start in range(0, len(X), at_once):
            part = slice(start, start + at_once)
            self._fill(told[:, part], uniform)
        return told

    def _fill(self, told: _Floats, uniform: _Floats) -> None:
        """Draw the missing cells of some patients, in place."""
        d, r = self.loadings.shape
        Z = (_columns(self.margins, told[0]) - self.centre) / self.scale
        known, psi = ~np.isnan(Z), self._uniqueness()
        scaled = self.loadings / psi[:, None]
        outer = (self.loadings[:, :, None] * scaled[:, None, :]).reshape(d, r * r)
        precision = np.eye(r) + (known.astype(np.float64) @ outer).reshape(-1, r, r)
        mean = np.linalg.solve(precision, (np.where(known, Z, 0.0) @ scaled)[:, :, None])[:, :, 0]
        root = np.linalg.cholesky(np.linalg.inv(precision))
        f = mean + np.einsum("nrs,us->unr", root, ndtri(uniform[:, :r]))
        place = 0
        for j, margin in enumerate(self.margins):
            width = _width(margin)
            columns = slice(place, place + width)
            place += width
            rows = np.flatnonzero(np.isnan(told[0, :, j]))
            if margin is None or not len(rows):
                continue
            first = self._latent[place - width]
            own = 1.0 - first @ first
            z = f[:, rows] @ first + np.sqrt(own) * ndtri(uniform[:, r + j])[:, None]
            if isinstance(margin, _Levels):
                expected = mean[rows] @ self.loadings[columns].T
                deviation = np.sqrt(((first @ root[rows]) ** 2).sum(axis=1) + own)
                u = ndtr(-(z - expected[:, 0]) / deviation)
                p = np.broadcast_to(self.centre[columns] + self.scale[columns] * expected, (*u.shape, width))
                drawn = margin.drawn(p.reshape(-1, width), u.ravel())
            else:
                drawn = margin.at(z)
            told[:, rows, j] = drawn.reshape(len(told), len(rows))

    @cached_property
    def _latent(self) -> _Floats:
        """L, shortened where z_j would have a variance above 1."""
        whole = self.loadings / _hermite(self.margins)[:, :1]
        length = np.sqrt((whole**2).sum(axis=1, keepdims=True))
        found: _Floats = whole * np.minimum(1.0, np.sqrt(1.0 - _MIN_UNIQUENESS) / np.maximum(length, _MIN_UNIQUENESS))
        return found

    def _uniqueness(self) -> _Floats:
        """psi, chosen so that every column has variance 1."""
        return np.asarray(np.maximum(1.0 - (self.loadings**2).sum(axis=1), _MIN_UNIQUENESS))

    def to_json(self) -> dict[str, Any]:
        """JSON document."""
        return {
            "margins": [None if margin is None else margin.to_json() for margin in self.margins],
            "centre": self.centre.tolist(),
            "scale": self.scale.tolist(),
            "loadings": self.loadings.tolist(),
            "n_missing": list(self.n_missing),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Read what `to_json` wrote; raises KeyError, TypeError or ValueError for any other document."""
        margins = tuple(_margin_from(each) for each in document["margins"])
        centre, scale = (np.array(document[key], dtype=np.float64) for key in ("centre", "scale"))
        loadings = np.array(document["loadings"], dtype=np.float64).reshape(len(centre), -1)
        if scale.shape != centre.shape or len(centre) != sum(_width(margin) for margin in margins):
            msg = "the columns of the features' distribution do not match the features"
            raise ValueError(msg)
        n_missing = tuple(int(n) for n in document.get("n_missing", ()))  # models from before version 0.3 have none
        if n_missing and len(n_missing) != len(margins):
            msg = "the counts of missing values do not match the features"
            raise ValueError(msg)
        return cls(margins, centre, scale, loadings, n_missing)


def standardise(columns: _Floats) -> tuple[_Floats, _Floats, _Floats]:
    """Columns (n, d) less their means, over their standard deviations, 0 where missing; the means; the deviations."""
    known = ~np.isnan(columns)
    count = np.maximum(known.sum(axis=0), 1)
    centre = np.where(known, columns, 0.0).sum(axis=0) / count
    deviations = np.where(known, columns - centre, 0.0)
    scale = np.sqrt((deviations**2).sum(axis=0) / count)
    scale[scale == 0] = 1.0
    return deviations / scale, centre, scale


def _margin(feature: Feature, x: _Floats) -> _Number | _Levels | None:
    values = x[~np.isnan(x)]
    if not len(values):
        return None
    return _Levels.of(values, len(feature.levels)) if feature.kind in _NOMINAL else _Number.of(values)


def _margin_from(document: Mapping[str, Any] | None) -> _Number | _Levels | None:
    if document is None:
        return None
    return _Levels.from_json(document) if "codes" in document else _Number.from_json(document)


def _width(margin: _Number | _Levels | None) -> int:
    return len(margin.codes) if isinstance(margin, _Levels) else int(margin is not None)


def _columns(margins: Sequence[_Number | _Levels | None], X: _Floats) -> _Floats:
    blocks = [np.empty((len(X), 0))]
    for margin, x in zip(margins, X.T, strict=True):
        if isinstance(margin, _Levels):
            blocks.append(margin.columns(x))
        elif margin is not None:
            blocks.append(np.where(np.isnan(x), np.nan, margin.scores(x))[:, None])
    return np.hstack(blocks)


def _hermite(margins: Sequence[_Number | _Levels | None]) -> _Floats:
    """h, shape = (d, 8)."""
    blocks = [
        np.tile(margin.hermite() if isinstance(margin, _Number) else _AS_NORMAL, (_width(margin), 1))
        for margin in margins
    ]
    return np.concatenate([*blocks, np.empty((0, _ORDERS))])


def _loadings(Z: _Floats, known: NDArray[np.bool_], h: _Floats) -> _Floats:
    """Compute l of standardised columns, in which missing cells are 0."""
    d = Z.shape[1]
    if not d:
        return np.empty((0, 0))
    pairs = known.astype(np.float64)
    unrelated = min(d, _MAX_UNRELATED) / np.outer(h[:, 0], h[:, 0]) ** 2
    R = _normal_correlations(Z.T @ Z / (pairs.T @ pairs + unrelated), h)
    np.fill_diagonal(R, 1.0)
    r = min(_MAX_FACTORS, max(1, d - 1))
    l, U = eigh(R, subset_by_index=[d - r, d - 1])  # noqa: E741  eigenvalues
    # The mean eigenvalue of the axes left out is noise in every column.
    noise = max((d - float(l.sum())) / (d - r), _MIN_UNIQUENESS) if d > r else _MIN_UNIQUENESS
    return np.asarray(h[:, :1] * U * np.sqrt(np.maximum(l - noise, 0.0)), dtype=np.float64)


def _normal_correlations(C: _Floats, h: _Floats) -> _Floats:
    """Compute R from C by Newton's method, element by element."""
    first = np.outer(h[:, 0], h[:, 0])
    R = np.clip(C / first, -_MAX_CORRELATION, _MAX_CORRELATION)
    for _ in range(_NEWTON_STEPS):
        value, slope = np.zeros_like(R), np.zeros_like(R)
        for order in range(_ORDERS, 0, -1):
            product = np.outer(h[:, order - 1], h[:, order - 1])
            value, slope = (value + product) * R, slope * R + order * product
        R = np.clip(R - (value - C) / np.maximum(slope, first / 2), -_MAX_CORRELATION, _MAX_CORRELATION)
    return R
