"""Short simulations of leases; `make drills` runs the long ones."""

from __future__ import annotations

import pytest

from tests.drills.leases import find, place
from tests.drills.planted import FAULTS


def test_schedules_break_nothing_and_are_played_again_by_their_seed() -> None:
    with place() as made:
        first = [made.play(seed) for seed in range(120)]
        assert [wrong for wrong, _ in first] == [[]] * len(first)
        digests = [digest for _, digest in first]
        assert [made.play(seed)[1] for seed in range(5)] == digests[:5]
        assert len(set(digests)) == len(digests)


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_every_planted_fault_is_found() -> None:
    assert len(FAULTS) >= 30
    with place() as made:
        missed = [fault for fault in FAULTS if find(made, fault, range(400)) is None]
    assert missed == []


def test_some_planted_faults_are_found() -> None:
    some = ["a lease without a new token", "old tokens hold", "a heartbeat never stops", "a heartbeat comes too late"]
    with place() as made:
        assert [fault for fault in some if find(made, fault, range(20)) is None] == []
