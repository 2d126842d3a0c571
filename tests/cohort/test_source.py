from __future__ import annotations

import gzip
import io
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from autoprog.cohort.source import read_table
from autoprog.cohort.table import ReadLimits
from autoprog.errors import InvalidInputError, TooLargeError, UnsupportedMediaError

CSV = b"a,b\n1,2\n3,4\n"
SMALL = ReadLimits(decompressed_bytes=1_000_000)


def parquet_of(table: pa.Table) -> bytes:
    out = io.BytesIO()
    pq.write_table(table, out)
    return out.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        CSV,
        gzip.compress(CSV, mtime=0),
        gzip.compress(CSV[:5], mtime=0) + gzip.compress(CSV[5:], mtime=0),
        parquet_of(pa.table({"a": [1, 3], "b": [2, 4]})),
        gzip.compress(parquet_of(pa.table({"a": [1, 3], "b": [2, 4]})), mtime=0),
    ],
    ids=["csv", "gzip", "gzip in two members", "parquet", "gzipped parquet"],
)
def test_content_tells_the_format_not_the_name(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "cohort.xlsx"
    path.write_bytes(content)
    for source in (content, path):
        parsed = read_table(source, ReadLimits())
        assert parsed.faults == ()
        assert parsed.table is not None
        assert {name: c.texts.to_pylist() for name, c in parsed.table.columns.items()} == {
            "a": ["1", "3"],
            "b": ["2", "4"],
        }


def test_a_gzip_bomb_is_decompressed_up_to_the_limit_only() -> None:
    zeros = gzip.compress(b"0" * 50_000_000)
    assert len(zeros) < 100_000
    with pytest.raises(TooLargeError, match="more than 1,000,000 bytes once decompressed"):
        read_table(zeros, SMALL)


def test_a_large_file_is_read_up_to_the_limit_only(tmp_path: Path) -> None:
    path = tmp_path / "large.csv"
    path.write_bytes(b"a,b\n" * 300_000)
    with pytest.raises(TooLargeError, match="more than 1,000,000 bytes"):
        read_table(path, SMALL)


@pytest.mark.parametrize("cut", [5, 12, 25])
def test_damaged_gzip_is_a_fault(cut: int) -> None:
    with pytest.raises(InvalidInputError, match="gzip data is damaged or ends early"):
        read_table(gzip.compress(CSV)[:cut], SMALL)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"PK\x03\x04" + b"x" * 50, "begins as an Excel workbook but is damaged"),
        (b"%PDF-1.7 ...", "a PDF"),
        (bytes(range(256)), "no text"),
        (gzip.compress(gzip.compress(CSV, mtime=0), mtime=0), "no text"),
        (b"PAR1" + b"\x00" * 40, "begins as Parquet but is damaged"),
        (parquet_of(pa.table({"a": [1]}))[:-20], "begins as Parquet but is damaged"),
    ],
    ids=["Excel", "PDF", "bytes", "gzip in gzip", "only the magic of Parquet", "cut Parquet"],
)
def test_what_is_none_of_the_three_is_refused(content: bytes, words: str) -> None:
    with pytest.raises(UnsupportedMediaError, match=words):
        read_table(content, SMALL)


def test_utf_16_is_converted_with_a_warning_and_a_fault_if_it_is_damaged() -> None:
    parsed = read_table("a,b\n1,ö\n".encode("utf-16"), SMALL)
    assert (parsed.faults, parsed.warnings) == ((), ("the file is UTF-16 and was converted to UTF-8",))
    assert parsed.table is not None
    assert parsed.table.columns["b"].texts.to_pylist() == ["ö"]
    with pytest.raises(InvalidInputError, match="begins as UTF-16 but is damaged"):
        read_table("a,b\n1,2\n".encode("utf-16")[:-1], SMALL)


@pytest.mark.parametrize("line", [b"1,2\n", b"1\n", b"\n"], ids=["sound", "ragged", "blank"])
def test_a_hundred_million_lines_are_refused_before_they_are_parsed(line: bytes) -> None:
    """Fifty kilobytes as sent; parsing them took minutes and gigabytes."""
    limits = ReadLimits(rows=100_000)
    with pytest.raises(TooLargeError, match="the file has 3,000,001 lines; at most 100,000 are read"):
        read_table(gzip.compress(b"a,b\n" + line * 3_000_000), limits)


def test_rows_of_parquet_are_limited_too() -> None:
    with pytest.raises(TooLargeError, match="the file has 11 rows; at most 10 are read"):
        read_table(parquet_of(pa.table({"a": range(11)})), ReadLimits(rows=10))
