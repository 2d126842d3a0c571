"""Performance against cost: a pipeline on groups of features, each with a price.

    J, K      folds of all repeats, and folds per repeat
    g_S       gains of the pipeline on the tests S: scores, signed so that more is better    (J,)
    d         mean of g_S - g_all
    s2        variance of the differences over folds
    error     sqrt(s2 (1 / J + 1 / (K - 1))), where 1 / (K - 1) accounts for overlapping training folds

With up to ten tests every subset is evaluated. With more, tests are added one by one: each step tries all that are left
and keeps the one with the largest gain per cost or, if none gains, the one that loses least.

References
----------
Nadeau & Bengio 2003, Machine Learning 52:239 (the standard error); Kohavi & John 1997, Artificial Intelligence 97:273
(subsets by the score of the learner itself).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

import numpy as np

from autoprog.catalogue import DiagnosticTest
from autoprog.cohort import Cohort
from autoprog.csmd.arms import MAX_SUBSET_TESTS, total_cost
from autoprog.csmd.problem import SIMPLE, check_tests, read_features, restricted
from autoprog.errors import InvalidInputError
from autoprog.evaluation import CrossValidation, Plan, cross_validate
from autoprog.performance import Metric, make_metric
from autoprog.space import Configuration

Subset = tuple[int, ...]
EvaluateMany = Callable[[Configuration, Sequence[Cohort], Plan], Iterable[CrossValidation | str]]


@dataclass(frozen=True, slots=True)
class FrontierPoint:
    """Cost and performance of a group of tests."""

    tests: tuple[str, ...]  # names, in the order given
    cost: float  # total for one patient
    score: float | None  # mean over folds, in the metric's own direction; None if the pipeline could not be fitted
    fold_scores: tuple[float, ...]  # on the folds, which are the same for all points
    difference: float | None = None  # gain minus that of all tests
    standard_error: float | None = None  # of the difference
    on_frontier: bool = False  # no point of at most its cost scores better, and no cheaper one equally well
    reason: str | None = None  # why there is no score


@dataclass(frozen=True, slots=True)
class Frontier:
    """Performance against cost."""

    metric: str
    points: tuple[FrontierPoint, ...]  # sorted by cost, then by size
    without_tests: float | None  # score with the training patients' event rate as risk; None if outcomes are not binary
    searched: Literal["all", "greedy"]  # whether every subset was evaluated
    note: str  # what the scores do not show

    @property
    def frontier(self) -> tuple[FrontierPoint, ...]:
        """The points on the frontier, cheapest first."""
        return tuple(point for point in self.points if point.on_frontier)


def one_after_another(
    configuration: Configuration, cohorts: Sequence[Cohort], plan: Plan
) -> Iterator[CrossValidation | str]:
    """Cross-validate a pipeline on cohorts, in order and in this process; yield a text where it could not be fitted."""
    for cohort in cohorts:
        try:
            yield cross_validate(configuration, cohort, plan)
        except ValueError as error:
            yield str(error)


def trace_frontier(
    cohort: Cohort,
    tests: Sequence[DiagnosticTest],
    plan: Plan,
    configuration: Configuration = SIMPLE,
    *,
    evaluate: EvaluateMany = one_after_another,
) -> Frontier:
    """Score a pipeline on groups of tests.

    Parameters
    ----------
    cohort : Cohort
    tests : sequence of DiagnosticTest, each with its features; features of no test are left out
    plan : Plan, folds and metric; use a finished search's own to compare scores with it
    configuration : Configuration
        The pipeline, for instance the best of a finished search; it is fitted anew to every group.
    evaluate : callable (Configuration, sequence of Cohort, Plan) -> iterable of CrossValidation or str
        Runs the cross-validations, in the order given.

    Returns
    -------
    Frontier
        All points that were evaluated.

    Raises
    ------
    InvalidInputError
        With every fault of the tests.
    """
    if faults := check_tests(cohort, tests):
        raise InvalidInputError(faults)
    metric = make_metric(plan.metric, plan.thresholds)
    search = _Search(cohort, tests, plan, configuration, evaluate, metric)
    everything = tuple(range(len(tests)))
    greedy = len(tests) > MAX_SUBSET_TESTS
    if greedy:
        search.score([everything])
        search.add_one_by_one()
    else:
        search.score([s for size in range(1, len(tests) + 1) for s in combinations(everything, size)])
    points = _compared(list(search.points.values()), search.points[everything], plan, metric)
    points.sort(key=lambda point: (point.cost, len(point.tests)))
    constant = _without_tests(cohort, plan, metric)
    return Frontier(metric.name, _marked(points, metric), constant, "greedy" if greedy else "all", _NOTE)


_NOTE = (
    "Scores are out of fold, on the same folds for all groups. The frontier is the best of many: its scores are a "
    "little too good, and neighbours on it often differ by less than their standard errors."
)


class _Search:
    def __init__(
        self,
        cohort: Cohort,
        tests: Sequence[DiagnosticTest],
        plan: Plan,
        configuration: Configuration,
        evaluate: EvaluateMany,
        metric: Metric,
    ) -> None:
        self._cohort, self._tests, self._plan = cohort, tests, plan
        self._configuration, self._evaluate, self._metric = configuration, evaluate, metric
        self.points: dict[Subset, FrontierPoint] = {}

    def score(self, subsets: Sequence[Subset]) -> None:
        new = [subset for subset in subsets if subset not in self.points]
        cohorts = [restricted(self._cohort, read_features(self._tests, subset)) for subset in new]
        results = self._evaluate(self._configuration, cohorts, self._plan)
        for subset, result in zip(new, results, strict=True):
            names = tuple(self._tests[k].name for k in subset)
            cost = total_cost(self._tests, subset)
            if isinstance(result, str):
                self.points[subset] = FrontierPoint(names, cost, None, (), reason=result)
            else:
                self.points[subset] = FrontierPoint(names, cost, result.score, result.fold_scores)

    def add_one_by_one(self) -> None:
        chosen: Subset = ()
        while len(chosen) < len(self._tests):
            left = [k for k in range(len(self._tests)) if k not in chosen]
            grown = {k: tuple(sorted((*chosen, k))) for k in left}
            self.score(list(grown.values()))
            before = self._gain(chosen)
            best = max(left, key=lambda k: self._worth(k, self._gain(grown[k]) - before))
            chosen = grown[best]

    def _gain(self, subset: Subset) -> float:
        if not subset:
            constant = _without_tests(self._cohort, self._plan, self._metric)
            return 0.0 if constant is None else self._metric.gain(constant)
        score = self.points[subset].score
        return -np.inf if score is None else self._metric.gain(score)

    def _worth(self, k: int, gained: float) -> tuple[float, float]:
        """Gain per cost if there is a gain; the gain alone decides among free tests and among losses."""
        if gained <= 0 or np.isnan(gained):
            return (-1.0, -np.inf if np.isnan(gained) else gained)
        cost = self._tests[k].cost
        return (np.inf if cost == 0 else gained / cost, gained)


def _compared(points: list[FrontierPoint], full: FrontierPoint, plan: Plan, metric: Metric) -> list[FrontierPoint]:
    if full.score is None:
        return points
    reference = np.array([metric.gain(score) for score in full.fold_scores])
    factor = 1 / plan.n_folds + 1 / (plan.folds - 1)
    compared = []
    for point in points:
        if point.score is None:
            compared.append(point)
            continue
        differences = np.array([metric.gain(score) for score in point.fold_scores]) - reference
        error = float(np.sqrt(differences.var(ddof=1) * factor))
        compared.append(replace(point, difference=float(differences.mean()), standard_error=error))
    return compared


def _marked(points: Sequence[FrontierPoint], metric: Metric) -> tuple[FrontierPoint, ...]:
    """Mark the points on the frontier; `points` are sorted by cost."""
    gains = [-np.inf if point.score is None else metric.gain(point.score) for point in points]
    marked = []
    for point, gain in zip(points, gains, strict=True):
        rivals = [g for p, g in zip(points, gains, strict=True) if p is not point and p.cost <= point.cost]
        cheaper_equal = any(
            p.cost < point.cost and g == gain for p, g in zip(points, gains, strict=True) if p is not point
        )
        best = gain > -np.inf and not cheaper_equal and all(gain >= g for g in rivals)
        marked.append(replace(point, on_frontier=best))
    return tuple(marked)


def _without_tests(cohort: Cohort, plan: Plan, metric: Metric) -> float | None:
    if cohort.mode != "classification":
        return None
    cohort = plan.sample(cohort)
    scores = []
    for number in range(plan.n_folds):
        fold = plan.fold(cohort, number)
        risks = np.full(len(fold.test), cohort.y[fold.train].mean())
        scores.append(metric.score(cohort.y[fold.test], risks))
    return float(np.mean(scores))
