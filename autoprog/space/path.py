"""One fit, many settings: learners whose fit passes through every smaller value of a hyperparameter.

A booster of 500 trees holds those of every smaller number; a penalised regression is solved from the strongest penalty
to the weakest. What is asked of such a configuration is a bound: the values up to it are tried on the patients held
out of each fold, and one that all folds share is kept.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from autoprog.space.hyperparameters import Parameter

PATIENCE = 40
"""Trees, or other steps, without a better loss on the patients held out after which a fit ends."""


class HeldOut(NamedTuple):
    """Rows that a fit is watched on.

    Attributes
    ----------
    X : ndarray, shape = (n_held_out, n_columns)
        Columns as in the fit.
    y : ndarray, shape = (n_held_out,)
        0 and 1.
    weight : ndarray, shape = (n_held_out,), or None
        What each counts in the loss; rows of weight 0 are predicted for and do not count. None for 1 each.
    """

    X: NDArray[np.float64]
    y: NDArray[np.integer]
    weight: NDArray[np.float64] | None = None


class PathFit(NamedTuple):
    """What a fit says of its settings.

    Attributes
    ----------
    values : tuple of Parameter, length m
        Values of the hyperparameter, ascending.
    risks : ndarray, shape = (m, n_held_out), of event times (m, n_held_out, n_causes, n_times)
        Risks of the rows held out by each.
    """

    values: tuple[Parameter, ...]
    risks: NDArray[np.float64]


class PathLearner(Protocol):
    """A classifier that can be fitted along a path."""

    def fit_path(
        self,
        X: NDArray[np.float64],
        y: NDArray[np.integer],
        held_out: HeldOut,
        sample_weight: NDArray[np.float64] | None = None,
    ) -> PathFit:
        """Fit up to the hyperparameter's bound, or until the loss on the rows held out no longer falls.

        Parameters
        ----------
        X : ndarray, shape = (n, n_columns)
            Columns of the rows to learn from.
        y : ndarray, shape = (n,)
            0 and 1.
        held_out : HeldOut
            Rows to predict for.
        sample_weight : ndarray, shape = (n,), optional
            Weight of every row; 1 each if None.

        Returns
        -------
        PathFit
            With at least one value. An estimator built with one of the values and fitted to the same rows gives the
            risks that stand there.
        """


def grid_up_to(low: float, bound: float, steps_a_doubling: float = 6.0) -> tuple[float, ...]:
    """Values of a hyperparameter at which a path is looked at.

    Parameters
    ----------
    low : float
        The lowest value, above 0; whole where `bound` is.
    bound : float
        The last value.
    steps_a_doubling : float
        Values for every doubling.

    Returns
    -------
    tuple of float, or of int where the bound is one
        Ascending and distinct, from the lowest to the bound; the bound alone where that is no more than the lowest.
    """
    if bound <= low:
        return (bound,)
    steps = max(1, round(steps_a_doubling * float(np.log2(bound / low))))
    values = np.geomspace(low, bound, steps + 1)[:-1].tolist()
    if isinstance(bound, int):
        return (*(sorted({round(v) for v in values} - {bound})), bound)
    return (*values, bound)


def compute_log_loss(p: NDArray[np.float64], y: NDArray[np.integer], weight: NDArray[np.float64] | None) -> float:
    """Mean log loss of risks, those of 0 and 1 as of 1e-6 and 1 - 1e-6; by weight where there are weights."""
    q = np.clip(p, 1e-6, 1 - 1e-6)
    return float(np.average(-np.where(y == 1, np.log(q), np.log1p(-q)), weights=weight))
