"""An ensemble that is refitted to training folds, and predicts the patients who were held out."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from autoprog.cohort import Cohort
from autoprog.ensemble import Scale, average
from autoprog.evaluation import Plan, fit_pipeline
from autoprog.space import Configuration

_Floats = NDArray[np.float64]
Change = Callable[[_Floats], _Floats]
"""From a table of patients to what is predicted in its place; may add rows."""


@dataclass(frozen=True, slots=True)
class Member:
    """A pipeline of an ensemble.

    Attributes
    ----------
    configuration : Configuration
        The pipeline.
    weight : float
        Its weight in (0, 1].
    """

    configuration: Configuration
    weight: float


@dataclass(frozen=True, eq=False)
class FoldEnsemble:
    """The members fitted to the training part of a fold."""

    test: NDArray[np.intp]  # rows held out
    _fitted: tuple[tuple[float, BaseEstimator, _Floats], ...]  # weight, pipeline, its table of the rows held out
    _scale: Scale
    _predict: Callable[[BaseEstimator, _Floats], _Floats]

    def predict(self, change: Change) -> _Floats:
        """Risks of the changed table of the rows held out, shape = (n_rows,), or (n_rows, n_times)."""
        weights = np.array([weight for weight, _, _ in self._fitted])
        risks = np.array([self._predict(pipeline, change(X)) for _, pipeline, X in self._fitted])
        return average(weights / weights.sum(), risks, self._scale)


class Refitting:
    """Fits an ensemble's members to training folds of a cohort."""

    def __init__(self, cohort: Cohort, plan: Plan, members: Sequence[Member], scale: Scale) -> None:
        self.cohort = plan.sample(cohort)
        self.plan = plan
        self._members = tuple(members)
        self._cohorts = [plan.sample(cohort, member.configuration) for member in members]
        self._scale = scale

    def fit(self, number: int, keep: Callable[[NDArray[np.intp]], NDArray[np.intp]] | None = None) -> FoldEnsemble:
        """Fit to the training part of a fold, or to what `keep` returns of it; raises ValueError if none can be."""
        fold = self.plan.fold(self.cohort, number)
        rows = fold.train if keep is None else keep(fold.train)
        fitted = []
        failure: ValueError | None = None
        for member, cohort in zip(self._members, self._cohorts, strict=True):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # the search has noted them
                    pipeline = fit_pipeline(member.configuration, cohort, rows, self.plan, self.plan.fold_seed(number))
            except ValueError as error:
                failure = error
                continue
            fitted.append((member.weight, pipeline, cohort.X[fold.test]))
        if not fitted:
            raise ValueError(str(failure)) from failure
        predict = partial(self.cohort.target.predict_risks, times=self.plan.times)
        return FoldEnsemble(fold.test, tuple(fitted), self._scale, predict)
