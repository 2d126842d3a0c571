"""Cross-validation of one configuration: every stage is fitted inside the training fold.

Settings along a path: scores of many values of a hyperparameter from one fit per fold.

    v        values of the hyperparameter, ascending; a fold whose fit ended early has fewer                (m,)
    l        mean loss of the patients held out of a fold, by value: the log loss, of event times
             the integrated Brier score                                                             (folds, m)
    i        argmin_j mean over folds of l_j, among the values that all folds have: one for all     scalar

A value chosen in each fold by its own patients would inflate the score; one value chosen by all of them hardly does (by
.0005 of log loss on thirteen cohorts).

References
----------
Zhang & Yu (2005), Ann. Stat. 33:1538 (early stopping of boosting); Friedman, Hastie & Tibshirani (2010), J. Stat.
Softw. 33(1), section 2.5 (one penalty for all folds).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort import Cohort, Target
from autoprog.evaluation.fitting import (
    fit_along,
    fit_pipeline,
    has_path,
    is_out_of_bag,
    out_of_bag_risks,
)
from autoprog.evaluation.notes import notes_on_causes, notes_on_columns, notes_on_sizes, recorded_warnings, summarise
from autoprog.evaluation.plan import Plan
from autoprog.space import Configuration, Parameter


@dataclass(frozen=True, eq=False)
class FoldPath:
    """Scores, losses and risks of one fold at every value."""

    values: tuple[Parameter, ...]  # v
    scores: NDArray[np.float64]  # in the metric's own direction, (m,)
    losses: NDArray[np.float64]  # l, (m,)
    risks: NDArray[np.float32]  # of the fold's test patients, (m, n_test) or (m, n_test, n_times)
    competing: NDArray[np.float32] | None = None  # (m, n_test, n_causes - 1, n_horizons), see `FoldResult`
    notes: tuple[tuple[str, ...], ...] = ()  # of every value; empty if all have those of the result


@dataclass(frozen=True, slots=True)
class Setting:
    """One value of the hyperparameter, with its scores by fold in the metric's own direction."""

    value: Parameter
    fold_scores: tuple[float, ...]

    @property
    def score(self) -> float:
        """Mean over folds."""
        return float(np.mean(self.fold_scores))


@dataclass(frozen=True, slots=True)
class EvaluatedPath:
    """Scores of a hyperparameter's values, ascending up to the requested bound, that all folds have."""

    hyperparameter: str
    bound: Parameter
    settings: tuple[Setting, ...]

    def to_json(self) -> dict[str, Any]:
        """JSON document."""
        return {
            "hyperparameter": self.hyperparameter,
            "bound": self.bound,
            "settings": [[setting.value, *setting.fold_scores] for setting in self.settings],
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> EvaluatedPath:
        """Read what `to_json` wrote."""
        settings = tuple(Setting(value, tuple(scores)) for value, *scores in document["settings"])
        return cls(document["hyperparameter"], document["bound"], settings)


def common_place(paths: Sequence[FoldPath]) -> int:
    """Index i of the value that all folds share, the smallest among equals."""
    m = min(len(path.values) for path in paths)
    return int(np.argmin(np.mean([path.losses[:m] for path in paths], axis=0)))


def list_settings(paths: Sequence[FoldPath]) -> tuple[Setting, ...]:
    """Scores of every value that all folds have, ascending."""
    m = min(len(path.values) for path in paths)
    return tuple(Setting(paths[0].values[j], tuple(float(path.scores[j]) for path in paths)) for j in range(m))


_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class FoldResult:
    """Score and risks of a configuration in one fold."""

    score: float  # in the metric's own direction
    risks: NDArray[np.float32]  # of the test patients, in order; (n_test,), or (n_test, n_times) until the plan's times
    notes: tuple[str, ...] = ()  # see `autoprog.evaluation.notes`
    path: FoldPath | None = None  # until `at_common_setting`, score and risks are those of this fold's best setting
    # Risks of the competing causes until the horizons, (n_test, n_causes - 1, n_horizons); None without such causes.
    competing: NDArray[np.float32] | None = None


def is_of_fold(result: FoldResult, cohort: Cohort, plan: Plan, number: int) -> bool:
    """Return whether a result has as many risks as its fold has patients; a worker may have made the result up."""
    n = len(plan.fold(cohort, number).test)
    shape = cohort.target.empty_risks(n, plan.times).shape
    of_others = None if cohort.n_causes == 1 else (n, cohort.n_causes - 1, len(cohort.horizons))
    path = result.path
    if not np.isfinite(result.score) or not _have_shapes(result, (), shape, of_others):
        return False
    if path is None:
        return True
    m = len(path.values)
    if len(path.notes) not in {0, m}:
        return False
    return m > 0 and path.scores.shape == path.losses.shape == (m,) and _have_shapes(path, (m,), shape, of_others)


def _have_shapes(
    part: FoldResult | FoldPath, settings: tuple[int, ...], shape: tuple[int, ...], of_others: tuple[int, ...] | None
) -> bool:
    competing = None if part.competing is None else part.competing.shape
    return part.risks.shape == settings + shape and competing == (None if of_others is None else settings + of_others)


def at_common_setting(results: Sequence[FoldResult]) -> list[FoldResult]:
    """Move the results of one configuration's folds to the setting that they share, if they have a path."""
    paths = [r.path for r in results if r.path is not None]
    if not paths:
        return list(results)
    place = common_place(paths)
    return [r if r.path is None else _at(r, r.path, place) for r in results]


def _at(result: FoldResult, path: FoldPath, place: int) -> FoldResult:
    competing = None if path.competing is None else path.competing[place]
    notes = path.notes[place] if path.notes else result.notes
    score = float(path.scores[place])
    return replace(result, score=score, risks=path.risks[place], competing=competing, notes=notes)


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """Cross-validated scores and risks of one configuration."""

    fold_scores: tuple[float, ...]  # in the metric's own direction, repeat by repeat
    risks: NDArray[np.float32]  # out-of-fold risks in the first repeat, (n_rows,) or (n_rows, n_times)
    notes: str | None = None
    competing: NDArray[np.float32] | None = None  # (n_rows, n_causes - 1, n_horizons), see `FoldResult`
    chosen: Setting | None = None  # setting of the path that the scores belong to
    settings: tuple[Setting, ...] = ()  # all settings of the path

    @property
    def score(self) -> float:
        """Mean over folds."""
        return float(np.mean(self.fold_scores))

    @classmethod
    def of(cls, results: Sequence[FoldResult], cohort: Cohort, plan: Plan) -> CrossValidation:
        """Combine the results of all folds, in order, of a cohort from `Plan.sample`."""
        paths = [r.path for r in results if r.path is not None]
        settings = list_settings(paths) if paths else ()
        chosen = settings[common_place(paths)] if paths else None
        results = at_common_setting(results)
        tests = [plan.fold(cohort, number).test for number in range(plan.folds)]
        # Only the first repeat: a mean over repeats would be that of several fits, and better than the delivered one.
        risks = _in_order(tests, [r.risks for r in results[: plan.folds]], cohort.n_rows)
        competing = [r.competing for r in results[: plan.folds] if r.competing is not None]
        return cls(
            tuple(r.score for r in results),
            risks,
            summarise(r.notes for r in results),
            _in_order(tests, competing, cohort.n_rows) if competing else None,
            chosen,
            settings,
        )


def _in_order(tests: Sequence[NDArray[np.intp]], parts: Sequence[NDArray[np.float32]], n: int) -> NDArray[np.float32]:
    """Combine the parts of all test folds."""
    whole = np.zeros((n, *parts[0].shape[1:]), dtype=np.float32)
    for test, part in zip(tests, parts, strict=True):
        whole[test] = part
    return whole


def cross_validate(configuration: Configuration, cohort: Cohort, plan: Plan) -> CrossValidation:
    """Score a configuration on all folds of a plan; raises ValueError as `evaluate_fold`."""
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
    """Score a forest on every fold by one fit to all patients, see `is_out_of_bag`; otherwise as `evaluate_fold`."""
    cohort = plan.sample(cohort, configuration)
    metric = plan.metric_for(cohort)
    with recorded_warnings() as warned:
        pipeline, risks = out_of_bag_risks(configuration, cohort, plan, memory)
    risks = _checked(risks, cohort.target)
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
    configuration, cohort, plan
        The pipeline, all patients, and the sample, folds, metric and seed.
    number : int
        The fold, from 0, repeat by repeat.
    memory : object or None
        Cache of the stages before the prediction; see `PrefixMemory`.

    Returns
    -------
    FoldResult
        Score, risks, notes.

    Raises
    ------
    ValueError
        If the pipeline cannot be fitted, gives risks that are not probabilities, or has no score on this fold.
    """
    cohort = plan.sample(cohort, configuration)
    fold, shape = plan.fold(cohort, number), plan.shape(cohort)
    if has_path(configuration, cohort):
        return _evaluate_along(configuration, cohort, plan, number, memory)
    metric = plan.metric_for(cohort)
    with recorded_warnings() as warned:
        pipeline = fit_pipeline(configuration, cohort, fold.train, plan, plan.fold_seed(number), memory)
        told = cohort.target.predict(pipeline, cohort.X[fold.test], plan.times)
        risks = _checked(cohort.target.of_interest(told), cohort.target)
        score = _finite(metric.score(cohort.outcomes[fold.test], risks), metric.name)
    scaled = notes_on_causes(told) if cohort.n_causes > 1 else []
    notes = [*notes_on_sizes(configuration, shape), *notes_on_columns(cohort, fold, pipeline), *scaled, *warned]
    return FoldResult(score, risks.astype(np.float32), tuple(notes), competing=_competing(told, cohort, plan))


def _evaluate_along(
    configuration: Configuration,
    cohort: Cohort,
    plan: Plan,
    number: int,
    memory: Any,  # noqa: ANN401  joblib's interface, which has no type
) -> FoldResult:
    """Evaluate a configuration whose one fit scores many settings."""
    fold, metric, y = plan.fold(cohort, number), plan.metric_for(cohort), cohort.outcomes
    with recorded_warnings() as warned:
        along = fit_along(configuration, cohort, fold, plan, plan.fold_seed(number), memory)
        of_interest = cohort.target.of_interest(along.risks)
        # One value after the other, as all at once are many in float64.
        scores = np.array(
            [_finite(metric.score(y[fold.test], _checked(p, cohort.target)), metric.name) for p in of_interest]
        )
    loss = plan.loss_for(cohort)  # depends on ranking and calibration, whatever the search optimises
    losses = np.array([loss.score(y[fold.test], p.astype(np.float64)) for p in of_interest])
    shape = plan.shape(cohort)
    notes = (*notes_on_sizes(configuration, shape), *notes_on_columns(cohort, fold, along.pipeline), *warned)
    of_values = tuple((*notes, *notes_on_causes(F)) for F in along.risks) if cohort.n_causes > 1 else ()
    risks = of_interest.astype(np.float32, copy=False)
    path = FoldPath(along.values, scores, losses, risks, _competing(along.risks, cohort, plan), of_values)
    return at_common_setting([FoldResult(0.0, risks[0], notes, path)])[0]


def _competing(F: NDArray[np.floating[Any]], cohort: Cohort, plan: Plan) -> NDArray[np.float32] | None:
    """Select the competing causes and the horizons from incidences, shape = (..., n_causes, n_times)."""
    if cohort.n_causes == 1:
        return None
    places = [plan.times.index(horizon) for horizon in cohort.horizons]
    return F[..., 1:, places].astype(np.float32)


def _finite(score: float, metric: str) -> float:
    if not np.isfinite(score):
        msg = f"{metric} is not defined on a fold"
        raise ValueError(msg)
    return score


def _checked(risks: NDArray[np.floating[Any]], target: Target) -> NDArray[np.float64]:
    if not np.isfinite(risks).all() or risks.min() < 0.0 or risks.max() > 1.0:
        msg = f"the pipeline gave risks outside [0, 1]: from {risks.min()} to {risks.max()}"
        raise ValueError(msg)
    if (np.diff(target.as_curves(risks), axis=-1) < -_ROUNDING).any():
        msg = "the pipeline gave risks that fall with time"
        raise ValueError(msg)
    return risks.astype(np.float64)
