from __future__ import annotations

import pytest

from autoprog.cohort.messages import (
    FIRST,
    MAX_FAULTS,
    absent_columns,
    capped,
    capped_warnings,
    listed,
    make_suggester,
    near_names,
    pointer,
    rows_text,
)
from autoprog.errors import Fault


def test_pointers_are_escaped_and_can_be_encoded() -> None:
    assert pointer("file", "columns", "a/b~c") == "/file/columns/a~1b~0c"
    assert pointer("patients", 3, "age") == "/patients/3/age"
    assert pointer("\ud800").encode() == b"/?"


def test_long_lists_are_counted() -> None:
    assert listed("abcdefg", 7) == "a, b, c, d, e and 2 more"
    assert listed("ab", 2) == "a, b"
    assert rows_text([7]) == "row 7"
    assert rows_text(range(10, 2010)) == "rows 10, 11, 12, 13, 14 and 1,995 more"


def test_near_names_ignore_capitals() -> None:
    assert near_names("AGE_YEARS", ["age_year", "bmi"]) == "; did you mean 'age_year'?"
    assert near_names("xyz", ["age", "bmi"]) == ""


@pytest.mark.parametrize(("n", "most"), [(199, MAX_FAULTS), (200, FIRST)])
def test_of_many_unknown_names_the_first_get_a_suggestion(n: int, most: int) -> None:
    suggest = make_suggester([f"feature {i}" for i in range(n)])
    suggestions = [suggest("featre 7") for _ in range(MAX_FAULTS + 1)]
    assert [bool(suggestion) for suggestion in suggestions] == [i < most for i in range(MAX_FAULTS + 1)]


def test_absent_columns_are_named_and_the_rest_counted() -> None:
    wanted = [(f"/w/{i}", f"w{i}") for i in range(MAX_FAULTS + 3)]
    faults = absent_columns("/w", wanted, ["w0", "other"])
    assert [fault.pointer for fault in faults] == [f"/w/{i}" for i in range(1, MAX_FAULTS + 1)] + ["/w"]
    assert faults[-1].detail.startswith("2 more columns")


def test_faults_are_capped() -> None:
    faults = [Fault("/file", str(i)) for i in range(MAX_FAULTS + 7)]
    assert capped(faults[:MAX_FAULTS], "/file") == tuple(faults[:MAX_FAULTS])
    assert capped(faults, "/file")[MAX_FAULTS:] == (Fault("/file", "7 more faults of these kinds"),)


def test_warnings_are_capped() -> None:
    warnings = [str(i) for i in range(MAX_FAULTS + 1)]
    assert capped_warnings(warnings[:-1]) == tuple(warnings[:-1])
    assert capped_warnings(warnings) == (*warnings[:-1], "1 more warning of these kinds")
