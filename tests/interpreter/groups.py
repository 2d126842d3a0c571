"""Simulated rows that are alike within groups."""

from __future__ import annotations

import numpy as np
from scipy.signal import lfilter

from autoprog.cohort import Binary, Cohort, Feature

_SETTLED = 200  # steps after which a series has forgotten where it began


def alike(rng: np.random.Generator, group: np.ndarray, m: int, share: float) -> np.ndarray:
    """m standard normal values of each row, this share of whose variance is the group's, shape = (m, n_rows)."""
    of_groups, of_rows = rng.normal(size=(m, group.max() + 1))[:, group], rng.normal(size=(m, len(group)))
    return share**0.5 * of_groups + (1 - share) ** 0.5 * of_rows


def serial(rng: np.random.Generator, group: np.ndarray, m: int, correlation: float) -> np.ndarray:
    """The same, with this correlation of rows of a group that follow each other, less of others (AR(1))."""
    sizes = np.bincount(group)
    noise = (1 - correlation**2) ** 0.5 * rng.normal(size=(m, len(sizes), _SETTLED + sizes.max()))
    values = lfilter([1], [1, -correlation], noise, axis=-1)[..., _SETTLED:]
    return np.asarray(values[:, np.arange(sizes.max()) < sizes[:, None]])


def cohort_of(X: np.ndarray, group: np.ndarray, rng: np.random.Generator) -> Cohort:
    """Rows with these numbers, shape = (width, n_rows), and outcomes that have nothing to do with them."""
    features = tuple(Feature(f"x{j}", "numeric") for j in range(len(X)))
    y = rng.integers(0, 2, len(group)).astype(np.int8)
    return Cohort("groups", Binary("y", "1", "0"), features, X.T.copy(), y, groups=group)
