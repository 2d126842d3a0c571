"""Classifiers of the binary labels made from event times, some of which are very rare."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.dummy import DummyClassifier

from autoprog.space.groups import Groups, with_groups
from autoprog.space.hyperparameters import Parameter
from autoprog.space.path import HeldOut, PathFit

MIN_LABELLED = 5
"""Fewest rows with a label, and without it, for a fit; otherwise everyone gets the share of the label."""


def fitted_to(
    classifier: BaseEstimator,
    X: NDArray[np.float64],
    label: NDArray[np.bool_],
    sample_weight: NDArray[np.float64] | None = None,
    groups: Groups | None = None,
) -> BaseEstimator:
    """Fit a clone of a classifier to a label; for a rare label, fit a constant equal to its share."""
    # A rare competing cause, or an early horizon, must not stop the other fits. The share is the Aalen-Johansen
    # estimate of its incidence.
    n = int(label.sum())
    rare = min(n, len(label) - n) < MIN_LABELLED
    learner = DummyClassifier(strategy="prior") if rare else clone(classifier)
    weights = {} if sample_weight is None else {"sample_weight": sample_weight}
    return learner.fit(X, label.astype(np.int8), **weights, **with_groups(learner, groups))


def path_fitted_to(
    classifier: BaseEstimator,
    X: NDArray[np.float64],
    label: NDArray[np.bool_],
    held_out: HeldOut,
    sample_weight: NDArray[np.float64] | None = None,
    groups: Groups | None = None,
) -> PathFit | NDArray[np.float64]:
    """Fit a clone of a `PathLearner` along its path; for a rare label, return the constant held-out risks."""
    n = int(label.sum())
    if min(n, len(label) - n) < MIN_LABELLED:
        return predict_share(fitted_to(classifier, X, label, sample_weight), held_out.X)
    watched = held_out._replace(y=np.asarray(held_out.y).astype(np.int8))
    more = with_groups(classifier, groups)
    path: PathFit = clone(classifier).fit_path(X, label.astype(np.int8), watched, sample_weight, **more)
    return path._replace(risks=np.clip(path.risks, 0.0, 1.0))


def along_all(
    paths: Sequence[PathFit | NDArray[np.float64]],
) -> tuple[tuple[Parameter, ...], NDArray[np.float64]]:
    """Combine fits at the path values that they all have.

    Parameters
    ----------
    paths : sequence of PathFit or ndarray
        Results of `path_fitted_to` for the same held-out rows; at least one is a path.

    Returns
    -------
    values : tuple of Parameter, length m
        Those of the shortest path.
    risks : ndarray, shape = (m, len(paths), n_held_out)
        By value and fit.

    Raises
    ------
    ValueError
        If none is a path, as there was nothing to learn.
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
    """Risk of the label, shape = (n_rows,), in [0, 1]; 0 if no training row had it, 1 if all had."""
    if len(classifier.classes_) == 1:
        return np.full(len(X), float(classifier.classes_[0]))
    return np.asarray(np.clip(classifier.predict_proba(X)[:, 1], 0.0, 1.0), dtype=np.float64)
