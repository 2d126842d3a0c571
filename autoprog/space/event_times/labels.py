"""Classifiers of the labels that event times are turned into, some of which hardly anybody has."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.dummy import DummyClassifier

LEAST_LABELLED = 5
"""Rows with a label, and without it, that a classifier is fitted to; of fewer everybody gets their share."""


def fitted_to(
    classifier: BaseEstimator,
    X: NDArray[np.float64],
    label: NDArray[np.bool_],
    sample_weight: NDArray[np.float64] | None = None,
) -> BaseEstimator:
    """A classifier of a label; of a label that is too rare to learn from, one that gives all the share that have it.

    A competing cause that few patients have, or none until an early horizon, must not keep the others from being
    learnt, and its share is the Aalen-Johansen estimate of its incidence.

    Parameters
    ----------
    classifier : estimator
        Unfitted; a clone of it is fitted.
    X : ndarray, shape = (n_rows, n_columns)
        Columns.
    label : ndarray of bool, shape = (n_rows,)
        Who has it.
    sample_weight : ndarray, shape = (n_rows,), optional
        Weight of each row; then the classifier takes weights.

    Returns
    -------
    estimator
        Fitted.
    """
    n = int(label.sum())
    rare = min(n, len(label) - n) < LEAST_LABELLED
    learner = DummyClassifier(strategy="prior") if rare else clone(classifier)
    weights = {} if sample_weight is None else {"sample_weight": sample_weight}
    return learner.fit(X, label.astype(np.int8), **weights)


def share_of(classifier: BaseEstimator, X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Risk of the label, shape = (n_rows,), within [0, 1]; 0 where no row to learn from had it, 1 where all had."""
    if len(classifier.classes_) == 1:
        return np.full(len(X), float(classifier.classes_[0]))
    return np.asarray(np.clip(classifier.predict_proba(X)[:, 1], 0.0, 1.0), dtype=np.float64)
