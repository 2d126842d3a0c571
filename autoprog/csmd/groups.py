"""Cohorts restricted to the features of some tests, and checks of tests against a cohort."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from autoprog.cohort import Cohort
from autoprog.csmd.arms import DiagnosticTest, make_arms
from autoprog.errors import Fault, InvalidInputError
from autoprog.space import Configuration, Step

SIMPLE = Configuration(Step.of("median"), Step.of("none"), Step.of("logistic_regression"), Step.of("none"))
"""Median imputation and a logistic regression, nothing else."""


def read_features(tests: Sequence[DiagnosticTest], subset: Iterable[int]) -> frozenset[str]:
    """Names of the features that the tests with the indices `subset` measure."""
    return frozenset(feature for k in subset for feature in tests[k].features)


def restricted(cohort: Cohort, names: frozenset[str]) -> Cohort:
    """The same patients with the named features only, in the cohort's order."""
    columns = [j for j, feature in enumerate(cohort.features) if feature.name in names]
    return cohort.with_features(tuple(cohort.features[j] for j in columns), columns)


def check_tests(cohort: Cohort, tests: Sequence[DiagnosticTest]) -> list[Fault]:
    """All faults of up to 1,000 tests of a cohort, in names, costs and features, below `/tests`."""
    faults = list(feature_faults(cohort, tests))
    try:
        make_arms("cascade", tests)
    except InvalidInputError as error:
        faults = [*error.faults, *faults]
    return faults


def feature_faults(cohort: Cohort, tests: Sequence[DiagnosticTest]) -> Iterator[Fault]:
    """Faults of tests that measure nothing, or a feature that the cohort does not have."""
    known = {feature.name for feature in cohort.features}
    for k, test in enumerate(tests):
        if not test.features:
            yield Fault(f"/tests/{k}/features", f"{test.name} measures no feature of the cohort")
        for f, name in enumerate(test.features):
            if name not in known:
                yield Fault(f"/tests/{k}/features/{f}", f"the cohort has no feature {name}")
