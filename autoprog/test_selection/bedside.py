"""A round at the bedside: which test to order next, when to stop, and what the patient has cost so far."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from autoprog.test_selection.arms import Arms, total_cost


@dataclass(frozen=True, slots=True)
class BedsideState:
    """Where a round stands.

    Attributes
    ----------
    done : tuple of str
        Names of the arm's tests whose features have all come, in the order in which they are ordered.
    next_test : str or None
        What to order next; None when the arm is complete.
    cost : float
        Of the tests that were ordered: those of which any feature has come.
    cost_to_come : float
        Of the arm's other tests.
    """

    done: tuple[str, ...]
    next_test: str | None
    cost: float
    cost_to_come: float

    @property
    def complete(self) -> bool:
        """Whether the arm can predict."""
        return self.next_test is None


def bedside_state(arms: Arms, arm: int, measured: Collection[str]) -> BedsideState:
    """Where a round stands.

    Parameters
    ----------
    arms : Arms
        Whose tests name their features.
    arm : int
        The arm that was chosen, from 0.
    measured : collection of str
        Names of the features that have come, those that were sought in vain among them; names of other tests count for
        nothing here.

    Returns
    -------
    BedsideState
        Tests are ordered as the cascade has them; of a subset the cheapest first, since a patient may be lost before
        the last.
    """
    order = list(arms.arms[arm].tests)
    if arms.structure == "subset":
        order.sort(key=lambda k: (arms.tests[k].cost, k))
    have = set(measured)
    begun = [k for k in order if have & set(arms.tests[k].features)]
    open_ = [k for k in order if set(arms.tests[k].features) - have]
    done = tuple(arms.tests[k].name for k in order if k not in open_)
    rest = [k for k in order if k not in begun]
    return BedsideState(
        done,
        arms.tests[open_[0]].name if open_ else None,
        total_cost(arms.tests, begun),
        total_cost(arms.tests, rest),
    )
