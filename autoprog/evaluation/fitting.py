"""Fitting of a configuration to some patients, for evaluation and delivery."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from autoprog.cohort import Cohort
from autoprog.evaluation.folds import Fold
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
)
from autoprog.space.groups import splits_by_group, with_groups


def fit_pipeline(
    configuration: Configuration,
    cohort: Cohort,
    rows: NDArray[np.intp],
    plan: Plan,
    seed: int,
    memory: Any = None,  # noqa: ANN401  joblib's interface, which has no type
) -> BaseEstimator:
    """Fit a configuration; the inner folds of a calibration and of learners split neither groups nor repeated rows.

    Parameters
    ----------
    configuration, cohort, rows
        The pipeline, the patients from `Plan.sample`, and row numbers to fit to, which may repeat.
    plan, seed
        The plan, whose folds determine size limits, and the pipeline's seed.
    memory : object or None
        Cache of the stages before the prediction; see `PrefixMemory`.

    Returns
    -------
    estimator
        Fitted.

    Raises
    ------
    ValueError
        If the pipeline cannot be fitted.
    """
    pipeline = build_pipeline(configuration, cohort.features, plan.shape(cohort), seed, memory=memory)
    X, y = cohort.X[rows], cohort.outcomes[rows]
    together = _together(cohort, rows)
    groups = with_groups(pipeline, together)
    if together is None or not isinstance(pipeline, CalibratedRisk | CalibratedIncidence):
        return pipeline.fit(X, y, **groups)
    inner: Any = pipeline.cv  # a number of folds, or what makes them
    folds = getattr(inner, "n_splits", inner)
    splits = splits_by_group(cohort.y[rows], together, folds, seed, needed=cohort.target.held)
    if splits is None:
        msg = "a single group has all patients with an outcome, which an inner fold of the calibration would lack"
        raise ValueError(msg)
    pipeline.set_params(cv=splits).fit(X, y, **groups)
    return pipeline.set_params(cv=inner)  # rows are no part of a stored model


def _together(cohort: Cohort, rows: NDArray[np.intp]) -> NDArray[np.integer] | None:
    """Groups of rows that inner folds must not split; None if there are none."""
    # A patient in both the training and the held-out part is predicted too well: the calibration becomes too steep, a
    # network stops too late, and codes of levels tell his outcome.
    if cohort.groups is not None:
        return cohort.groups[rows]
    return rows if len(np.unique(rows)) < len(rows) else None


def at_setting(configuration: Configuration, cohort: Cohort, value: Parameter) -> Configuration:
    """The configuration with a path at one value of its hyperparameter."""
    path = Space.full(cohort.n_causes).find_path(configuration)
    if path is None:
        msg = f"{configuration} has no path"
        raise ValueError(msg)
    return configuration.at("prediction", path.name, value)


@dataclass(frozen=True, eq=False)
class Along:
    """Result of a fit that scores many settings."""

    pipeline: BaseEstimator  # fitted, at no particular setting
    values: tuple[Parameter, ...]  # values of the hyperparameter, ascending, (m,)
    # Of the patients held out, (m, n_test) or, in float32, (m, n_test, n_causes, n_times).
    risks: NDArray[np.floating[Any]]


def has_path(configuration: Configuration, cohort: Cohort) -> bool:
    """Whether one fit scores many settings, so that `fit_along` takes it; not if risks are calibrated."""
    return Space.full(cohort.n_causes).find_path(configuration) is not None


def fit_along(
    configuration: Configuration,
    cohort: Cohort,
    fold: Fold,
    plan: Plan,
    seed: int,
    memory: Any = None,  # noqa: ANN401  joblib's interface, which has no type
) -> Along:
    """Fit a configuration with a path, whose hyperparameter is the bound, on a fold's training patients."""
    pipeline = build_pipeline(configuration, cohort.features, plan.shape(cohort), seed, memory=memory)
    y = cohort.outcomes
    learnt, others, together = y[fold.train], y[fold.test], _together(cohort, fold.train)
    if isinstance(pipeline, IncidencePipeline):
        times = np.array(plan.times)
        curves = pipeline.fit_path(cohort.X[fold.train], learnt, cohort.X[fold.test], others, times, together)
        return Along(pipeline, curves.values, curves.risks)
    *before, (name, learner) = pipeline.steps
    # The memory of a pipeline does not cover its last step.
    stages = Pipeline([*before, (name, "passthrough")], memory=memory)
    columns = stages.fit_transform(cohort.X[fold.train], learnt)
    held_out = HeldOut(stages.transform(cohort.X[fold.test]), others)
    path = learner.fit_path(columns, learnt, held_out, **with_groups(learner, together))
    return Along(stages, path.values, path.risks_of(held_out.X))


# Imputations by single columns: a patient's contribution to them does not depend on his outcome.
_OF_ONE_COLUMN = frozenset({"none", "mean", "median", "most_frequent"})


def is_out_of_bag(configuration: Configuration, cohort: Cohort) -> bool:
    """Whether one fit to all patients from `Plan.sample` gives each a risk by members that have not seen him."""
    if not cohort.target.has_votes or cohort.groups is not None:  # rows of one group would see each other
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
    """Fit a forest to all patients, and give out-of-bag risks.

    Parameters
    ----------
    configuration, cohort, plan, memory
        As in `fit_pipeline`.

    Returns
    -------
    pipeline : estimator
        Fitted.
    risks : ndarray, shape = (n_rows,)
        Mean of the trees grown without the patient; NaN if there is no such tree.
    """
    pipeline = build_pipeline(configuration, cohort.features, plan.shape(cohort), plan.seed, memory=memory)
    # Breiman 1996, Out-of-bag estimation: the mean is over about 37 % of the trees. If all have seen a patient,
    # scikit-learn gives both classes 0.
    pipeline.set_params(prediction__oob_score=True).fit(cohort.X, cohort.y)
    shares = np.asarray(pipeline[-1].oob_decision_function_, dtype=np.float64)
    return pipeline, np.where(shares.any(axis=1), shares[:, 1], np.nan)
