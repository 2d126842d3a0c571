"""A cohort seen through some tests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from autoprog.cohort import Cohort
from autoprog.errors import Fault, InvalidInputError
from autoprog.space import Configuration, Step
from autoprog.test_selection.arms import DiagnosticTest, make_arms

SIMPLE = Configuration(Step.of("median"), Step.of("none"), Step.of("logistic_regression"), Step.of("none"))
"""Median imputation and a logistic regression, nothing else."""


def read_features(tests: Sequence[DiagnosticTest], subset: Iterable[int]) -> frozenset[str]:
    """Names of the features that some tests measure."""
    return frozenset(feature for k in subset for feature in tests[k].features)


def restricted(cohort: Cohort, names: frozenset[str]) -> Cohort:
    """The same patients with some of their features.

    Parameters
    ----------
    cohort : Cohort
        With all features.
    names : frozenset of str
        Those to keep, which stay in the cohort's order.

    Returns
    -------
    Cohort
        Same rows, outcomes and groups.
    """
    columns = [j for j, feature in enumerate(cohort.features) if feature.name in names]
    return cohort.with_features(tuple(cohort.features[j] for j in columns), columns)


def check_tests(cohort: Cohort, tests: Sequence[DiagnosticTest]) -> list[Fault]:
    """All faults of some tests of a cohort, however many tests there are.

    Parameters
    ----------
    cohort : Cohort
        The patients.
    tests : sequence of DiagnosticTest
        As the client gave them.

    Returns
    -------
    list of Fault
        Of names, costs and features, below `/tests`.
    """
    faults = list(feature_faults(cohort, tests))
    try:
        make_arms("cascade", tests)
    except InvalidInputError as error:
        faults = [*error.faults, *faults]
    return faults


def feature_faults(cohort: Cohort, tests: Sequence[DiagnosticTest]) -> Iterator[Fault]:
    """Faults of tests that measure nothing, or what the cohort does not have.

    Parameters
    ----------
    cohort : Cohort
        The patients.
    tests : sequence of DiagnosticTest
        As the client gave them.

    Yields
    ------
    Fault
        One a place, below `/tests`.
    """
    known = {feature.name for feature in cohort.features}
    for k, test in enumerate(tests):
        if not test.features:
            yield Fault(f"/tests/{k}/features", f"{test.name} measures no feature of the cohort")
        for f, name in enumerate(test.features):
            if name not in known:
                yield Fault(f"/tests/{k}/features/{f}", f"the cohort has no feature {name}")
