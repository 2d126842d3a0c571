"""How many calls a cluster runs at once, by its workers' word."""

from __future__ import annotations

import pytest

from autoprog.engine.cluster.client import MOST_SLOTS, MOST_SLOTS_OF_A_WORKER, slots_of
from autoprog.engine.cluster.transport import RemoteError


def test_slots_are_those_of_all_workers() -> None:
    assert slots_of({}) == 0
    assert slots_of({"tcp://a": 2, "tcp://b": 3}) == 5


def test_a_worker_that_claims_more_than_a_machine_has_does_not_change_what_the_others_have() -> None:
    assert slots_of({"tcp://a": 2, "tcp://liar": 10**12}) == 2 + MOST_SLOTS_OF_A_WORKER
    assert slots_of({f"tcp://{number}": 10**12 for number in range(1000)}) == MOST_SLOTS


@pytest.mark.parametrize("said", [None, [1], {"tcp://a": "2"}, {"tcp://a": True}, {"tcp://a": 2.0}, {"tcp://a": -1}])
def test_what_is_no_number_of_slots_is_refused(said: object) -> None:
    with pytest.raises(RemoteError):
        slots_of(said)
