"""Small files for the tests of the reader."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence

import pytest

from autoprog.cohort import CohortReadResult, CohortSpec, parse_spec, read_cohort
from autoprog.errors import Fault, InvalidInputError


def spec_of(**changes: object) -> CohortSpec:
    """A spec whose outcome is `died`, 1 meaning yes."""
    return parse_spec({"name": "test", "outcome": {"column": "died", "positive": 1}, **changes})


def csv_of(columns: Mapping[str, Sequence[object]], delimiter: str = ",") -> bytes:
    """A CSV file of these columns."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return out.getvalue().encode()


def twenty(**columns: Sequence[object]) -> dict[str, Sequence[object]]:
    """Twenty patients, ten with the outcome; an age, which is not all distinct; and the columns given."""
    return {"died": [0, 1] * 10, "age": [40.5, 50, 60, 70.5, 80] * 4, **columns}


def read(columns: Mapping[str, Sequence[object]], **spec: object) -> CohortReadResult:
    """Read these columns as a CSV file."""
    return read_cohort(csv_of(columns), spec_of(**spec))


def find_faults(source: bytes | Mapping[str, Sequence[object]], **spec: object) -> tuple[Fault, ...]:
    """The faults that reading this file raises."""
    content = source if isinstance(source, bytes) else csv_of(source)
    with pytest.raises(InvalidInputError) as caught:
        read_cohort(content, spec_of(**spec))
    return caught.value.faults


def the_fault(source: bytes | Mapping[str, Sequence[object]], pointer: str, **spec: object) -> str:
    """The text of the one fault that reading this file raises."""
    faults = find_faults(source, **spec)
    assert [fault.pointer for fault in faults] == [pointer], faults
    return faults[0].detail
