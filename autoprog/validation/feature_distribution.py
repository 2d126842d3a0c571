"""Joint distribution of the features among the training patients, from which missing values are drawn.

    X        cohort's matrix: numbers and codes of levels, NaN is missing                               (n, m)
    G_j      distribution of number j among the training patients, by at most 101 steps
    Z        its columns: of a number Phi^-1(G_j(x)), of a feature with levels one 0/1 column a level,
             standardised; NaN where missing                                                            (n, d)
    C        correlations of the columns among those who have both, drawn to 0 where these are few      (d, d)
    L, psi   C is about L L' + diag(psi): r factors f explain the correlations                          (d, r), (d,)

    f | known  ~  N(V L_k' diag(1/psi_k) z_k, V)          V = (I + L_k' diag(1/psi_k) L_k)^-1, k the known columns
    z_j | f    ~  N(L_j f, psi_j)                          a number is G_j^-1(Phi(z_j))
    P(level l | known)  is proportional to  pi_l + sd_l L_l E(f | known), cut at 0

This is a Gaussian copula for numbers and a linear probability model for levels. Numbers are independent given the
factors. A level is drawn by the quantile of z of its first column, so that it follows the other draws. With d - 1
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
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.special import ndtr, ndtri
from scipy.stats import qmc

from autoprog.cohort import Feature

_Floats = NDArray[np.float64]

_MAX_STEPS = 101
_MAX_LEVELS = 20
_MAX_FACTORS = 20
_MAX_LEARNT_FROM = 20_000
# Correlations are shrunk as if so many patients with unrelated columns, at most d, were added: as many degrees of
# freedom as a regression on d columns takes.
_MAX_UNRELATED = 20
_MIN_UNIQUENESS = 0.01
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

    @classmethod
    def of(cls, x: _Floats) -> Self:
        values, counts = np.unique(x, return_counts=True)
        if len(values) <= _MAX_STEPS:
            return cls(values, np.cumsum(counts) / len(x), between=False)
        shares = np.linspace(0, 1, _MAX_STEPS)
        whole = bool((values == np.round(values)).all())
        steps = np.quantile(x, shares, method="inverted_cdf" if whole else "linear")
        return cls(steps, shares, between=not whole)

    def scores(self, x: _Floats) -> _Floats:
        """Normal scores; tied values get the middle of their range."""
        if self.between:
            share = np.interp(x, self.values, self.up_to)
        else:
            before = np.concatenate([[0.0], self.up_to])
            left, right = (np.searchsorted(self.values, x, side=side) for side in ("left", "right"))
            share = (before[left] + before[right]) / 2
        return np.asarray(ndtri(np.clip(share, 0.005, 0.995)), dtype=np.float64)

    def at(self, z: _Floats) -> _Floats:
        """Inverse of `scores`."""
        share = ndtr(z)
        if self.between:
            return np.asarray(np.interp(share, self.up_to, self.values), dtype=np.float64)
        place = np.minimum(np.searchsorted(self.up_to, share, side="left"), len(self.values) - 1)
        return np.asarray(self.values[place], dtype=np.float64)

    def to_json(self) -> dict[str, Any]:
        return {"values": self.values.tolist(), "up_to": self.up_to.tolist(), "between": self.between}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        values, up_to = (np.array(document[name], dtype=np.float64) for name in ("values", "up_to"))
        if values.shape != up_to.shape or values.ndim != 1:
            msg = "the steps of a feature's distribution do not match"
            raise ValueError(msg)
        return cls(values, up_to, bool(document["between"]))


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
    loadings: _Floats  # L, (d, r), r at most 20
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
        known = ~np.isnan(columns)
        count = np.maximum(known.sum(axis=0), 1)
        centre = np.where(known, columns, 0.0).sum(axis=0) / count
        deviations = np.where(known, columns - centre, 0.0)
        scale = np.sqrt((deviations**2).sum(axis=0) / count)
        scale[scale == 0] = 1.0
        return cls(margins, centre, scale, _loadings(deviations / scale, known), n_missing)

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
            own = np.sqrt(psi[columns][0]) * ndtri(uniform[:, r + j])[:, None]
            first = self.loadings[columns][0]
            z = f[:, rows] @ first + own
            if isinstance(margin, _Levels):
                expected = mean[rows] @ self.loadings[columns].T
                deviation = np.sqrt(((first @ root[rows]) ** 2).sum(axis=1) + psi[columns][0])
                u = ndtr(-(z - expected[:, 0]) / deviation)
                p = np.broadcast_to(self.centre[columns] + self.scale[columns] * expected, (*u.shape, width))
                drawn = margin.drawn(p.reshape(-1, width), u.ravel())
            else:
                drawn = margin.at(self.centre[columns] + self.scale[columns] * z)
            told[:, rows, j] = drawn.reshape(len(told), len(rows))

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


def _loadings(Z: _Floats, known: NDArray[np.bool_]) -> _Floats:
    """Compute L of standardised columns, in which missing cells are 0."""
    d = Z.shape[1]
    if not d:
        return np.empty((0, 0))
    pairs = known.astype(np.float64)
    C = Z.T @ Z / (pairs.T @ pairs + min(d, _MAX_UNRELATED))
    np.fill_diagonal(C, 1.0)
    r = min(_MAX_FACTORS, max(1, d - 1))
    l, U = eigh(C, subset_by_index=[d - r, d - 1])  # noqa: E741  eigenvalues
    # The mean eigenvalue of the axes left out is noise in every column.
    noise = max((d - float(l.sum())) / (d - r), _MIN_UNIQUENESS) if d > r else _MIN_UNIQUENESS
    return np.asarray(U * np.sqrt(np.maximum(l - noise, 0.0)), dtype=np.float64)
