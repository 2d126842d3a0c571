from __future__ import annotations

from collections.abc import Sequence

import pytest

from autoprog.cohort import Binary
from tests.cohort.tables import find_faults, read, the_fault, twenty

COLUMN = "/file/columns/died"


@pytest.mark.parametrize(
    ("values", "positive", "negative"),
    [
        ((0, 1), 1, "0"),
        ((0.0, 1.0), "1", "0"),
        ((2, 1), 2, "1"),
        (("no", "yes"), "yes", "no"),
        (("FALSE", "True"), True, "false"),
        (("none", "any"), "any", "none"),
        (("+", "-"), "-", "+"),
    ],
)
def test_the_positive_value_is_coded_one(values: tuple[object, object], positive: object, negative: str) -> None:
    intake = read({**twenty(), "died": [values[0], values[1]] * 10}, outcome={"column": "died", "positive": positive})
    is_first = intake.cohort.y[0] == 1
    assert intake.cohort.y.tolist() == ([1, 0] if is_first else [0, 1]) * 10
    assert intake.cohort.outcome.negative == negative
    assert intake.cohort.outcome == Binary("died", intake.cohort.outcome.positive, negative)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([1] * 20, "the outcome is the same in every row that has one; it needs two values"),
        ([""] * 20, "the outcome has no value in any row"),
        ([0, 1] * 9 + [2, 3], "the outcome has 4 values, first in rows 2, 3, 20, 21; classification needs two"),
        ([*[0, 1] * 4, *["NA"] * 12], "missing in 12 of 20 rows ('NA' read as missing); at most half may lack it"),
        ([0] * 16 + [1] * 4, "4 patients with the outcome; at least 5 are needed"),
        ([1] * 19 + [0], "1 patient without the outcome; at least 5 are needed"),
    ],
)
def test_what_is_no_binary_outcome_is_a_fault(values: Sequence[object], words: str) -> None:
    faults = find_faults({**twenty(), "died": values})
    assert faults[0].pointer == COLUMN
    assert words in faults[0].detail


def test_exactly_half_may_be_missing_and_five_of_a_class_are_enough() -> None:
    intake = read({**twenty(), "died": [*[0, 1] * 5, *[""] * 10]})
    assert intake.cohort.n_patients == 10
    assert intake.n_dropped == 10


def test_a_positive_value_that_does_not_occur_is_a_fault() -> None:
    detail = the_fault(twenty(), "/spec/outcome/positive", outcome={"column": "died", "positive": "yes"})
    assert detail == "'yes' is not a value of column 'died', which has 2 values, first in rows 2, 3"
