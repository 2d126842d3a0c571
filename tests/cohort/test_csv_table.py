from __future__ import annotations

import csv
import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autoprog.cohort.csv_table import DELIMITERS, parse_csv, sniff_delimiter
from autoprog.cohort.table import ReadLimits, Table
from autoprog.errors import TooLargeError

LIMITS = ReadLimits()


def texts_of(table: Table, name: str) -> list[str]:
    column = table.columns[name]
    texts = column.texts.to_pylist()
    return [texts[code] for code in column.codes]


def sound(data: bytes) -> Table:
    parsed = parse_csv(data, LIMITS)
    assert parsed.faults == ()
    assert parsed.table is not None
    return parsed.table


def test_quoted_cells_hold_delimiters_quotes_and_line_ends() -> None:
    table = sound(b'a,b\n"x,1","say ""no"""\n"two\nlines",3\nlast,4\n')
    assert texts_of(table, "a") == ["x,1", "two\nlines", "last"]
    assert texts_of(table, "b") == ['say "no"', "3", "4"]
    assert table.lines.tolist() == [2, 3, 5]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_are_counted_past_blank_ones_whatever_ends_them(end: str) -> None:
    table = sound(end.join(["\ufeff  ", "a,b", "1,2", "", "3,4", "   ", "5,6", ""]).encode())
    assert list(table.columns) == ["a", "b"]
    assert table.lines.tolist() == [3, 5, 7]
    assert texts_of(table, "b") == ["2", "4", "6"]


def test_blanks_around_cells_and_names_do_not_count() -> None:
    table = sound(b" a , b\n 1 ,x \n1, x\n")
    assert texts_of(table, "a") == ["1", "1"]
    assert texts_of(table, "b") == ["x", "x"]


@given(
    st.sampled_from(DELIMITERS),
    st.integers(2, 5),
    st.lists(st.lists(st.text("ab1,;|\t\"\n 'é", max_size=6), min_size=5, max_size=5), min_size=1, max_size=8),
)
@settings(max_examples=200, deadline=None)
def test_what_was_written_is_read_back(delimiter: str, width: int, rows: list[list[str]]) -> None:
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow([f"column {i}" for i in range(width)])
    writer.writerows(row[:width] for row in rows)
    table = sound(out.getvalue().encode())
    for i in range(width):
        assert texts_of(table, f"column {i}") == [row[i].strip() for row in rows]
    starts = np.cumsum([2] + [1 + sum(cell.count("\n") for cell in row[:width]) for row in rows[:-1]])
    assert table.lines.tolist() == starts.tolist()


@pytest.mark.parametrize("delimiter", DELIMITERS)
def test_each_delimiter_is_recognised(delimiter: str) -> None:
    rows = [["id", "value", "note"], ["1", "3.5", "none"], ["2", "", "see above"]]
    assert sniff_delimiter("\n".join(delimiter.join(row) for row in rows)) == delimiter


def test_decimal_commas_do_not_pass_for_delimiters() -> None:
    assert sniff_delimiter("age;bmi;note, if any\n63;21,5;x\n64;30,1;y\n") == ";"
    assert sniff_delimiter("age, years;bmi;x\n6,3;21,5;1\n6,4;30,1;1\n") == ";"


def test_an_empty_cell_of_a_single_column_is_a_row_and_an_empty_line_is_none() -> None:
    table = sound(b'a\n1\n""\n\n3\n')
    assert texts_of(table, "a") == ["1", "", "3"]
    assert table.lines.tolist() == [2, 3, 5]


def test_one_ragged_row_does_not_hide_the_delimiter() -> None:
    parsed = parse_csv(b"a,b,c;d\n" + b"1,2,3;4\n" * 20 + b"1,2\n", LIMITS)
    assert parsed.names == ("a", "b", "c;d")


def test_a_sample_cut_in_mid_row_is_sniffed() -> None:
    cell = "x" * 3_000
    assert sniff_delimiter("a;b\n" + f"{cell};{cell}\n" * 40) == ";"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "the file is empty"),
        (b"\xef\xbb\xbf \n\n", "the file is empty"),
        (b'""\n\n', "the file is empty"),
        (b"a,b\n", "a header but no rows"),
        (b"a,a,b\n1,2,3\n", "column names must differ; repeated are 'a' (2 times)"),
        (b"a,,b,\n1,2,3,4\n", "2 columns without a name: number 2, 4"),
        (b"a,b\n1,2\n3\n4,5,6\n7,8\n9,1\n", "2 rows have 1 or 3 cells where the header has 2: rows 3, 4"),
        (
            b"Registry\n\na,b\n1,2\n3,4\n",
            "3 rows have 2 cells where the header has 1: rows 3, 4, 5; the names of the columns",
        ),
        (
            b"Registry,,\na,b,c\n1,2,3\n",
            "2 columns without a name: number 2, 3; the names of the columns must stand in the",
        ),
        (b"a,b\n1,2\n3,\xe9\n", "the file is not UTF-8: byte 0xe9 at offset 10 (row 3); save it as UTF-8"),
        (b"\xef\xbb\xbfa,b\r\n1,2\r\n3,\xe9\r\n", "byte 0xe9 at offset 15 (row 3)"),
        (b"a,b\n1,\x002\n3,\x004\n", "2 NUL bytes, the first in row 2"),
        (b'a,b\n1,2\n"3,4\n5,6\n', "a quoted cell that starts in row 3 is never closed"),
        (b'a,b\n1,2\n"3"x,4\n', "row 3 has text after a closing quote"),
        (b'"a,b\n1,2\n', "a quoted cell that starts in row 1 is never closed"),
        (b"a,b\n1," + b"x" * 140_000 + b"\n", "a cell in row 2 has more than 131,072 characters"),
        (b"a,b" + b"," + b"c" * 201 + b"\n1,2,3\n", "more than 200 characters: number 3"),
    ],
)
def test_structural_faults_are_named(data: bytes, words: str) -> None:
    (fault,) = parse_csv(data, LIMITS).faults
    assert fault.pointer == "/file"
    assert words in fault.detail


def test_structural_faults_come_at_once() -> None:
    parsed = parse_csv(b"a,a,\n1,2,3\n1,\x002\n1,\xff,3\n4,5,6\n", LIMITS)
    text = " ".join(fault.detail for fault in parsed.faults)
    for words in ("NUL", "0xff at offset 18 (row 4)", "without a name", "must differ", "1 row has 2 cells"):
        assert words in text
    assert parsed.table is not None
    assert parsed.table.lines.tolist() == [2, 4, 5]


def test_thousands_of_ragged_rows_are_counted_and_the_rest_not_judged() -> None:
    parsed = parse_csv(b"a,b\n" + b"1\n" * 3_000 + b"1,2\n" * 10, LIMITS)
    (fault,) = parsed.faults
    assert fault.detail == "3,000 rows have 1 cell where the header has 2: rows 2, 3, 4, 5, 6 and 2,995 more"
    assert parsed.table is None


def test_too_many_columns_are_a_fault_and_too_many_cells_stop_the_reading() -> None:
    wide = ",".join(f"c{i}" for i in range(5_001)).encode() + b"\n"
    (fault,) = parse_csv(wide, LIMITS).faults
    assert fault.detail == "the file has 5,001 columns; at most 5,000 are read"
    with pytest.raises(TooLargeError, match="more than 10 cells"):
        parse_csv(b"a,b\n" + b"1,2\n" * 6, ReadLimits(cells=10))


def test_a_cell_is_bounded_whatever_another_library_has_set() -> None:
    before = csv.field_size_limit(10**9)
    try:
        (fault,) = parse_csv(b"a,b\n1," + b"x" * 140_000 + b"\n", LIMITS).faults
    finally:
        csv.field_size_limit(before)
    assert "more than 131,072 characters" in fault.detail
