"""Synthetic clinical tables: causes behind the measurements, then the measurements with their units, skew and gaps.

n, p          patients, columns
U             latent values of the columns, standard normal or nearly so; shape = (n, p)
x             the columns as they are measured: a monotone or coarsened form of U, in some unit

U comes from independent columns, from a few factors that blocks of columns share, or from a structural causal model
whose mechanisms are linear, curved or steps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_Floats = NDArray[np.float64]

KINDS = ("normal", "lognormal", "power", "even", "count", "score", "binary", "sparse", "heavy")
_USUAL_SHARES = np.array([3.5, 5.0, 1.5, 0.6, 2.0, 2.0, 6.0, 0.7, 0.5])
# Of the shapes of `bend`; a curve with a minimum, the third, is learnt last.
_CURVES = np.array([2.0, 2.0, 4.0, 2.0, 2.0, 2.0, 3.0]) / 17.0
_FEW_LEVELS, _MANY_LEVELS = 3, 9


def draw_latent(rng: np.random.Generator, n: int, p: int) -> _Floats:
    """Draw U, each column with mean 0 and standard deviation 1."""
    how = rng.choice(3, p=[0.05, 0.5, 0.45])
    if how == 0:
        return rng.standard_normal((n, p))
    return standardise(_factors(rng, n, p) if how == 1 else _causal(rng, n, p))


def standardise(values: _Floats) -> _Floats:
    """Mean 0 and standard deviation 1 for each column; a constant column stays 0."""
    centred = values - values.mean(axis=0)
    return np.asarray(centred / np.maximum(centred.std(axis=0), 1e-9))


def _factors(rng: np.random.Generator, n: int, p: int) -> _Floats:
    k = int(rng.integers(1, 2 + min(p, 7)))
    loadings = rng.standard_normal((k, p)) * (rng.random((k, p)) < rng.uniform(0.15, 1.0))
    own = np.exp(rng.normal(-0.4, 0.8, p))
    factors = rng.standard_normal((n, k))
    if rng.random() < 0.2:  # subgroups of patients
        factors[:, 0] += rng.choice(rng.normal(0, 2, int(rng.integers(2, 5))), n)
    return np.asarray(factors @ loadings + own * rng.standard_normal((n, p)))


def _causal(rng: np.random.Generator, n: int, p: int) -> _Floats:
    hidden = int(rng.integers(0, 1 + max(3, p // 3)))
    nodes = np.empty((n, p + hidden))
    parents_in_mean, noise = rng.uniform(0.5, 2.5), np.exp(rng.normal(-0.3, 0.5))
    for j in range(p + hidden):
        value = rng.standard_normal(n)
        k = min(j, int(rng.poisson(parents_in_mean)), 5)
        if k:
            value *= noise * np.exp(rng.normal(0.0, 0.4))
            for parent in rng.choice(j, k, replace=False):
                value += rng.standard_normal() * bend(rng, nodes[:, parent])
        nodes[:, j] = (value - value.mean()) / max(value.std(), 1e-9)
    return nodes[:, rng.permutation(p + hidden)[:p]]


def bend(rng: np.random.Generator, u: _Floats, curved: float = 0.5) -> _Floats:  # noqa: PLR0911  one curve each
    """A function of one variable, linear but for the share `curved` of draws; about standard."""
    if rng.random() >= curved:
        return u
    centre = rng.normal(0.0, 0.8)
    match int(rng.choice(7, p=_CURVES)):
        case 0:
            return np.tanh(np.exp(rng.normal(0.5, 0.5)) * (u - centre))
        case 1:
            return (u > centre) * 2.0 - 1.0
        case 2:
            return ((u - centre) ** 2 - 1.0) / 1.5
        case 3:
            return np.maximum(u - centre, 0.0) * 1.5
        case 4:
            return np.sin(np.exp(rng.normal(0.0, 0.4)) * (u - centre) * 1.5)
        case 5:
            return np.exp(np.clip(u * rng.uniform(0.3, 0.9), -4, 4)) - 1.0
        case _:
            knots = np.sort(rng.normal(0.0, 1.2, 5))
            return np.interp(u, knots, np.cumsum(rng.normal(0.0, 0.9, 5)))


def measure(rng: np.random.Generator, U: _Floats) -> _Floats:
    """Turn latent values into columns as they are measured; blocks of them into categories, one column a level."""
    n, p = U.shape
    x = np.empty((n, p))
    shares = rng.dirichlet(_USUAL_SHARES * rng.uniform(0.3, 1.5))
    categories = rng.random() * (0.6 if rng.random() < 0.5 else 0.0)
    j = 0
    while j < p:
        levels = int(rng.integers(_FEW_LEVELS, _MANY_LEVELS))
        if rng.random() < categories / 3 and j + levels <= p:
            x[:, j : j + levels] = _category(rng, U[:, j], levels)
            j += levels
        else:
            x[:, j] = _column(rng, U[:, j], str(rng.choice(KINDS, p=shares)))
            j += 1
    return x


def _category(rng: np.random.Generator, u: _Floats, levels: int) -> _Floats:
    told = rng.normal(0.0, 1.2, levels) * u[:, None] + rng.normal(0.0, 1.0, levels) + rng.gumbel(size=(len(u), levels))
    return np.eye(levels)[told.argmax(axis=1)]


def _column(rng: np.random.Generator, u: _Floats, kind: str) -> _Floats:  # noqa: PLR0911  one unit each
    match kind:
        case "normal":
            return _rounded(rng, rng.normal(0, 3) + u)
        case "lognormal":
            return _rounded(rng, np.exp(np.clip(u * rng.uniform(0.2, 1.5), -9, 9)))
        case "power":
            return _rounded(rng, np.sign(u) * np.abs(u) ** rng.uniform(0.5, 2.5))
        case "even":
            return _rounded(rng, np.argsort(np.argsort(u)) / len(u))
        case "count":
            return np.floor(np.exp(np.clip(u * rng.uniform(0.3, 1.0) + rng.uniform(-0.5, 1.8), -5, 7)))
        case "score":
            return np.floor(np.clip((u + rng.uniform(-1, 1)) * rng.uniform(0.6, 2.0) + 2, 0, rng.integers(2, 9)))
        case "sparse":
            return np.maximum(u - np.quantile(u, rng.uniform(0.3, 0.9)), 0.0)
        case "heavy":
            return np.sinh(np.clip(u * rng.uniform(0.8, 2.0), -8, 8))
        case _:
            share = rng.beta(0.9, 1.6) * 0.96 + 0.02
            return (u > np.quantile(u, 1 - share)).astype(np.float64)


def _rounded(rng: np.random.Generator, x: _Floats) -> _Floats:
    if rng.random() < 0.5:
        return x
    step = x.std() * np.exp(rng.uniform(-4.0, 0.0))
    return np.asarray(np.round(x / max(step, 1e-9)))


def lose_cells(rng: np.random.Generator, x: _Floats, U: _Floats, risk: _Floats) -> _Floats:
    """Set cells of half of the tables to NaN: at random, or by the value, by another, or by the risk."""
    n, p = x.shape
    if rng.random() < 0.5:
        return x
    lossy, most, together = rng.random(p) < rng.uniform(0.05, 0.9), rng.beta(0.8, 2.5), rng.random() < 0.25
    visit = rng.standard_normal(n)
    for j in np.flatnonzero(lossy):
        by = rng.standard_normal(n)
        match int(rng.integers(5)):
            case 0:
                by = by + rng.normal(0, 1) * U[:, j]
            case 1:
                by = by + rng.normal(0, 1) * U[:, rng.integers(p)]
            case 2:
                by = by + rng.normal(0, 0.7) * risk
            case _:
                by = visit if together else by
        x[by < np.quantile(by, most * rng.random()), j] = np.nan
    return x


@dataclass(frozen=True)
class Extent:
    """What the tables of a batch share: patients, those to learn from, groups of columns, fewest and most columns."""

    m: int
    n: int
    groups: int
    fewest: int
    most: int
