"""What performance costs: a pipeline on groups of features, each with a price.

    J, K      folds of all repeats, and folds a repeat
    g_S       gains (scores turned so that more is better) of the pipeline on the tests S      (J,)
    d         mean of g_S - g_all
    s2        variance of the differences over folds
    error     sqrt(s2 (1 / J + 1 / (K - 1))), where 1 / (K - 1) stands for the overlap of training folds

Up to ten tests every subset is evaluated. Beyond, tests are added one by one: at each step all that are left are tried,
and the one that gains most for its cost stays; where none gains anything, the one that loses least.

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

from autoprog.cohort import Cohort
from autoprog.errors import InvalidInputError
from autoprog.evaluation import CrossValidation, Metric, Plan, cross_validate, make_metric
from autoprog.space import Configuration
from autoprog.test_selection.arms import MAX_SUBSET_TESTS, DiagnosticTest, total_cost
from autoprog.test_selection.groups import SIMPLE, check_tests, read_features, restricted

Subset = tuple[int, ...]
EvaluateMany = Callable[[Configuration, Sequence[Cohort], Plan], Iterable[CrossValidation | str]]


@dataclass(frozen=True, slots=True)
class FrontierPoint:
    """A group of tests: what it costs and what it is worth.

    Attributes
    ----------
    tests : tuple of str
        Names, in the order given.
    cost : float
        Of all of them for one patient.
    score : float or None
        Mean over folds, in the metric's own direction; None where the pipeline could not be fitted.
    fold_scores : tuple of float
        Of the folds, which are the same for all points.
    difference, standard_error : float or None
        Gain less that of all tests, and its standard error.
    on_frontier : bool
        Whether no point that costs as little or less scores better, and none that costs less as well.
    reason : str or None
        Why there is no score.
    """

    tests: tuple[str, ...]
    cost: float
    score: float | None
    fold_scores: tuple[float, ...]
    difference: float | None = None
    standard_error: float | None = None
    on_frontier: bool = False
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Frontier:
    """Performance against cost.

    Attributes
    ----------
    metric : str
        What the scores are.
    points : tuple of FrontierPoint
        In order of cost, then of size.
    without_tests : float or None
        Score of the event rate of the training patients, given to everybody; None where outcomes are not binary.
    searched : {"all", "greedy"}
        Whether every subset was evaluated.
    note : str
        What the scores do not show, in words.
    """

    metric: str
    points: tuple[FrontierPoint, ...]
    without_tests: float | None
    searched: Literal["all", "greedy"]
    note: str

    @property
    def frontier(self) -> tuple[FrontierPoint, ...]:
        """The points on it, cheapest first."""
        return tuple(point for point in self.points if point.on_frontier)


def one_after_another(
    configuration: Configuration, cohorts: Sequence[Cohort], plan: Plan
) -> Iterator[CrossValidation | str]:
    """Cross-validate a pipeline on some cohorts in this process.

    Parameters
    ----------
    configuration : Configuration
        The pipeline.
    cohorts : sequence of Cohort
        The same patients with different features.
    plan : Plan
        Folds and metric.

    Yields
    ------
    CrossValidation or str
        In order; a text where the pipeline could not be fitted.
    """
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
        The patients.
    tests : sequence of DiagnosticTest
        Each with the features that it measures; features of no test are left out.
    plan : Plan
        Folds and metric: a finished search's own, so that scores can be compared with its.
    configuration : Configuration
        The pipeline, for instance the best of a finished search; it is fitted anew to every group.
    evaluate : callable (Configuration, sequence of Cohort, Plan) -> iterable of CrossValidation or str
        Who cross-validates, in the order given.

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
    """The points evaluated so far."""

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
        """Gain for the cost where there is a gain; the gain alone decides among free tests and among losses."""
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
    """With the frontier; the points in order of cost."""
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
