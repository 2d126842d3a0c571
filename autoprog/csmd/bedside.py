"""State of a round at the bedside: which test to order next, when to stop, and the cost so far."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from autoprog.csmd.arms import Arms, total_cost


@dataclass(frozen=True, slots=True)
class BedsideState:
    """State of a round."""

    done: tuple[str, ...]  # names of the arm's tests whose features have all arrived, in the order of ordering
    next_test: str | None  # None when the arm is complete
    cost: float  # total of the ordered tests: those of which any feature has arrived
    cost_to_come: float  # total of the arm's other tests

    @property
    def complete(self) -> bool:
        """Whether the arm can predict."""
        return self.next_test is None


def bedside_state(arms: Arms, arm: int, measured: Collection[str]) -> BedsideState:
    """State of a round.

    Parameters
    ----------
    arms : Arms, whose tests name their features
    arm : int, the arm that was chosen, from 0
    measured : collection of str
        Names of the features that have arrived or proved unobtainable; other tests' features are ignored.

    Returns
    -------
    BedsideState
        In a cascade tests are ordered as given, in a subset cheapest first.
    """
    order = list(arms.arms[arm].tests)
    # Cheapest first: the patient may be lost before the last test.
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
