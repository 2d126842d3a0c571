"""Simulations of leases for a minute; `make drills` runs the long ones."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.drills.leases import find, place
from tests.drills.planted import FAULTS

SCHEDULES, PART = 10_000, 500  # some four minutes of a core


@pytest.mark.parametrize("first", range(0, SCHEDULES, PART))
def test_schedules_break_nothing(first: int) -> None:
    with place() as made:
        found = {seed: wrong for seed in range(first, first + PART) if (wrong := made.play(seed)[0])}
    assert found == {}


def test_schedules_are_played_again_by_their_seed() -> None:
    with place() as made:
        digests = [made.play(seed)[1] for seed in range(20)]
        assert [made.play(seed)[1] for seed in reversed(range(20))] == digests[::-1]
    with place() as another:
        assert another.play(7)[1] == digests[7]
    assert len(set(digests)) == len(digests)


def test_the_command_plays_schedules_in_processes_of_its_own() -> None:
    command = [sys.executable, "-m", "tests.drills.leases", "--schedules", "1", "--processes", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2])
    assert json.loads(done.stdout)["schedules"] == 1


def test_every_planted_fault_is_found() -> None:
    assert len(FAULTS) >= 30
    with place() as made:
        missed = [fault for fault in FAULTS if find(made, fault, range(100)) is None]
    assert missed == []
