"""A problem: its arms and the policy that chooses among them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort.messages import pointer
from autoprog.errors import Fault, InvalidInputError
from autoprog.test_selection.arms import Arms, arms_from_json, arms_to_json
from autoprog.test_selection.counts import Counts, update
from autoprog.test_selection.policies import SETTINGS, Policy, make_policy
from autoprog.test_selection.selection import select


@dataclass(frozen=True)
class SelectionProblem:
    """Which tests to order, round after round; without state.

    Attributes
    ----------
    arms : Arms
        What can be chosen.
    policy : Policy
        How the estimates are used.
    """

    arms: Arms
    policy: Policy

    def empty(self) -> Counts:
        """Counts without experience."""
        return Counts.empty(self.arms)

    def choose(self, counts: Counts, t: int, rng: np.random.Generator) -> int:
        """The arm of a round.

        Parameters
        ----------
        counts : Counts
            What is known before it. Feedback of earlier rounds may be missing.
        t : int
            The round's number as opened, from 1.
        rng : numpy.random.Generator
            Source of randomness; a generator seeded by (seed, t) makes a round repeatable.

        Returns
        -------
        int
            Index of the arm, from 0. As long as there is no feedback at all, kl_ucb and ucb1 play the last arm.
        """
        if self.policy.opens_with_last and not counts.feedback.any():
            return self.arms.last
        D, N = counts.D, counts.N
        return select(self.arms, lambda pairs, gap: self.policy.reaches(gap, D[pairs], N[pairs], t, rng))

    def update(self, counts: Counts, arm: int, predictions: NDArray[np.integer]) -> Counts:
        """Counts after the feedback of one round; see `counts.update`, which takes many."""
        return update(self.arms, counts, [(arm, predictions)])

    def update_many(self, counts: Counts, rows: Iterable[tuple[int, NDArray[np.integer]]]) -> Counts:
        """Counts after the feedback of some rounds, in any order."""
        return update(self.arms, counts, rows)


def problem_to_json(problem: SelectionProblem) -> dict[str, Any]:
    """A problem as a JSON object, for `problem_from_json`: its arms, the policy's name and its settings."""
    policy = problem.policy
    return arms_to_json(problem.arms) | {"algorithm": policy.name, **policy.settings}


def problem_from_json(document: Mapping[str, Any]) -> SelectionProblem:
    """The inverse of `problem_to_json`; what else the object holds is not read."""
    return SelectionProblem(arms_from_json(document), policy_from_json(document))


def policy_from_json(document: Mapping[str, Any]) -> Policy:
    """The policy alone, of what `problem_to_json` wrote; a setting that is not there, or null, is the default."""
    settings = {name: document[name] for name in SETTINGS if document.get(name) is not None}
    return make_policy(document["algorithm"], **settings)


def check_predictions(arms: Arms, arm: int, predictions: Mapping[str, object]) -> NDArray[np.int8]:
    """Feedback as a client sends it, as the counts take it.

    Parameters
    ----------
    arms : Arms
        Of the problem.
    arm : int
        The arm that was played, from 0.
    predictions : mapping
        Arm id -> 0 or 1, for every arm that the tests of the played one make known, and for no other.

    Returns
    -------
    ndarray of int8
        Outputs of `arms.revealed(arm)`.

    Raises
    ------
    InvalidInputError
        With every fault: an arm that is missing, unknown or could not be seen, a value other than 0 and 1.
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
