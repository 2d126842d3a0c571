"""Learners whose one fit gives every smaller value of a hyperparameter, as a booster's does for the number of trees.

The configuration gives the upper bound; values up to it are tried on held-out patients, and all folds share the best.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from autoprog.space.hyperparameters import Parameter

PATIENCE = 40
"""Steps, such as trees, without a better held-out loss after which a fit ends."""


class HeldOut(NamedTuple):
    """Held-out rows on which a fit is monitored.

    Attributes
    ----------
    X : ndarray, shape = (n_held_out, n_columns)
        Columns as in the fit.
    y : ndarray, shape = (n_held_out,)
        0 and 1.
    weight : ndarray, shape = (n_held_out,), or None
        Weights in the loss, 1 each if None.
    """

    X: NDArray[np.float64]
    y: NDArray[np.integer]
    weight: NDArray[np.float64] | None = None


class FittedPath(NamedTuple):
    """A classifier at every value of the path hyperparameter."""

    values: tuple[Parameter, ...]  # ascending, at least one
    risks_of: Callable[[NDArray[np.float64]], NDArray[np.float64]]  # from rows (n, n_columns) to (n_values, n)


class PathFit(NamedTuple):
    """Held-out risks of every cause at every value of the path hyperparameter."""

    values: tuple[Parameter, ...]  # ascending, at least one
    risks: NDArray[np.float32]  # (n_values, n_held_out, n_causes, n_times)


class PathLearner(Protocol):
    """A classifier that can be fitted along a path."""

    # An estimator built with one of the path's values and fitted to the same rows must give the same risks. Where its
    # `fit` takes `groups`, `fit_path` does too.
    def fit_path(
        self,
        X: NDArray[np.float64],
        y: NDArray[np.integer],
        held_out: HeldOut,
        sample_weight: NDArray[np.float64] | None = None,
    ) -> FittedPath:
        """Fit up to the hyperparameter's bound, or until the held-out loss no longer falls."""


def grid_up_to(low: float, bound: float, steps_a_doubling: float = 6.0) -> tuple[float, ...]:
    """Geometric grid from `low` (above 0) to `bound`, ascending and distinct; integers if the bound is one."""
    if bound <= low:
        return (bound,)
    steps = max(1, round(steps_a_doubling * float(np.log2(bound / low))))
    values = np.geomspace(low, bound, steps + 1)[:-1].tolist()
    if isinstance(bound, int):
        return (*(sorted({round(v) for v in values} - {bound})), bound)
    return (*values, bound)


def compute_log_loss(p: NDArray[np.float64], y: NDArray[np.integer], weight: NDArray[np.float64] | None) -> float:
    """Weighted mean log loss, risks clipped to [1e-6, 1 - 1e-6]."""
    q = np.clip(p, 1e-6, 1 - 1e-6)
    return float(np.average(-np.where(y == 1, np.log(q), np.log1p(-q)), weights=weight))
