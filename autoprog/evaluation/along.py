"""Settings along a path: scores of many values of a hyperparameter from one fit per fold.

    v        values of the hyperparameter, ascending; a fold whose fit ended early has fewer                (m,)
    l        mean loss of the patients held out of a fold, by value: the log loss, of event times
             the integrated Brier score                                                             (folds, m)
    i        argmin_j mean over folds of l_j, among the values that all folds have: one for all     scalar

A value chosen in each fold by its own patients would inflate the score; one value chosen by all of them hardly does (by
.0005 of log loss on thirteen cohorts).

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
    """Scores, losses and risks of one fold at every value."""

    values: tuple[Parameter, ...]  # v
    scores: NDArray[np.float64]  # in the metric's own direction, (m,)
    losses: NDArray[np.float64]  # l, (m,)
    risks: NDArray[np.float32]  # of the fold's test patients, (m, n_test) or (m, n_test, n_times)
    competing: NDArray[np.float32] | None = None  # (m, n_test, n_causes - 1, n_horizons), see `FoldResult`


@dataclass(frozen=True, slots=True)
class Setting:
    """One value of the hyperparameter, with its scores by fold in the metric's own direction."""

    value: Parameter
    fold_scores: tuple[float, ...]

    @property
    def score(self) -> float:
        """Mean over folds."""
        return float(np.mean(self.fold_scores))


@dataclass(frozen=True, slots=True)
class EvaluatedPath:
    """Scores of a hyperparameter's values, ascending up to the requested bound, that all folds have."""

    hyperparameter: str
    bound: Parameter
    settings: tuple[Setting, ...]

    def to_json(self) -> dict[str, Any]:
        """JSON document."""
        return {
            "hyperparameter": self.hyperparameter,
            "bound": self.bound,
            "settings": [[setting.value, *setting.fold_scores] for setting in self.settings],
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> EvaluatedPath:
        """Read what `to_json` wrote."""
        settings = tuple(Setting(value, tuple(scores)) for value, *scores in document["settings"])
        return cls(document["hyperparameter"], document["bound"], settings)


def common_place(paths: Sequence[FoldPath]) -> int:
    """Index i of the value that all folds share, the smallest among equals."""
    m = min(len(path.values) for path in paths)
    return int(np.argmin(np.mean([path.losses[:m] for path in paths], axis=0)))


def list_settings(paths: Sequence[FoldPath]) -> tuple[Setting, ...]:
    """Scores of every value that all folds have, ascending."""
    m = min(len(path.values) for path in paths)
    return tuple(Setting(paths[0].values[j], tuple(float(path.scores[j]) for path in paths)) for j in range(m))
