"""Settings along a path: what one fit a fold says of many values of a hyperparameter, and the one that all folds share.

=======  =====================================================================================  ============
symbol   meaning                                                                                shape
=======  =====================================================================================  ============
v        values of the hyperparameter, ascending; a fold whose fit ended early has fewer        (m,)
l        mean loss of the patients held out of a fold, by value: the log loss, of event times
         the integrated Brier score                                                             (folds, m)
i        argmin_j mean over folds of l_j, among the values that all folds have: one for all     scalar
=======  =====================================================================================  ============

A value chosen in each fold by its own patients would make the score too good; one number that thousands of patients
share hardly does (.0005 of log loss on thirteen cohorts).

References
----------
Zhang & Yu (2005), Ann. Stat. 33:1538 (early stopping of boosting); Friedman, Hastie & Tibshirani (2010), J. Stat.
Softw. 33(1), section 2.5 (one penalty for all folds).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autoprog.space import Parameter


@dataclass(frozen=True, eq=False)
class FoldPath:
    """What one fold says of every value.

    Attributes
    ----------
    values : tuple of Parameter, length m
        v.
    scores : ndarray, shape = (m,)
        In the metric's own direction.
    losses : ndarray, shape = (m,)
        l.
    risks : ndarray, shape = (m, n_test) or (m, n_test, n_times)
        float32; of the fold's test patients.
    competing : ndarray, shape = (m, n_test, n_causes - 1, n_horizons), or None
        float32; see `FoldResult`.
    """

    values: tuple[Parameter, ...]
    scores: NDArray[np.float64]
    losses: NDArray[np.float64]
    risks: NDArray[np.float32]
    competing: NDArray[np.float32] | None = None


@dataclass(frozen=True, slots=True)
class Setting:
    """One value and its scores.

    Attributes
    ----------
    value : Parameter
        Of the hyperparameter.
    fold_scores : tuple of float
        In the metric's own direction, in the order of the folds.
    """

    value: Parameter
    fold_scores: tuple[float, ...]

    @property
    def score(self) -> float:
        """Mean over folds."""
        return float(np.mean(self.fold_scores))


@dataclass(frozen=True, slots=True)
class EvaluatedPath:
    """What an evaluation says of the values up to the bound that was asked for.

    Attributes
    ----------
    hyperparameter : str
        Of the prediction algorithm.
    bound : Parameter
        What was asked for.
    settings : tuple of Setting
        Ascending; those that all folds have.
    """

    hyperparameter: str
    bound: Parameter
    settings: tuple[Setting, ...]

    def to_json(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "hyperparameter": self.hyperparameter,
            "bound": self.bound,
            "settings": [[setting.value, *setting.fold_scores] for setting in self.settings],
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> EvaluatedPath:
        """The inverse of `to_json`."""
        settings = tuple(Setting(value, tuple(scores)) for value, *scores in document["settings"])
        return cls(document["hyperparameter"], document["bound"], settings)


def common_place(paths: Sequence[FoldPath]) -> int:
    """The place of the value that all folds share.

    Parameters
    ----------
    paths : sequence of FoldPath, at least 1
        Of folds of one configuration.

    Returns
    -------
    int
        i; the smallest among equals.
    """
    m = min(len(path.values) for path in paths)
    return int(np.argmin(np.mean([path.losses[:m] for path in paths], axis=0)))


def list_settings(paths: Sequence[FoldPath]) -> tuple[Setting, ...]:
    """Scores of every value that all folds have, ascending."""
    m = min(len(path.values) for path in paths)
    return tuple(Setting(paths[0].values[j], tuple(float(path.scores[j]) for path in paths)) for j in range(m))
