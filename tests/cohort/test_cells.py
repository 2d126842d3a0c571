from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

from autoprog.cohort.cells import Cells, read_cells
from autoprog.cohort.table import Column


def cells_of(values: Sequence[str], **options: object) -> Cells:
    return read_cells(Column.of("x", pa.array(values, pa.string())), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "token", ["", "NA", "na", "N/A", "NaN", "nan", "null", "NULL", "None", "none", "?", ".", "-", " NA "]
)
def test_usual_tokens_are_missing_among_numbers(token: str) -> None:
    cells = cells_of(["1", "2", token, "3"])
    assert cells.is_numeric
    assert cells.rows_with(cells.missing).tolist() == [2]
    assert cells.n_observed == 3
    assert cells.missing_fraction == pytest.approx(0.25)


def test_none_is_a_level_among_words_and_na_is_not() -> None:
    cells = cells_of(["none", "mild", "severe", "NA", "?"])
    assert not cells.is_numeric
    assert cells.rows_with(cells.missing).tolist() == [3, 4]
    assert cells.missing_words() == {"NA": 1, "?": 1}


def test_own_missing_values_are_found_as_numbers_and_as_texts() -> None:
    cells = cells_of(["1", "-9", "-9.0", "unknown", "Unknown", "2", "3", "4"], na_values=("-9", "unknown"))
    assert cells.rows_with(cells.missing).tolist() == [1, 2, 3]
    assert cells.rows_with(cells.words).tolist() == [4]


def test_declared_levels_are_values_even_if_they_look_missing() -> None:
    cells = cells_of(["-", "+", "++", "?"], numeric=False, levels=("-", "+", "++"))
    assert cells.rows_with(cells.missing).tolist() == [3]


@pytest.mark.parametrize("others", [["+"], ["+", "++", "+++"], ["(+)", "+/-", "±", "+"]])
def test_a_minus_beside_pluses_is_a_result(others: list[str]) -> None:
    cells = cells_of(["-", "?", "", *others])
    assert cells.rows_with(cells.missing).tolist() == [1, 2]
    named = cells_of(["-", *others], na_values=("-",))
    assert named.rows_with(named.missing).tolist() == [0]


@pytest.mark.parametrize("others", [["+1", "+2"], ["+", "positive"], [""], ["yes"]])
def test_a_minus_beside_anything_else_is_missing(others: list[str]) -> None:
    cells = cells_of(["-", *others])
    assert cells.missing[cells.column.codes[0]]


def test_a_column_is_numeric_from_four_fifths_on() -> None:
    assert cells_of(["1"] * 8 + ["x"] * 2).is_numeric
    assert not cells_of(["1"] * 7 + ["x"] * 2).is_numeric
    assert not cells_of([""] * 5).is_numeric


def test_numbers_that_are_too_large_are_no_words() -> None:
    cells = cells_of(["1", "2", "9e99", "inf", "-Infinity", "1e400", "-1e100"])
    assert cells.rows_with(cells.too_large).tolist() == [3, 4, 5, 6]
    assert not cells.words.any()


def test_decimal_commas_are_read_only_where_no_point_is_used() -> None:
    cells = cells_of(["1,5", "2", "-,25", "3,1e2"], decimal_comma=True)
    assert cells.style == "decimal commas"
    np.testing.assert_allclose(cells.numbers[cells.column.codes], [1.5, 2, -0.25, 310])
    mixed = cells_of(["1,5", "2.5", "3.5", "4.5", "5.5"], decimal_comma=True)
    assert mixed.style is None
    assert mixed.rows_with(mixed.words).tolist() == [0]
    assert cells_of(["1,5", "2,5"]).style == "decimal commas"  # quoted, where commas separate cells
    assert cells_of(["1,5", "2,5"], numeric=False, decimal_comma=True).style is None


def test_commas_among_words_stay_as_they_are() -> None:
    cells = cells_of(["1,5", "low", "mid", "high"], decimal_comma=True)
    assert (cells.is_numeric, cells.style) == (False, None)
    assert cells.canonical() == ["1,5", "low", "mid", "high"]


def test_cells_that_are_written_differently_have_one_canonical_text() -> None:
    assert set(cells_of(["1", "1.0", " 1 ", "TRUE", "true"]).canonical()) == {"1", "true"}
    assert cells_of(["1,50", "2"], decimal_comma=True).canonical() == ["1.5", "2"]
