"""What XGBoost and LightGBM need between them and the pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from autoprog.space.prediction.two_classes import BinaryClassifier, two_classes


class HistogramBooster(BinaryClassifier):
    """A booster that refuses an outcome of one class and is told which columns hold codes when it is fitted.

    Both libraries take an only class, whichever it is, for the absence of the event, and would give patients who all
    had it a risk of 0.

    Parameters
    ----------
    estimator : estimator
        An unfitted `XGBClassifier` or `LGBMClassifier`.
    categorical : sequence of int
        Columns of codes, as `fit` of LightGBM wants them; none for XGBoost, whose constructor has them.

    Attributes
    ----------
    estimator_ : estimator
        The fitted booster.
    classes_ : ndarray, shape = (2,)
        The second is the event.
    """

    def __init__(self, estimator: BaseEstimator, categorical: Sequence[int] = ()) -> None:
        self.estimator = estimator
        self.categorical = categorical

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the booster.

        Parameters
        ----------
        X : array-like, shape = (n_patients, n_columns)
            Design matrix; NaN is missing, codes are whole numbers from 0.
        y : array-like, shape = (n_patients,)
            Outcome of two classes.
        sample_weight : array-like, shape = (n_patients,), optional
            Weight of every patient, at least 0; 1 each if None.

        Returns
        -------
        HistogramBooster
            Itself.

        Raises
        ------
        ValueError
            If there are not two classes.
        """
        outcome = np.asarray(y)
        self.classes_, _ = two_classes(outcome)
        codes = {"categorical_feature": list(self.categorical)} if self.categorical else {}
        self.estimator_ = clone(self.estimator).fit(X, outcome, sample_weight=sample_weight, **codes)
        return self

    def predict_proba(self, X: ArrayLike) -> NDArray[np.floating]:
        """Probability of each class.

        Parameters
        ----------
        X : array-like, shape = (n_patients, n_columns)
            Design matrix; a code that no training patient had is no error.

        Returns
        -------
        ndarray, shape = (n_patients, 2)
            Columns as in `classes_`.
        """
        check_is_fitted(self)
        probability: NDArray[np.floating] = self.estimator_.predict_proba(X)
        return probability

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
