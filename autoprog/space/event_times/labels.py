"""Classifiers of the labels that event times are turned into, some of which hardly anybody has."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.dummy import DummyClassifier

from autoprog.space.hyperparameters import Parameter
from autoprog.space.path import HeldOut, PathFit

MIN_LABELLED = 5
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
    rare = min(n, len(label) - n) < MIN_LABELLED
    learner = DummyClassifier(strategy="prior") if rare else clone(classifier)
    weights = {} if sample_weight is None else {"sample_weight": sample_weight}
    return learner.fit(X, label.astype(np.int8), **weights)


def path_fitted_to(
    classifier: BaseEstimator,
    X: NDArray[np.float64],
    label: NDArray[np.bool_],
    held_out: HeldOut,
    sample_weight: NDArray[np.float64] | None = None,
) -> PathFit | NDArray[np.float64]:
    """The same along the classifier's path.

    Parameters
    ----------
    classifier : estimator
        A `PathLearner`; a clone of it is fitted.
    X : ndarray, shape = (n_rows, n_columns)
        Columns.
    label : ndarray of bool, shape = (n_rows,)
        Who has it.
    held_out : HeldOut
        Rows to watch.
    sample_weight : ndarray, shape = (n_rows,), optional
        Weight of each row.

    Returns
    -------
    PathFit or ndarray, shape = (n_held_out,)
        Without a path where the label is too rare to learn from.
    """
    n = int(label.sum())
    if min(n, len(label) - n) < MIN_LABELLED:
        return predict_share(fitted_to(classifier, X, label, sample_weight), held_out.X)
    watched = held_out._replace(y=np.asarray(held_out.y).astype(np.int8))
    path: PathFit = clone(classifier).fit_path(X, label.astype(np.int8), watched, sample_weight)
    return path._replace(risks=np.clip(path.risks, 0.0, 1.0))


def along_all(
    paths: Sequence[PathFit | NDArray[np.float64]],
) -> tuple[tuple[Parameter, ...], NDArray[np.float64]]:
    """Several fits at the values that all of them have.

    Parameters
    ----------
    paths : sequence of PathFit or ndarray
        As `path_fitted_to` gives them, of the same rows held out; at least one is a path.

    Returns
    -------
    values : tuple of Parameter, length m
        The first ones, since a fit may have ended early.
    risks : ndarray, shape = (m, len(paths), n_held_out)
        By value and fit.

    Raises
    ------
    ValueError
        If none is a path: there was nothing to learn.
    """
    fitted = [path for path in paths if isinstance(path, PathFit)]
    if not fitted:
        msg = f"fewer than {MIN_LABELLED} patients to learn from have, or have not, any of the events"
        raise ValueError(msg)
    values = min((path.values for path in fitted), key=len)
    m = len(values)
    risks = [path.risks[:m] if isinstance(path, PathFit) else np.tile(path, (m, 1)) for path in paths]
    return values, np.stack(risks, axis=1)


def predict_share(classifier: BaseEstimator, X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Risk of the label, shape = (n_rows,), within [0, 1]; 0 where no row to learn from had it, 1 where all had."""
    if len(classifier.classes_) == 1:
        return np.full(len(X), float(classifier.classes_[0]))
    return np.asarray(np.clip(classifier.predict_proba(X)[:, 1], 0.0, 1.0), dtype=np.float64)
