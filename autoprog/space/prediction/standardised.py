"""A classifier on columns of mean 0 and variance 1, with patient weights if the classifier takes them."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.preprocessing import StandardScaler
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_is_fitted

from autoprog.space.fitted_rows import check_rows
from autoprog.space.groups import Groups, with_groups
from autoprog.space.prediction.two_classes import BinaryClassifier, two_classes


# A scikit-learn `Pipeline` refuses `sample_weight` unless metadata routing is on for the whole process. Here the
# weights reach scaler and classifier: an integer weight equals that many copies of the patient.
class Standardised(BinaryClassifier):
    """Standardise the columns on the training patients, then fit a classifier to them."""

    def __init__(self, estimator: BaseEstimator, origin: float = 0.0) -> None:
        self.estimator = estimator
        self.origin = origin  # what the classifier gets as 0, in standard deviations from the mean

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, groups: Groups | None = None
    ) -> Self:
        """Standardise and fit; ValueError without two classes, TypeError if the classifier takes no weights."""
        self.classes_, _ = two_classes(np.asarray(y))
        weights = {} if sample_weight is None else {"sample_weight": np.asarray(sample_weight, dtype=np.float64)}
        self.scaler_ = StandardScaler().fit(X, **weights)
        more = weights | with_groups(self.estimator, groups)
        self.estimator_ = clone(self.estimator).fit(self._standardised(X), y, **more)
        return self

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Probability of each class, shape = (n_patients, 2), columns as in `classes_`."""
        check_is_fitted(self)
        probability: NDArray[np.float64] = self.estimator_.predict_proba(self._standardised(X))
        return probability

    def _standardised(self, X: ArrayLike) -> NDArray[np.float64]:
        scaler = self.scaler_
        columns: NDArray[np.float64] = (check_rows(scaler, X) - scaler.mean_) / scaler.scale_ - self.origin
        return columns

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = get_tags(self.estimator).input_tags.allow_nan
        return tags
