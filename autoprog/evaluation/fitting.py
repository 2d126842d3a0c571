"""Fitting a configuration to some patients of a cohort, as it is evaluated and as it is delivered."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from autoprog.cohort import Cohort
from autoprog.evaluation.grouped_folds import grouped_splits
from autoprog.evaluation.plan import Plan
from autoprog.space import Calibrated, CalibratedIncidence, Configuration, build_pipeline, event_times


def outcomes_of(cohort: Cohort) -> NDArray[Any]:
    """What pipelines are fitted to and scored against: 0 and 1, or events with their times (`EVENT_TIMES`)."""
    return cohort.y if cohort.time is None else event_times(cohort.y, cohort.time)


def risks_of(pipeline: BaseEstimator, X: NDArray[np.float64], times: tuple[float, ...] = ()) -> NDArray[np.float64]:
    """Risks of the outcome, or of the event of interest until each of some times.

    Parameters
    ----------
    pipeline : estimator
        Fitted; as `build_pipeline` made it.
    X : ndarray, shape = (n, n_features)
        The cohort's matrix.
    times : tuple of float
        Ascending; empty where the outcome has no time.

    Returns
    -------
    ndarray, shape = (n,) or (n, n_times)
        As the pipeline gives them.
    """
    if times:
        curves: NDArray[np.float64] = pipeline.cumulative_incidence(X, np.array(times))[:, 0]
        return curves
    risks: NDArray[np.float64] = pipeline.predict_proba(X)[:, 1]
    return risks


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
        Those to fit to. The calibration's inner folds do not split the cohort's groups either, nor the copies of a
        patient who was drawn several times.
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
    X, y = cohort.X[rows], outcomes_of(cohort)[rows]
    together = _together(cohort, rows)
    if together is None or not isinstance(pipeline, Calibrated | CalibratedIncidence):
        return pipeline.fit(X, y)
    inner: Any = pipeline.cv  # a number of folds, or what makes them
    splits = grouped_splits(cohort.y[rows], together, getattr(inner, "n_splits", inner), seed)
    pipeline.set_params(cv=splits).fit(X, y)
    return pipeline.set_params(cv=inner)  # rows are no part of a stored model


def _together(cohort: Cohort, rows: NDArray[np.intp]) -> NDArray[np.integer] | None:
    """The group of every row that inner folds must not split; None where every row is one of its own.

    A patient in the training part and the held-out part at once is predicted too well, and the calibration too steep.
    """
    if cohort.groups is not None:
        return cohort.groups[rows]
    return rows if len(np.unique(rows)) < len(rows) else None
