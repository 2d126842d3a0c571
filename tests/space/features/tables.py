"""Tables at the edge of what a fold can hold."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from autoprog.space import Algorithm, Parameter, TableShape
from autoprog.space.features import FEATURES

Table = tuple[NDArray[np.float64], NDArray[np.int8]]


def processor(name: str) -> Algorithm:
    return next(algorithm for algorithm in FEATURES if algorithm.name == name)


def shape_of(X: NDArray[np.float64], n_patients: int | None = None) -> TableShape:
    n = len(X) if n_patients is None else n_patients
    return TableShape(n_patients=n, n_columns=X.shape[1], n_minority=n // 3, has_missing=False)


def built(name: str, X: NDArray[np.float64], seed: int = 0, **changed: Parameter) -> BaseEstimator:
    """The processor at its defaults, but for what is changed, for training folds of this size."""
    algorithm = processor(name)
    parameters: Mapping[str, Parameter] = {**dict(algorithm.default_step().parameters), **changed}
    estimator = algorithm.build(parameters, shape_of(X), seed)
    assert estimator is not None
    return estimator


def edge_tables() -> dict[str, Table]:
    rng = np.random.default_rng(1)
    almost_constant = np.zeros((60, 3))
    almost_constant[[0, 1, 2], [0, 1, 2]] = 1.0
    one = rng.normal(size=(60, 1))
    sites = np.eye(5)[rng.integers(0, 5, 100)]
    scales = [1e6 + 1e-3 * rng.normal(size=60), 1e12 * rng.normal(size=60), rng.integers(0, 2, 60)]
    X = {
        "narrow": rng.normal(size=(60, 3)),
        "broad": rng.normal(size=(100, 43)),
        "almost constant": almost_constant,
        "three times the same": np.hstack([one, one, one]),
        "one binary column": (rng.random((60, 1)) < 0.5).astype(float),
        "dummies, twice, and rare ones": np.hstack([sites, sites, rng.random((100, 8)) < 0.02]).astype(float),
        "all scales": np.column_stack(scales),
        "more columns than patients": rng.normal(size=(60, 80)),
    }
    return {name: (table, (rng.random(len(table)) < 0.3).astype(np.int8)) for name, table in X.items()}


def same_up_to_sign_and_order(A: NDArray[np.float64], B: NDArray[np.float64]) -> bool:
    """Whether every column of A has one in B that it is perfectly correlated with, and no two the same one."""
    correlation = np.abs(np.corrcoef(A.T, B.T)[: A.shape[1], A.shape[1] :])
    partner = correlation.argmax(axis=1)
    return A.shape == B.shape and len(set(partner)) == len(partner) and bool(correlation.max(axis=1).min() > 0.999)
