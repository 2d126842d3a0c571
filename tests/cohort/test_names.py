"""Names that would not be what they look like."""

from __future__ import annotations

import io
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from autoprog.cohort import CohortSpec, judge_spec, read_cohort
from autoprog.errors import InvalidInputError

ROWS = "\n".join(f"{50 + i * i % 7},{i % 3},{i % 2}" for i in range(20))
SPEC = CohortSpec.model_validate({"name": "ward 7", "outcome": {"column": "died", "positive": 1}})
HIDDEN = ["a\u202eb", "a\u2066b", "\u200ea", "a\u061cb", "a\x00b", "a\x1bb", "a\x7fb", "a\u2028b", "a\tb"]


@pytest.mark.parametrize("name", [name for name in HIDDEN if "\0" not in name])  # which no CSV may hold anyhow
def test_a_column_whose_name_is_not_what_is_seen_is_a_fault(name: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        read_cohort(f'"{name}",x,died\n{ROWS}\n'.encode(), SPEC)
    assert "a column's name holds control or bidirectional characters" in str(caught.value)
    assert "number 1" in str(caught.value)


@pytest.mark.parametrize("name", HIDDEN)
def test_so_is_the_name_of_a_cohort(name: str) -> None:
    _, faults = judge_spec({"name": name, "outcome": {"column": "died", "positive": 1}})
    assert [fault.pointer for fault in faults] == ["/spec/name"]


@pytest.mark.parametrize("name", ["Größe", "عمر", "возраст", "年齢", "age (years)", "می\u200cشود", "👩\u200d⚕️"])
def test_names_of_all_languages_are_names(name: str) -> None:
    intake = read_cohort(f"{name},x,died\n{ROWS}\n".encode(), SPEC)
    assert [feature.name for feature in intake.cohort.features] == [name, "x"]


def test_a_key_that_stands_twice_in_a_spec_is_a_fault() -> None:
    text = '{"name": "a", "outcome": {"column": "died", "positive": 1, "positive": 0}}'
    assert [fault.pointer for fault in judge_spec(text)[1]] == ["/spec/outcome/positive"]


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_columns_are_counted_before_anything_else_is_looked_at(kind: str) -> None:
    names = [f"died{i}" for i in range(60_000)]
    content = (",".join(names) + "\n" + ",".join("1" for _ in names)).encode()
    if kind == "parquet":
        file = io.BytesIO()
        pq.write_table(pa.table({name: pa.array([1]) for name in names}), file)
        content = file.getvalue()
    began = time.thread_time()
    with pytest.raises(InvalidInputError) as caught:
        read_cohort(content, SPEC)
    assert time.thread_time() - began < 10
    assert str(caught.value) == "/file: the file has 60,000 columns; at most 5,000 are read"
