"""What is computed of a cohort is computed once, and does not outlive it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from weakref import ref

import pytest

from autoprog.cohort import Cohort
from autoprog.evaluation import Plan, make_folds
from autoprog.evaluation.cache import cached_per_cohort
from tests.cohorts import cleveland_cohort, event_cohort, labelled_visits


@pytest.mark.parametrize(
    ("kind", "metric"),
    [(cleveland_cohort, "auc_roc"), (lambda: event_cohort("whas500"), "uno_c"), (labelled_visits, "brier")],
    ids=["labels", "times", "visits"],
)
def test_a_dropped_cohort_is_gone_with_all_that_was_made_of_it(kind: Callable[[], Cohort], metric: str) -> None:
    cohort = replace(kind())
    plan = Plan(metric, 3, 1, 0, patients=150, times=cohort.time_grid, window=2)
    sample = plan.sample(cohort)
    measure = plan.metric_for(sample)
    folds = make_folds(sample, 3, 1, 0)
    assert plan.sample(cohort) is sample
    assert make_folds(sample, 3, 1, 0) is folds
    assert not cohort.has_times or plan.metric_for(sample) is measure
    of_all = replace(plan, patients=None).sample(cohort)
    gone = [ref(c) for c in (cohort, of_all, sample)] + [ref(folds[0][0])]
    del cohort, of_all, sample, measure, folds
    assert [r() for r in gone] == [None] * 4


def test_the_last_values_of_each_cohort_are_kept() -> None:
    asked = []

    @cached_per_cohort
    def rows(cohort: Cohort, more: int) -> int:
        asked.append(more)
        return cohort.n_rows + more

    first, second = replace(cleveland_cohort()), replace(cleveland_cohort())
    for more in (1, 2, 3, 4, 1):
        assert rows(first, more) == rows(second, more) == 303 + more
    assert asked == [1, 1, 2, 2, 3, 3, 4, 4]
    rows(first, 5)
    rows(first, 1)
    assert asked[8:] == [5]
    rows(first, 2)  # the one that was not asked for longest
    assert asked[8:] == [5, 2]
