"""Fitting a configuration to some patients of a cohort, as it is evaluated and as it is delivered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from autoprog.cohort import Cohort
from autoprog.evaluation.folds import Fold
from autoprog.evaluation.grouped_folds import grouped_splits
from autoprog.evaluation.plan import Plan
from autoprog.space import (
    CalibratedIncidence,
    CalibratedRisk,
    Configuration,
    HeldOut,
    IncidencePipeline,
    Parameter,
    Space,
    build_pipeline,
    event_times,
)


def get_outcomes(cohort: Cohort) -> NDArray[Any]:
    """What pipelines are fitted to and scored against: 0 and 1, or events with their times (`EVENT_TIMES`)."""
    return cohort.y if cohort.time is None else event_times(cohort.y, cohort.time)


def predict_risks(
    pipeline: BaseEstimator, X: NDArray[np.float64], times: tuple[float, ...] = ()
) -> NDArray[np.float64]:
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
    X, y = cohort.X[rows], get_outcomes(cohort)[rows]
    together = _together(cohort, rows)
    if together is None or not isinstance(pipeline, CalibratedRisk | CalibratedIncidence):
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


@dataclass(frozen=True, eq=False)
class Along:
    """A fit that says of many settings.

    Attributes
    ----------
    pipeline : estimator
        Fitted, at no particular setting.
    values : tuple of Parameter, length m
        Of the hyperparameter, ascending.
    risks : ndarray, shape = (m, n_test), of event times (m, n_test, n_causes, n_times)
        Of the patients held out, by value.
    """

    pipeline: BaseEstimator
    values: tuple[Parameter, ...]
    risks: NDArray[np.float64]


def has_path(configuration: Configuration, cohort: Cohort) -> bool:
    """Whether one fit of a configuration says of many settings.

    Parameters
    ----------
    configuration : Configuration
        The pipeline. A calibration is fitted to risks of one setting.
    cohort : Cohort
        Whose causes there are.

    Returns
    -------
    bool
        Whether `fit_along` takes it.
    """
    return Space.full(cohort.n_causes).find_path(configuration) is not None


def fit_along(
    configuration: Configuration,
    cohort: Cohort,
    fold: Fold,
    plan: Plan,
    seed: int,
    memory: Any = None,  # noqa: ANN401  joblib's interface, which has no type
) -> Along:
    """Fit a configuration with a path to a fold's training patients, watched on the others.

    Parameters
    ----------
    configuration : Configuration
        The pipeline; see `has_path`. The value of the hyperparameter is the bound.
    cohort : Cohort
        The patients, as `Plan.sample` gave them.
    fold : Fold
        The split.
    plan : Plan
        Its folds give the sizes that caps go by.
    seed : int
        Seeds the pipeline.
    memory : object or None
        Where stages before the prediction are kept; see `autoprog.evaluation.prefixes`.

    Returns
    -------
    Along
        Risks of the fold's test patients.

    Raises
    ------
    ValueError
        Where the pipeline cannot be fitted.
    """
    pipeline = build_pipeline(configuration, cohort.features, plan.shape(cohort), seed, memory=memory)
    y = get_outcomes(cohort)
    learnt, others = y[fold.train], y[fold.test]
    if isinstance(pipeline, IncidencePipeline):
        curves = pipeline.fit_path(cohort.X[fold.train], learnt, cohort.X[fold.test], others, np.array(plan.times))
        return Along(pipeline, curves.values, curves.risks)
    *before, (name, learner) = pipeline.steps
    # A pipeline keeps no fit of its last step.
    stages = Pipeline([*before, (name, "passthrough")], memory=memory)
    columns = stages.fit_transform(cohort.X[fold.train], learnt)
    path = learner.fit_path(columns, learnt, HeldOut(stages.transform(cohort.X[fold.test]), others))
    return Along(stages, path.values, path.risks)


# Imputations that look at a column alone: what a patient adds to them tells nothing of his outcome.
_OF_ONE_COLUMN = frozenset({"none", "mean", "median", "most_frequent"})


def is_out_of_bag(configuration: Configuration, cohort: Cohort) -> bool:
    """Whether one fit to all patients gives every one a risk by members that have not seen him.

    Parameters
    ----------
    configuration : Configuration
        The pipeline. No stage but the prediction may have learnt from a patient's outcome or from many columns.
    cohort : Cohort
        The patients, as `Plan.sample` gave them. Rows of one group would see each other.

    Returns
    -------
    bool
        Whether `out_of_bag_risks` takes it.
    """
    if cohort.has_times or cohort.groups is not None:
        return False
    predictor = Space.full().algorithm("prediction", configuration.prediction.algorithm)
    if not predictor.out_of_bag or (predictor.max_patients or cohort.n_rows) < cohort.n_rows:
        return False
    alone = configuration.features.algorithm == configuration.calibration.algorithm == "none"
    return alone and configuration.imputation.algorithm in _OF_ONE_COLUMN


def out_of_bag_risks(
    configuration: Configuration,
    cohort: Cohort,
    plan: Plan,
    memory: Any = None,  # noqa: ANN401  joblib's interface, which has no type
) -> tuple[BaseEstimator, NDArray[np.float64]]:
    """Fit a forest to all patients and ask for each the trees that were grown without him.

    Parameters
    ----------
    configuration : Configuration
        See `is_out_of_bag`.
    cohort : Cohort
        The patients, as `Plan.sample` gave them.
    plan : Plan
        Its seed seeds the pipeline.
    memory : object or None
        Where stages before the prediction are kept; see `autoprog.evaluation.prefixes`.

    Returns
    -------
    pipeline : estimator
        Fitted.
    risks : ndarray, shape = (n_rows,)
        Each the mean over about 37 % of the trees; NaN for a patient whom all have seen.

    References
    ----------
    Breiman (1996), Out-of-bag estimation, technical report, University of California at Berkeley.
    """
    pipeline = build_pipeline(configuration, cohort.features, plan.shape(cohort), plan.seed, memory=memory)
    pipeline.set_params(prediction__oob_score=True).fit(cohort.X, cohort.y)
    return pipeline, np.asarray(pipeline[-1].oob_decision_function_[:, 1], dtype=np.float64)
