"""The numbers of evaluations through the batches of a search and of those that it continues."""

from __future__ import annotations

from autoprog.optimizer import Proposal
from autoprog.search.batches import Batches
from autoprog.space import Configuration, Step

OPENING = tuple(
    Configuration(Step("median"), Step("none"), Step.of("ridge", {"alpha": float(k)}), Step("none")) for k in range(5)
)


def test_finalists_are_not_of_the_opening() -> None:
    batches = Batches((), OPENING)
    batches.add(Proposal(0, OPENING[:2]))
    batches.add(Proposal(1, OPENING[2:3]))
    assert batches.final == ()
    batches.add(Proposal(2, OPENING[:2], is_final=True))
    assert batches.opening == {0, 1, 2}
    assert batches.finalists == {3, 4}
    assert batches.final == (batches.last,)


def test_a_continuation_goes_on_with_the_opening() -> None:
    earlier = (Proposal(0, OPENING[:3]), Proposal(1, OPENING[:2], is_final=True))
    batches = Batches(earlier, OPENING, n_inherited=2)
    assert batches.final == ()
    assert batches.opening_left == OPENING[3:]
    batches.add(Proposal(2, batches.opening_left))
    assert list(batches.numbers(2)) == [5, 6]
    assert batches.opening == {0, 1, 2, 5, 6}
    assert batches.opening_left == ()
    assert list(batches.numbers(3)) == []
    assert batches.n_configurations == 7
