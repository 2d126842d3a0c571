"""Fits on a subsample, for methods whose cost grows too fast with the cohort."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from autoprog.cohort import stratified_rows
from autoprog.space.groups import Groups, with_groups
from autoprog.space.path import FittedPath, HeldOut


class _Subsampled(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """An estimator fitted on at most `max_patients` patients."""

    def __init__(self, estimator: BaseEstimator, max_patients: int, seed: int) -> None:
        self.estimator = estimator
        self.max_patients = max_patients
        self.seed = seed

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        groups: Groups | None = None,
    ) -> Self:
        """Fit to all patients, or to a subsample that keeps the share of events."""
        rows, outcome, weights, groups = self._fewer(X, y, sample_weight, groups)
        more = {} if weights is None else {"sample_weight": weights}
        self.estimator_ = clone(self.estimator).fit(rows, outcome, **more, **with_groups(self.estimator, groups))
        return self

    def _fewer(
        self, X: ArrayLike, y: ArrayLike | None, *of_rows: ArrayLike | None
    ) -> tuple[NDArray[Any], Any, Any, Any]:
        columns, outcome = np.asarray(X), None if y is None else np.asarray(y)
        self.n_patients_ = len(columns)
        chosen: Any = slice(None)
        if len(columns) > self.max_patients:
            chosen = stratified_rows(outcome, len(columns), self.max_patients, np.random.default_rng(self.seed))
        return (columns[chosen], *(None if v is None else np.asarray(v)[chosen] for v in (outcome, *of_rows)))


class SubsampledTransformer(TransformerMixin, _Subsampled):  # type: ignore[misc]
    """A transformer fitted on at most `max_patients` patients; it transforms all."""

    def transform(self, X: ArrayLike) -> NDArray[np.float64]:
        """Transform any number of patients."""
        check_is_fitted(self)
        transformed: NDArray[np.float64] = self.estimator_.transform(X)
        return transformed


class SubsampledClassifier(ClassifierMixin, _Subsampled):  # type: ignore[misc]
    """A classifier fitted on at most `max_patients` patients; it predicts for all."""

    @property
    def classes_(self) -> NDArray[Any]:
        """The two outcomes, in the order of the columns of `predict_proba`."""
        classes: NDArray[Any] = self.estimator_.classes_
        return classes

    def fit_path(
        self,
        X: NDArray[np.float64],
        y: NDArray[np.integer],
        held_out: HeldOut,
        sample_weight: NDArray[np.float64] | None = None,
        groups: Groups | None = None,
    ) -> FittedPath:
        """Fit along the path of the estimator; see `autoprog.space.path.PathLearner`."""
        rows, outcome, weights, groups = self._fewer(X, y, sample_weight, groups)
        self.estimator_ = clone(self.estimator)
        more = with_groups(self.estimator, groups)
        path: FittedPath = self.estimator_.fit_path(rows, outcome, held_out, weights, **more)
        return path

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Probability of each class, shape = (n_patients, 2)."""
        check_is_fitted(self)
        probabilities: NDArray[np.float64] = self.estimator_.predict_proba(X)
        return probabilities

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The more probable outcome of each patient, shape = (n_patients,)."""
        check_is_fitted(self)
        outcomes: NDArray[Any] = self.estimator_.predict(X)
        return outcomes


class SubsampledSurvival(_Subsampled):
    """A learner of event times fitted on at most `max_patients` patients; it predicts for all."""

    @property
    def times_(self) -> NDArray[np.float64]:
        """Times at which the hazard may step."""
        times: NDArray[np.float64] = self.estimator_.times_
        return times

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Score of each patient, higher is worse, shape = (n_patients,)."""
        check_is_fitted(self)
        scores: NDArray[np.float64] = self.estimator_.predict(X)
        return scores

    def predict_survival(self, X: ArrayLike, horizons: ArrayLike) -> NDArray[np.float64]:
        """P(T > t | x) at these horizons, shape = (n_patients, n_horizons)."""
        check_is_fitted(self)
        survival: NDArray[np.float64] = self.estimator_.predict_survival(X, horizons)
        return survival
