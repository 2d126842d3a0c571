"""Damaged workbooks and files of statistics packages are read or refused; `make fuzz` reads more."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest

from tests.drills import damaged


@pytest.mark.filterwarnings("ignore")  # of what damaged numbers do to arithmetic
def test_damaged_files_of_every_kind_are_read_or_refused() -> None:
    faults: list[str] = []
    ends = damaged.drill(70, 2, lambda told, _: faults.append(told))
    assert faults == []
    assert len(ends) == 7
    assert all(sum(counts.values()) == 10 for counts in ends.values())
    assert {end for counts in ends.values() for end in counts} == {"read", "refused"}


def test_whole_files_are_read_but_for_the_one_without_the_outcome() -> None:
    with damaged.forked_children():
        ends = {kind: damaged.read(content) for kind, content in damaged.seeds().items()}
    assert {kind for kind, end in ends.items() if end == "refused"} == {"sas7bdat"}


def test_what_is_no_refusal_is_a_fault() -> None:
    faults: list[bytes] = []
    with mock.patch.object(damaged, "read_cohort", side_effect=KeyError("age")):
        ends = damaged.drill(7, 2, lambda _, content: faults.append(content))
    assert len(faults) == sum(counts["fault"] for counts in ends.values()) == 7


def test_damage_changes_a_file_and_nothing_of_its_first_bytes() -> None:
    rng = np.random.default_rng(0)
    for content in damaged.seeds().values():
        assert all((made := damaged.damage(content, rng)) != content and made[:4] == content[:4] for _ in range(20))
