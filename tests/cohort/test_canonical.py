from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoprog.cohort.canonical import canonical_text, parse_number, parse_numbers, short

NUMBER_LIKE = st.text(alphabet="0123456789+-.eExX_, infa", max_size=12).map(str.strip)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ((1, 1.0, "1", " 1.00 ", "1e0", "+1", "01", np.int64(1), np.float32(1)), "1"),
        ((True, "true", "TRUE", " True", np.bool_(True)), "true"),
        ((False, "false", "False"), "false"),
        ((0.5, "0.5", ".5", "5e-1"), "0.5"),
        ((0, -0.0, "-0", "0.0"), "0"),
        (("yes", " yes "), "yes"),
        (("Yes",), "Yes"),
        ((2**53 + 1, "9007199254740993", "+9007199254740993"), "9007199254740993"),
        (("1_000",), "1_000"),
        (("1e999",), "1e999"),
    ],
)
def test_values_written_differently_meet(values: tuple[object, ...], text: str) -> None:
    assert {canonical_text(value) for value in values} == {text}


@given(
    st.one_of(st.text(), NUMBER_LIKE, st.floats(allow_nan=False, allow_infinity=False), st.integers(), st.booleans())
)
def test_canonical_text_is_its_own_canonical_text(value: object) -> None:
    text = canonical_text(value)
    assert canonical_text(text) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_survives_its_canonical_text(number: float) -> None:
    assert float(canonical_text(number)) == number
    assert canonical_text(repr(number)) == canonical_text(number)


@given(st.lists(NUMBER_LIKE, max_size=6))
def test_numbers_of_many_texts_are_the_numbers_of_each(texts: list[str]) -> None:
    one_by_one = [parse_numbers(pa.array([text], pa.large_string()))[0] for text in texts]
    np.testing.assert_array_equal(parse_numbers(pa.array(texts, pa.large_string())), one_by_one)
    np.testing.assert_array_equal([parse_number(text) for text in texts], one_by_one)


def test_infinite_texts_and_words() -> None:
    assert parse_number("-Infinity") == -math.inf
    assert parse_number("1e999") == math.inf
    assert math.isnan(parse_number("nan"))
    assert math.isnan(parse_number("12 mg"))
    assert math.isnan(parse_number("\N{FULLWIDTH DIGIT ONE}"))


def test_a_quoted_text_is_cut_and_printable() -> None:
    assert short("a" * 30) == "'" + "a" * 24 + "\N{HORIZONTAL ELLIPSIS}'"
    assert short("a\nb") == "'a\N{REPLACEMENT CHARACTER}b'"
