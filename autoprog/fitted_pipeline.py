"""Fitted pipelines, asked without what scikit-learn checks at each call.

A `Pipeline` asks before every prediction whether its last stage is fitted and what its tags are: for one patient that
takes as long as the stages themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray


def predict_proba(estimator: Any, X: NDArray[Any]) -> NDArray[Any]:  # noqa: ANN401  scikit-learn has no common type
    """Predict by a fitted pipeline, or by any other fitted classifier, as its own `predict_proba` does.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    X : ndarray, shape = (n_patients, n_features)
        Rows that it takes.

    Returns
    -------
    ndarray, shape = (n_patients, n_classes)
        The same bits as `estimator.predict_proba(X)`.
    """
    *stages, (_, learner) = getattr(estimator, "steps", [("", estimator)])
    probability: NDArray[Any] = learner.predict_proba(transform(stages, X))
    return probability


def transform(stages: Sequence[tuple[str, Any]], X: NDArray[Any]) -> NDArray[Any]:
    """Transform rows by the `steps` of a fitted pipeline of transformers, with the same bits as its own `transform`."""
    for _, stage in stages:
        if stage is not None and stage != "passthrough":
            X = stage.transform(X)
    return X
