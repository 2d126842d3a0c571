"""Cross-validating one configuration: every stage is fitted inside the training fold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from autoprog.cohort import Cohort
from autoprog.evaluation.along import FoldPath, Setting, common_place, settings_of
from autoprog.evaluation.fitting import (
    Along,
    fit_along,
    fit_pipeline,
    has_path,
    is_out_of_bag,
    out_of_bag_risks,
    outcomes_of,
    risks_of,
)
from autoprog.evaluation.folds import Fold
from autoprog.evaluation.notes import notes_on_causes, notes_on_columns, notes_on_sizes, recorded_warnings, summarise
from autoprog.evaluation.plan import Plan
from autoprog.space import Configuration

_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class FoldResult:
    """What one fold says of a configuration.

    Attributes
    ----------
    score : float
        In the metric's own direction.
    risks : ndarray, shape = (n_test,) or (n_test, n_times)
        float32; of the fold's test patients, in their order; of event times, until each of the plan's times.
    notes : tuple of str
        See `autoprog.evaluation.notes`.
    path : FoldPath or None
        Where one fit says of many settings: all of them. Score and risks are then those of the setting that is best in
        this fold alone, until `at_common_setting` puts those of the one in their place that all folds share.
    """

    score: float
    risks: NDArray[np.float32]
    notes: tuple[str, ...] = ()
    path: FoldPath | None = None


def at_common_setting(results: Sequence[FoldResult]) -> list[FoldResult]:
    """The results of some folds at the setting that they share; as they are where there is no path.

    Parameters
    ----------
    results : sequence of FoldResult
        Of folds of one configuration.

    Returns
    -------
    list of FoldResult
        In the same order.
    """
    paths = [r.path for r in results if r.path is not None]
    if not paths:
        return list(results)
    place = common_place(paths)
    return [
        r if r.path is None else replace(r, score=float(r.path.scores[place]), risks=r.path.risks[place])
        for r in results
    ]


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """Scores and risks of one configuration.

    Attributes
    ----------
    fold_scores : tuple of float, length repeats x folds
        In the metric's own direction, repeats one after another.
    risks : ndarray, shape = (n_rows,) or (n_rows, n_times)
        float32; out-of-fold risk of every patient in the first repeat. A mean over repeats would be that of several
        fits, and better than the one that is delivered.
    notes : str or None
        What is worth knowing of the fits, in words.
    chosen : Setting or None
        Of a path, the setting that scores and risks are of.
    settings : tuple of Setting
        All settings of a path.
    """

    fold_scores: tuple[float, ...]
    risks: NDArray[np.float32]
    notes: str | None = None
    chosen: Setting | None = None
    settings: tuple[Setting, ...] = ()

    @property
    def score(self) -> float:
        """Mean over folds."""
        return float(np.mean(self.fold_scores))

    @classmethod
    def of(cls, results: Sequence[FoldResult], cohort: Cohort, plan: Plan) -> CrossValidation:
        """Put the results of all folds together.

        Parameters
        ----------
        results : sequence of FoldResult, length repeats x folds
            In the order of the folds.
        cohort : Cohort
            The patients, as `Plan.sample` gave them.
        plan : Plan
            The folds.

        Returns
        -------
        CrossValidation
            Complete.
        """
        paths = [r.path for r in results if r.path is not None]
        settings = settings_of(paths) if paths else ()
        chosen = settings[common_place(paths)] if paths else None
        results = at_common_setting(results)
        risks = np.zeros((cohort.n_rows, *results[0].risks.shape[1:]), dtype=np.float32)
        for number, result in enumerate(results[: plan.folds]):
            risks[plan.fold(cohort, number).test] = result.risks
        return cls(tuple(r.score for r in results), risks, summarise(r.notes for r in results), chosen, settings)


def cross_validate(configuration: Configuration, cohort: Cohort, plan: Plan) -> CrossValidation:
    """Score a configuration on the folds of a search.

    Parameters
    ----------
    configuration : Configuration
        The pipeline.
    cohort : Cohort
        The patients.
    plan : Plan
        Folds, repeats, metric, seed.

    Returns
    -------
    CrossValidation
        Scores and out-of-fold risks.

    Raises
    ------
    ValueError
        Where the pipeline cannot be fitted, or gives risks that are not probabilities.
    """
    if is_out_of_bag(configuration, plan.sample(cohort)):
        results = list(evaluate_out_of_bag(configuration, cohort, plan))
    else:
        results = [evaluate_fold(configuration, cohort, plan, number) for number in range(plan.n_folds)]
    return CrossValidation.of(results, plan.sample(cohort), plan)


def evaluate_out_of_bag(
    configuration: Configuration,
    cohort: Cohort,
    plan: Plan,
    memory: Any = None,  # noqa: ANN401  joblib's interface, which has no type
) -> tuple[FoldResult, ...]:
    """Score a forest on every fold by one fit to all patients; see `is_out_of_bag`.

    Parameters
    ----------
    configuration : Configuration
        The pipeline.
    cohort : Cohort
        All patients.
    plan : Plan
        Which of them are used, folds, metric, seed.
    memory : object or None
        Where stages before the prediction are kept; see `autoprog.evaluation.prefixes`.

    Returns
    -------
    tuple of FoldResult, length repeats x folds
        What the trees that have not seen them say of each fold's test patients.

    Raises
    ------
    ValueError
        As `evaluate_fold`.
    """
    cohort = plan.sample(cohort, configuration)
    metric = plan.metric_for(cohort)
    with recorded_warnings() as warned:
        pipeline, risks = out_of_bag_risks(configuration, cohort, plan, memory)
    risks = _checked(risks, has_times=False)
    notes = [*notes_on_sizes(configuration, plan.shape(cohort)), *warned]
    results = []
    for number in range(plan.n_folds):
        fold = plan.fold(cohort, number)
        score = _finite(metric.score(cohort.y[fold.test], risks[fold.test]), metric.name)
        of_fold = (*notes, *notes_on_columns(cohort, fold, pipeline))
        results.append(FoldResult(score, risks[fold.test].astype(np.float32), of_fold))
    return tuple(results)


def evaluate_fold(
    configuration: Configuration,
    cohort: Cohort,
    plan: Plan,
    number: int,
    memory: Any = None,  # noqa: ANN401  joblib's interface, which has no type
) -> FoldResult:
    """Fit a configuration on one training fold and score it on the patients held out.

    Parameters
    ----------
    configuration : Configuration
        The pipeline.
    cohort : Cohort
        All patients.
    plan : Plan
        Which of them are used, folds, metric, seed.
    number : int
        The fold, from 0; repeats one after another.
    memory : object or None
        Where stages before the prediction are kept; see `autoprog.evaluation.prefixes`.

    Returns
    -------
    FoldResult
        Score, risks, notes.

    Raises
    ------
    ValueError
        Where the pipeline cannot be fitted, gives risks that are not probabilities, or has no score on this fold.
    """
    cohort = plan.sample(cohort, configuration)
    fold, shape = plan.fold(cohort, number), plan.shape(cohort)
    if has_path(configuration, cohort):
        return _evaluate_along(configuration, cohort, plan, number, memory)
    metric = plan.metric_for(cohort)
    with recorded_warnings() as warned:
        pipeline = fit_pipeline(configuration, cohort, fold.train, plan, plan.fold_seed(number), memory)
        risks, scaled = _risks(pipeline, cohort, fold, plan)
        score = _finite(metric.score(outcomes_of(cohort)[fold.test], risks), metric.name)
    notes = [*notes_on_sizes(configuration, shape), *notes_on_columns(cohort, fold, pipeline), *scaled, *warned]
    return FoldResult(score, risks.astype(np.float32), tuple(notes))


def _evaluate_along(
    configuration: Configuration,
    cohort: Cohort,
    plan: Plan,
    number: int,
    memory: Any,  # noqa: ANN401  joblib's interface, which has no type
) -> FoldResult:
    """The same of a configuration whose fit says of many settings."""
    fold, metric, y = plan.fold(cohort, number), plan.metric_for(cohort), outcomes_of(cohort)
    with recorded_warnings() as warned:
        along = fit_along(configuration, cohort, fold, plan, plan.fold_seed(number), memory)
        risks = _checked(along.risks, has_times=bool(plan.times))
        scores = np.array([_finite(metric.score(y[fold.test], p), metric.name) for p in risks])
    shape = plan.shape(cohort)
    notes = [*notes_on_sizes(configuration, shape), *notes_on_columns(cohort, fold, along.pipeline), *warned]
    path = FoldPath(along.values, scores, _losses(along, cohort, fold, plan), risks.astype(np.float32))
    return at_common_setting([FoldResult(0.0, path.risks[0], tuple(notes), path)])[0]


def _risks(pipeline: BaseEstimator, cohort: Cohort, fold: Fold, plan: Plan) -> tuple[NDArray[np.float64], list[str]]:
    """Of the patients held out, with a note where their causes summed above 1."""
    held_out = cohort.X[fold.test]
    if cohort.n_causes == 1:
        return _checked(risks_of(pipeline, held_out, plan.times), has_times=bool(plan.times)), []
    F = pipeline.cumulative_incidence(held_out, np.array(plan.times))
    return _checked(F[:, 0], has_times=True), notes_on_causes(F)


def _losses(along: Along, cohort: Cohort, fold: Fold, plan: Plan) -> NDArray[np.float64]:
    """What the setting is chosen by: it sees ranking and calibration, whatever the search optimises."""
    loss, y = plan.loss_for(cohort), outcomes_of(cohort)[fold.test]
    return np.array([loss.score(y, p) for p in along.risks])


def _finite(score: float, metric: str) -> float:
    if not np.isfinite(score):
        msg = f"{metric} is not defined on a fold"
        raise ValueError(msg)
    return score


def _checked(risks: NDArray[np.floating[Any]], *, has_times: bool) -> NDArray[np.float64]:
    if not np.isfinite(risks).all() or risks.min() < 0.0 or risks.max() > 1.0:
        msg = f"the pipeline gave risks outside [0, 1]: from {risks.min()} to {risks.max()}"
        raise ValueError(msg)
    if has_times and (np.diff(risks, axis=-1) < -_ROUNDING).any():
        msg = "the pipeline gave risks that fall with time"
        raise ValueError(msg)
    return risks.astype(np.float64)
