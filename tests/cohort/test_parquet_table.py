from __future__ import annotations

import datetime as dt
import io
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from autoprog.cohort import describe_file, read_cohort
from autoprog.cohort.table import ReadLimits, parse_parquet
from autoprog.errors import TooLargeError, UnsupportedMediaError
from tests.cohort.tables import find_faults, spec_of, twenty

LIMITS = ReadLimits()


def parquet_of(table: pa.Table) -> bytes:
    out = io.BytesIO()
    pq.write_table(table, out)
    return out.getvalue()


def test_every_type_with_a_text_is_read() -> None:
    table = pa.table(
        {
            "integer": pa.array([1, None], pa.int16()),
            "real": pa.array([0.1, None]),
            "single": pa.array([0.1, None], pa.float32()),
            "boolean": [True, None],
            "text": [" yes ", None],
            "category": pa.array(["a", None]).dictionary_encode(),
            "date": [dt.date(2026, 11, 21), None],
            "decimal": [Decimal("1.50"), None],
            "nothing": pa.nulls(2),
        }
    )
    parsed = parse_parquet(parquet_of(table), LIMITS)
    assert parsed.faults == ()
    assert parsed.table is not None
    assert parsed.table.lines.tolist() == [1, 2]
    cells = {name: [c.texts.to_pylist()[code] for code in c.codes] for name, c in parsed.table.columns.items()}
    assert cells == {
        "integer": ["1", ""],
        "real": ["0.1", ""],
        "single": ["0.1", ""],
        "boolean": ["true", ""],
        "text": ["yes", ""],
        "category": ["a", ""],
        "date": ["2026-11-21", ""],
        "decimal": ["1.50", ""],
        "nothing": ["", ""],
    }


def test_parquet_and_csv_of_the_same_patients_are_the_same_cohort() -> None:
    rng = np.random.default_rng(0)
    columns = twenty(bmi=rng.normal(25, 4, 20).tolist(), sex=["f", "m", "m", "f"] * 5, group=list("abcab") * 4)
    frame = pd.DataFrame(columns).astype({"group": "category"})
    frame.loc[3, ["bmi", "sex"]] = None
    from_parquet = read_cohort(parquet_of(pa.Table.from_pandas(frame)), spec_of()).cohort
    from_csv = read_cohort(frame.to_csv(index=False).encode(), spec_of()).cohort
    assert from_parquet.features == from_csv.features
    np.testing.assert_array_equal(from_parquet.X, from_csv.X)
    np.testing.assert_array_equal(from_parquet.y, from_csv.y)


def test_structural_and_content_faults_come_at_once() -> None:
    columns = [*(pa.array(values) for values in twenty(bmi=[1.5] * 19 + [np.inf]).values()), pa.array([[1]] * 20)]
    table = pa.Table.from_arrays([*columns, columns[1]], names=["died", "age", "bmi", "list", "age"])
    faults = {fault.pointer: fault.detail for fault in find_faults(parquet_of(table))}
    assert faults.keys() == {"/file", "/file/columns/list", "/file/columns/bmi"}
    assert "repeated are 'age' (2 times)" in faults["/file"]
    assert "list<" in faults["/file/columns/list"]
    assert faults["/file/columns/bmi"] == "1 cell is infinite or beyond 1e+100: row 20"


def test_a_file_without_rows_or_with_too_many_columns_is_a_fault() -> None:
    (fault,) = parse_parquet(parquet_of(pa.table({"a": pa.array([], pa.int64())})), LIMITS).faults
    assert fault.detail == "the file has columns but no rows"
    wide = pa.table({f"c{i}": [1] for i in range(6)})
    (fault,) = parse_parquet(parquet_of(wide), ReadLimits(columns=5)).faults
    assert fault.detail == "the file has 6 columns; at most 5 are read"


def test_sizes_are_checked_before_anything_is_decompressed() -> None:
    content = parquet_of(pa.table({"a": np.zeros(2_000_000)}))
    assert len(content) < 20_000
    with pytest.raises(TooLargeError, match="at most 1,000,000 cells"):
        parse_parquet(content, ReadLimits(cells=1_000_000))
    noise = parquet_of(pa.table({"a": np.random.default_rng(0).normal(size=2_000)}))
    with pytest.raises(TooLargeError, match="bytes uncompressed; at most 10,000"):
        parse_parquet(noise, ReadLimits(decompressed_bytes=10_000))


def test_a_name_that_is_no_utf_8_is_a_damaged_file() -> None:
    content = parquet_of(pa.table(twenty(marker=[1.5] * 20)))
    assert content.count(b"marker") >= 2
    with pytest.raises(UnsupportedMediaError, match="damaged"):
        parse_parquet(content.replace(b"marker", b"mark\xe4r"), LIMITS)


def test_numbers_too_close_for_a_histogram_have_none() -> None:
    close = [1.0, np.nextafter(1.0, 2.0)] * 10
    described = describe_file(parquet_of(pa.table(twenty(close=close, wide=list(range(20))))), LIMITS)
    bins = {column.name: column.bins for column in described.columns}
    assert bins["close"] == ()
    assert sum(bins["wide"]) == 20


def test_a_long_text_repeated_often_is_held_once() -> None:
    text = "x" * 10_000
    repeated = pa.DictionaryArray.from_arrays(pa.array(np.zeros(200_000, np.int32)), pa.array([text]))
    content = parquet_of(pa.table({"a": repeated}))  # 2 GB if every cell were written out
    assert len(content) < 100_000
    parsed = parse_parquet(content, LIMITS)
    assert parsed.table is not None
    assert parsed.table.columns["a"].texts.to_pylist() == [text]
