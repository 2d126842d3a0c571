"""A pipeline whose last stage answers with curves."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from autoprog.space.event_times.outcomes import has_event
from autoprog.space.path import PathFit


class IncidencePipeline(BaseEstimator):  # type: ignore[misc]
    """Stages that transform the patients' columns, and a learner of cumulative incidence.

    Parameters
    ----------
    stages : Pipeline
        Unfitted transformers. Those that look at an outcome see whether the event of interest was seen.
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

    def fit(self, X: ArrayLike, y: NDArray[np.void]) -> Self:
        """Fit every stage to what the one before makes of the patients.

        Parameters
        ----------
        X : array-like, shape = (n_patients, n_features)
            Numbers and codes; NaN for missing.
        y : structured ndarray, shape = (n_patients,)
            See `event_times`.

        Returns
        -------
        IncidencePipeline
            Itself.
        """
        self.stages_ = clone(self.stages)
        self.learner_ = clone(self.learner).fit(self.stages_.fit_transform(X, has_event(y)), y)
        return self

    def fit_path(
        self, X: ArrayLike, y: NDArray[np.void], other_X: ArrayLike, other_y: NDArray[np.void], times: ArrayLike
    ) -> PathFit:
        """Fit the learner along its path, watched on other patients.

        Parameters
        ----------
        X, y : array-like, shape = (n_patients, n_features), and structured ndarray, shape = (n_patients,)
            As in `fit`.
        other_X, other_y : the same of the patients held out
            Of n_others.
        times : array-like, shape = (n_times,)
            Where risks are wanted.

        Returns
        -------
        PathFit
            Risks of every cause, shape = (m, n_others, n_causes, n_times).
        """
        self.stages_ = clone(self.stages)
        columns = self.stages_.fit_transform(X, has_event(y))
        self.learner_ = clone(self.learner)
        path: PathFit = self.learner_.fit_path(columns, y, self.stages_.transform(other_X), other_y, times)
        return path

    def cumulative_incidence(self, X: ArrayLike, times: ArrayLike) -> NDArray[np.float64]:
        """P(cause k until t | x).

        Parameters
        ----------
        X : array-like, shape = (n_patients, n_features)
            As in `fit`.
        times : array-like, shape = (n_times,)
            0 or more.

        Returns
        -------
        ndarray, shape = (n_patients, n_causes, n_times)
            Not decreasing with time, the sum over causes at most 1.
        """
        check_is_fitted(self)
        incidence: NDArray[np.float64] = self.learner_.cumulative_incidence(self.stages_.transform(X), times)
        return incidence
