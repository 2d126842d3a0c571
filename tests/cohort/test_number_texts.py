from __future__ import annotations

import math

import pyarrow as pa
import pytest

from autoprog.cohort.number_texts import read_number_texts
from tests.cohort.tables import read, the_fault, twenty


@pytest.mark.parametrize(
    ("texts", "decimal_comma", "numbers", "style"),
    [
        (["1", "2.5"], False, [1, 2.5], None),
        (["1,5", "2"], False, [1.5, 2], "decimal commas"),
        (["1,234", "5"], False, [1234, 5], "thousands separators"),
        (["1,234", "5"], True, [1.234, 5], "decimal commas"),
        (["1,234", "5,6"], False, [1.234, 5.6], "decimal commas"),
        (["1,234", "5.6"], True, [1234, 5.6], "thousands separators"),
        (["1,234,567", "1,234.5"], True, [1234567, 1234.5], "thousands separators"),
        (["1.234,5", "2.345"], False, [1234.5, 2345], "decimal commas"),
        (["1 234,5", "1'000"], False, [1234.5, 1000], "decimal commas"),
        (["1 234", "56"], False, [1234, 56], "thousands separators"),
        (["1,234,567", "0,5"], False, [math.nan, math.nan], None),
        (["1,23,4", "1 23"], False, [math.nan, math.nan], None),
    ],
)
def test_a_column_is_read_in_the_style_that_all_its_cells_allow(
    texts: list[str], decimal_comma: bool, numbers: list[float], style: str | None
) -> None:
    found = read_number_texts(pa.array(texts, pa.large_string()), decimal_comma=decimal_comma)
    assert found.numbers.tolist() == pytest.approx(numbers, nan_ok=True)
    if not math.isnan(numbers[0]):
        assert found.style == style


def test_cells_below_a_limit_are_read_as_the_limit_with_a_warning() -> None:
    result = read(twenty(crp=["<0.5", "1.5", "2.5", "3", ">= 90"] * 4))
    assert result.cohort.X[:5, 1].tolist() == [0.5, 1.5, 2.5, 3, 90]
    assert any("8 cells of column 'crp' at a limit of detection (" in text for text in result.warnings)


def test_age_groups_are_no_limits_of_detection() -> None:
    result = read(twenty(group=["<40", "40-60", ">60", "<40", ">60"] * 4))
    assert result.cohort.features[1].levels == ("<40", "40-60", ">60")
    assert read(twenty(group=["<40", ">=40"] * 10)).cohort.features[1].levels == ("<40", ">=40")


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([1, 2, 3, 4, 999] * 4, "column 'x' is 999 in 4 rows, far from its other values (1 to 4)"),
        ([1.5, 2, 3, 4, -9] * 4, "column 'x' is -9 in 4 rows"),
        ([20, 30, 60, 90, 99] * 4, None),
        ([-3, -1, 2, 4, 5] * 4, None),
        ([1, 2, 3, 4, 5, 6, 7, 8, 9, 4] * 2, None),
    ],
)
def test_repeated_codes_far_outside_a_column_are_suspected(values: list[float], words: str | None) -> None:
    found = [text for text in read(twenty(x=values)).warnings if "if it means missing" in text]
    assert [words in text for text in found if words] == ([True] if words else [])
    assert len(found) == (words is not None)


def test_twenty_patients_are_warned_of() -> None:
    assert any("the cohort has only 20 patients" in text for text in read(twenty(x=[1, 2, 3, 4, 5] * 4)).warnings)


def test_a_number_that_cannot_be_read_is_a_fault() -> None:
    assert "4 cells are no numbers" in the_fault(twenty(x=[1, 2, 3, 4, "5 kg"] * 4), "/file/columns/x")
