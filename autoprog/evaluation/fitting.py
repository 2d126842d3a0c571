"""Fitting a configuration to some patients of a cohort, as it is evaluated and as it is delivered."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.model_selection import StratifiedGroupKFold

from autoprog.cohort import Cohort
from autoprog.evaluation.plan import Plan
from autoprog.space import Calibrated, Configuration, build_pipeline


def fit_pipeline(
    configuration: Configuration,
    cohort: Cohort,
    rows: NDArray[np.intp],
    plan: Plan,
    seed: int,
    memory: Any = None,  # noqa: ANN401  joblib's interface, which has no type
) -> BaseEstimator:
    """Fit a configuration.

    Parameters
    ----------
    configuration : Configuration
        The pipeline.
    cohort : Cohort
        The patients, as `Plan.sample` gave them.
    rows : ndarray of int
        Those to fit to. Where the cohort has groups, the calibration's inner folds do not split them either.
    plan : Plan
        Its folds give the sizes that caps go by.
    seed : int
        Seeds the pipeline.
    memory : object or None
        Where stages before the prediction are kept; see `autoprog.evaluation.prefixes`.

    Returns
    -------
    estimator
        Fitted.

    Raises
    ------
    ValueError
        Where the pipeline cannot be fitted.
    """
    pipeline = build_pipeline(configuration, cohort.features, plan.shape(cohort), seed, memory=memory)
    X, y = cohort.X[rows], cohort.y[rows]
    if cohort.groups is None or not isinstance(pipeline, Calibrated):
        return pipeline.fit(X, y)
    inner = pipeline.cv
    grouped = StratifiedGroupKFold(inner.n_splits, shuffle=True, random_state=seed)
    pipeline.set_params(cv=list(grouped.split(X, y, cohort.groups[rows]))).fit(X, y)
    return pipeline.set_params(cv=inner)  # rows are no part of a stored model
