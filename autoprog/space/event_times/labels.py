"""Classifiers of the binary labels made from event times, some of which are very rare."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.dummy import DummyClassifier

from autoprog.space.groups import Groups, with_groups
from autoprog.space.path import FittedPath, HeldOut

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
) -> FittedPath | DummyClassifier:
    """Fit a clone of a `PathLearner` along its path; for a rare label, fit a constant equal to its share."""
    n = int(label.sum())
    if min(n, len(label) - n) < MIN_LABELLED:
        return fitted_to(classifier, X, label, sample_weight)
    watched = held_out._replace(y=np.asarray(held_out.y).astype(np.int8))
    more = with_groups(classifier, groups)
    path: FittedPath = clone(classifier).fit_path(X, label.astype(np.int8), watched, sample_weight, **more)
    return path


def along_all(fits: Sequence[FittedPath | DummyClassifier]) -> FittedPath:
    """Combine fits at the path values that they all have.

    Parameters
    ----------
    fits : sequence of FittedPath or DummyClassifier
        Results of `path_fitted_to`; at least one is a path.

    Returns
    -------
    FittedPath
        With the m values of the shortest path; its risks of n rows are those by value and fit,
        shape = (m, len(fits), n), in [0, 1].

    Raises
    ------
    ValueError
        If none is a path, as there was nothing to learn.
    """
    paths = [fit for fit in fits if isinstance(fit, FittedPath)]
    if not paths:
        msg = f"fewer than {MIN_LABELLED} patients to learn from have, or have not, any of the events"
        raise ValueError(msg)
    values = min((path.values for path in paths), key=len)
    m = len(values)

    def risks_of(rows: NDArray[np.float64]) -> NDArray[np.float64]:
        risks = np.empty((m, len(fits), len(rows)))
        for k, fit in enumerate(fits):
            risks[:, k] = fit.risks_of(rows)[:m] if isinstance(fit, FittedPath) else predict_share(fit, rows)
        return np.clip(risks, 0.0, 1.0, out=risks)

    return FittedPath(values, risks_of)


def predict_share(classifier: BaseEstimator, X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Risk of the label, shape = (n_rows,), in [0, 1]; 0 if no training row had it, 1 if all had."""
    if len(classifier.classes_) == 1:
        return np.full(len(X), float(classifier.classes_[0]))
    return np.asarray(np.clip(classifier.predict_proba(X)[:, 1], 0.0, 1.0), dtype=np.float64)
