"""Base of the binary classifiers of this package."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets


def two_classes(y: NDArray[np.generic]) -> tuple[NDArray[np.generic], NDArray[np.float64]]:
    """The two sorted values of an outcome, and the indicator of the second; ValueError if there are not two."""
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) != 2:
        msg = f"Only binary classification is supported: the outcome has {len(classes)} class(es), not two"
        raise ValueError(msg)
    return classes, codes.astype(np.float64)


class BinaryClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A probabilistic classifier of two classes; the second of `classes_` is the event."""

    classes_: NDArray[np.generic]

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def predict(self, X: ArrayLike) -> NDArray[np.generic]:
        """The more probable class of each patient, shape = (n_patients,)."""
        likelier = np.argmax(self.predict_proba(X), axis=1)  # raises before a fit
        most_probable: NDArray[np.generic] = self.classes_[likelier]
        return most_probable
