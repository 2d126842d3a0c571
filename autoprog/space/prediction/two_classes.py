"""What the binary classifiers of our own share."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets


def two_classes(y: NDArray[np.generic]) -> tuple[NDArray[np.generic], NDArray[np.float64]]:
    """The two values of an outcome, sorted, and 1 for every patient who has the second.

    Parameters
    ----------
    y : ndarray, shape = (n_patients,)
        The outcome.

    Returns
    -------
    tuple of ndarray
        The values, shape = (2,), and the indicator, shape = (n_patients,).

    Raises
    ------
    ValueError
        If there are not two values.
    """
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) != 2:
        msg = f"Only binary classification is supported: the outcome has {len(classes)} class(es), not two"
        raise ValueError(msg)
    return classes, codes.astype(np.float64)


class BinaryClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier of two classes that says how probable each is.

    Attributes
    ----------
    classes_ : ndarray, shape = (2,)
        The second is the event.
    """

    classes_: NDArray[np.generic]

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def predict(self, X: ArrayLike) -> NDArray[np.generic]:
        """The more probable class of each patient.

        Parameters
        ----------
        X : array-like, shape = (n_patients, n_columns)
            Design matrix.

        Returns
        -------
        ndarray, shape = (n_patients,)
            Of the type of the outcome.
        """
        likelier = np.argmax(self.predict_proba(X), axis=1)  # raises before a fit
        most_probable: NDArray[np.generic] = self.classes_[likelier]
        return most_probable
