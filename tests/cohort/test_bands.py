"""Columns of ranges are ordered by their numbers."""

from __future__ import annotations

import itertools

import pytest

from autoprog.cohort.bands import sort_bands
from tests.cohort.tables import find_faults, read, twenty


@pytest.mark.parametrize(
    "ordered",
    [
        ("[0-10)", "[10-20)", "[90-100)"),
        ("<18", "18-24", "25-64", "65+"),
        ("under 5", "5 to 9", "10 to 99", "over 99"),
        ("0", "1-3", "4-9", ">=10"),
        ("(0, 2.5]", "(2.5, 10]", "(10, 40]"),
        ("18–29", "30–39", "40 or more"),
        ("2001-2005", "2006-2010", "2011-2015"),
        ("0.125-0.250", "0.251-0.500", "0.501-2"),
        ("1.000-1.499", "1.500-1.999", "2.000-2.499"),
    ],
)
def test_ranges_are_sorted_whatever_their_order(ordered: tuple[str, ...]) -> None:
    for values in itertools.permutations(ordered):
        assert sort_bands(values) == ordered


@pytest.mark.parametrize(
    "values",
    [
        ("<18", "65+"),  # two values need no order
        ("18-30", "25-40", "40-60"),  # overlapping
        ("18-24", "25-64", "unknown"),
        ("mild", "moderate", "severe"),
        ("001-139", "140-239", "240-279"),  # chapters of a classification
        ("1", "2", "3-4"),  # one range alone
        ("1", "2", "3"),
        ("9-5", "10-20", "20-30"),
        ("500-999", "1.000-1.499", "1.500-1.999"),  # points between thousands
        ("<500", "500-1.000", ">1.000"),
        ("<5", "<10", "10-20"),
        ("5-10", "5-10 ", "10-20"),  # the same range twice
        (),
    ],
)
def test_other_words_have_no_order_of_their_own(values: tuple[str, ...]) -> None:
    assert sort_bands(values) is None


def test_a_column_of_ranges_is_ordinal_by_itself() -> None:
    values = ["65+", "<18", "18-39", "40-64", "<18"] * 4
    intake = read(twenty(group=values))
    feature = next(each for each in intake.cohort.features if each.name == "group")
    assert (feature.kind, feature.levels) == ("ordinal", ("<18", "18-39", "40-64", "65+"))
    names = [each.name for each in intake.cohort.features]
    assert intake.cohort.X[:5, names.index("group")].tolist() == [3, 0, 1, 2, 0]


def test_declarations_win_and_ordinal_needs_no_levels_for_ranges() -> None:
    values = ["5-9", "0-4", "10+", "5-9", "10+"] * 4
    declared = read(twenty(group=values), features={"group": {"kind": "categorical"}})
    kinds = {each.name: each.kind for each in declared.cohort.features}
    assert kinds["group"] == "categorical"
    asked = read(twenty(group=values), features={"group": {"kind": "ordinal"}})
    (levels,) = [each.levels for each in asked.cohort.features if each.name == "group"]
    assert levels == ("0-4", "5-9", "10+")
    words = twenty(group=["low", "high", "middle", "low", "high"] * 4)
    (fault,) = find_faults(words, features={"group": {"kind": "ordinal"}})
    assert "needs its levels in order" in fault.detail
