"""A test selection problem: its arms and the policy that chooses among them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autoprog.catalogue import DiagnosticTest
from autoprog.cohort import Cohort
from autoprog.cohort.messages import pointer
from autoprog.csmd.arms import Arms, arms_from_json, arms_to_json, make_arms
from autoprog.csmd.evidence import Counts, update
from autoprog.csmd.policies import SETTINGS, Policy, make_policy
from autoprog.csmd.selection import select
from autoprog.errors import Fault, InvalidInputError
from autoprog.space import Configuration, Step


@dataclass(frozen=True)
class SelectionProblem:
    """Which tests to order, round after round; holds no state."""

    arms: Arms
    policy: Policy

    def empty(self) -> Counts:
        """Counts without feedback."""
        return Counts.empty(self.arms)

    def choose(self, counts: Counts, t: int, rng: np.random.Generator) -> int:
        """Choose the arm of a round.

        Parameters
        ----------
        counts : Counts, before the round; feedback of earlier rounds may be missing
        t : int, number of the round as opened, from 1
        rng : numpy.random.Generator, seeded by (seed, t) to make the round repeatable

        Returns
        -------
        int
            Index of the arm, from 0; without any feedback kl_ucb and ucb1 play the last arm.
        """
        if self.policy.opens_with_last and not counts.feedback.any():
            return self.arms.last
        D, N = counts.D, counts.N
        return select(self.arms, lambda pairs, gap: self.policy.reaches(gap, D[pairs], N[pairs], t, rng))

    def update(self, counts: Counts, arm: int, predictions: NDArray[np.integer]) -> Counts:
        """New counts after the feedback of one round, its outputs as `check_predictions` returns them."""
        return update(self.arms, counts, [(arm, predictions)])

    def update_many(self, counts: Counts, rows: Iterable[tuple[int, NDArray[np.integer]]]) -> Counts:
        """New counts after the feedback of rounds in any order."""
        return update(self.arms, counts, rows)


def problem_to_json(problem: SelectionProblem) -> dict[str, Any]:
    """Write a problem as a JSON object: its arms, the policy's name and its settings."""
    policy = problem.policy
    return arms_to_json(problem.arms) | {"algorithm": policy.name, **policy.settings}


def problem_from_json(document: Mapping[str, Any]) -> SelectionProblem:
    """Read what `problem_to_json` wrote; other keys are ignored."""
    return SelectionProblem(arms_from_json(document), policy_from_json(document))


def policy_from_json(document: Mapping[str, Any]) -> Policy:
    """Read the policy of what `problem_to_json` wrote; a missing or null setting takes its default."""
    settings = {name: document[name] for name in SETTINGS if document.get(name) is not None}
    return make_policy(document["algorithm"], **settings)


def check_predictions(arms: Arms, arm: int, predictions: Mapping[str, object]) -> NDArray[np.int8]:
    """Check feedback as a client sends it.

    Parameters
    ----------
    arms : Arms
    arm : int, the arm that was played, from 0
    predictions : mapping, arm id -> 0 or 1, for exactly the arms that the played one reveals

    Returns
    -------
    ndarray of int8
        Outputs of `arms.revealed(arm)`.

    Raises
    ------
    InvalidInputError
        With every fault: an arm that is missing, unknown or not revealed, a value other than 0 and 1.
    """
    known = [arms.arms[index].id for index in arms.revealed(arm)]
    faults = [
        Fault(
            pointer("predictions", name),
            f"missing: the tests of arm {arms.arms[arm].id} make the output of this arm known",
        )
        for name in known
        if name not in predictions
    ]
    every = {a.id for a in arms}
    for name, value in predictions.items():
        if name not in every:
            faults.append(Fault(pointer("predictions", name), f"there is no such arm; they are 1 to {len(arms)}"))
        elif name not in known:
            detail = f"the tests of arm {arms.arms[arm].id} do not make the output of this arm known"
            faults.append(Fault(pointer("predictions", name), detail))
        elif not _is_binary(value):
            faults.append(Fault(pointer("predictions", name), "must be 0 or 1"))
    if faults:
        raise InvalidInputError(faults)
    return np.array([int(predictions[name]) for name in known], dtype=np.int8)  # type: ignore[call-overload]


def _is_binary(value: object) -> bool:
    return isinstance(value, bool | int | float | np.bool_ | np.integer | np.floating) and value in {0, 1}


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
