"""A learner on columns of mean 0 and variance 1, with a weight for every patient where the learner takes one."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.preprocessing import StandardScaler
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_is_fitted

from autoprog.space.prediction.two_classes import BinaryClassifier, two_classes


class Standardised(BinaryClassifier):
    """Standardise the columns on the training patients, then fit a classifier to them.

    A scikit-learn `Pipeline` of the two refuses `sample_weight` unless routing of metadata is switched on for the whole
    process. Here the weights reach both: an integer weight is the same as that many copies of the patient.

    Parameters
    ----------
    estimator : estimator
        The unfitted classifier.
    origin : float
        In standard deviations from the mean: what the classifier gets as 0.

    Attributes
    ----------
    scaler_ : StandardScaler
        Means and standard deviations of the training patients.
    estimator_ : estimator
        The fitted classifier.
    classes_ : ndarray, shape = (2,)
        The second is the event.
    """

    def __init__(self, estimator: BaseEstimator, origin: float = 0.0) -> None:
        self.estimator = estimator
        self.origin = origin

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Standardise and fit.

        Parameters
        ----------
        X : array-like, shape = (n_patients, n_columns)
            Design matrix.
        y : array-like, shape = (n_patients,)
            Outcome of two classes.
        sample_weight : array-like, shape = (n_patients,), optional
            Weight of every patient, at least 0; 1 each if None.

        Returns
        -------
        Standardised
            Itself.

        Raises
        ------
        ValueError
            If there are not two classes.
        TypeError
            If weights are given and the classifier takes none.
        """
        self.classes_, _ = two_classes(np.asarray(y))
        weights = {} if sample_weight is None else {"sample_weight": np.asarray(sample_weight, dtype=np.float64)}
        self.scaler_ = StandardScaler().fit(X, **weights)
        self.estimator_ = clone(self.estimator).fit(self._standardised(X), y, **weights)
        return self

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Probability of each class.

        Parameters
        ----------
        X : array-like, shape = (n_patients, n_columns)
            Design matrix.

        Returns
        -------
        ndarray, shape = (n_patients, 2)
            Columns as in `classes_`.
        """
        check_is_fitted(self)
        probability: NDArray[np.float64] = self.estimator_.predict_proba(self._standardised(X))
        return probability

    def _standardised(self, X: ArrayLike) -> NDArray[np.float64]:
        columns: NDArray[np.float64] = self.scaler_.transform(X) - self.origin
        return columns

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = get_tags(self.estimator).input_tags.allow_nan
        return tags
