"""What tests of several learners share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from autoprog.space import Algorithm, Parameter, TableShape

Table = NDArray[np.float64]


def shape_of(X: Table, y: NDArray[np.generic], categorical: tuple[int, ...] = ()) -> TableShape:
    n_minority = int(min(y.sum(), len(y) - y.sum()))
    return TableShape(len(X), X.shape[1], n_minority, bool(np.isnan(X).any()), categorical=categorical)


def fitted(
    algorithm: Algorithm,
    X: Table,
    y: NDArray[np.generic],
    weights: Table | None = None,
    *,
    shape: TableShape | None = None,
    seed: int = 0,
    **parameters: Parameter,
) -> BaseEstimator:
    """The algorithm at its defaults but for `parameters`, fitted to all patients."""
    estimator = algorithm.build(dict(algorithm.default_step().parameters) | parameters, shape or shape_of(X, y), seed)
    return estimator.fit(X, y) if weights is None else estimator.fit(X, y, sample_weight=weights)


def patients(n: int, d: int, seed: int = 0, signal: float = 1.0) -> tuple[Table, NDArray[np.int8]]:
    """Normal columns of unequal scale, of which the first two matter; about a third of the patients have the event."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, d))
    y = (signal * Z[:, :2].sum(axis=1) + rng.logistic(size=n) > 1).astype(np.int8)
    return Z * np.linspace(0.5, 20.0, d) + np.arange(d), y


def standardised(X: Table) -> Table:
    return (X - X.mean(axis=0)) / X.std(axis=0)
