"""A pipeline whose last stage predicts cumulative incidence curves."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from autoprog.fitted_pipeline import transform
from autoprog.space.event_times.outcomes import has_event
from autoprog.space.groups import Groups, with_groups
from autoprog.space.path import PathFit


class IncidencePipeline(BaseEstimator):  # type: ignore[misc]
    """Transformers, followed by a learner of cumulative incidence.

    Parameters
    ----------
    stages : Pipeline
        Unfitted transformers; supervised ones get the indicator of the event of interest.
    learner : estimator
        Unfitted, with `cumulative_incidence`.

    Attributes
    ----------
    stages_, learner_ : estimator
        Fitted.
    """

    def __init__(self, stages: Pipeline, learner: BaseEstimator) -> None:
        self.stages = stages
        self.learner = learner

    def fit(self, X: ArrayLike, y: NDArray[np.void], groups: Groups | None = None) -> Self:
        """Fit every stage to the output of the stage before; NaN in `X` is missing, `y` has dtype `EVENT_TIMES`."""
        self.stages_ = clone(self.stages)
        columns = self.stages_.fit_transform(X, has_event(y))
        self.learner_ = clone(self.learner).fit(columns, y, **with_groups(self.learner, groups))
        return self

    def fit_path(
        self,
        X: ArrayLike,
        y: NDArray[np.void],
        other_X: ArrayLike,
        other_y: NDArray[np.void],
        times: ArrayLike,
        groups: Groups | None = None,
    ) -> PathFit:
        """Fit the learner along its path, monitored on held-out patients.

        Parameters
        ----------
        X, y : array-like, shape = (n_patients, n_features), and structured ndarray, shape = (n_patients,)
            As in `fit`.
        other_X, other_y : array-like, shape = (n_others, n_features), and structured ndarray, shape = (n_others,)
            The held-out patients.
        times : array-like, shape = (n_times,)
            Times of the risks.
        groups : ndarray of int, shape = (n_patients,), or None
            Rows that a learner's own splits keep together.

        Returns
        -------
        PathFit
            Risks of every cause, shape = (m, n_others, n_causes, n_times).
        """
        self.stages_ = clone(self.stages)
        columns = self.stages_.fit_transform(X, has_event(y))
        self.learner_ = clone(self.learner)
        others = self.stages_.transform(other_X)
        more = with_groups(self.learner, groups)
        path: PathFit = self.learner_.fit_path(columns, y, others, other_y, times, **more)
        return path

    def cumulative_incidence(self, X: ArrayLike, times: ArrayLike) -> NDArray[np.float64]:
        """P(cause k until t | x).

        Parameters
        ----------
        X : array-like, shape = (n_patients, n_features)
            As in `fit`.
        times : array-like, shape = (n_times,)
            Times, 0 or more.

        Returns
        -------
        ndarray, shape = (n_patients, n_causes, n_times)
            Nondecreasing in time; the sum over causes is at most 1.
        """
        check_is_fitted(self)
        columns = transform(self.stages_.steps, np.asarray(X))
        incidence: NDArray[np.float64] = self.learner_.cumulative_incidence(columns, times)
        return incidence
