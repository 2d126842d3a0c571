"""Mistakes that researchers make in files and specs, each with the one answer that tells them what to change."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
import pytest

from autoprog.cohort import CohortReadResult, parse_spec, read_cohort, to_parquet
from autoprog.errors import InvalidInputError, UnsupportedMediaError
from tests.cohort.tables import csv_of

N = 60
BINARY: dict[str, Any] = {"name": "test", "outcome": {"column": "died", "positive": 1}}
TIMES: dict[str, Any] = {
    "name": "test",
    "mode": "survival",
    "outcome": {"time": "months", "event": "status", "event_of_interest": 1},
}

Columns = dict[str, Sequence[object]]


def table(**columns: Sequence[object]) -> Columns:
    """Sixty patients without a mistake, and the columns given."""
    return {
        "died": [0, 1] * 30,
        "age": [40.5 + 7 * i % 31 for i in range(N)],
        "bmi": [20.25 + 37 * i % N / 4 for i in range(N)],
        "smoker": ["nie", "nie", "früher"] * 20,
        **columns,
    }


def times(**columns: Sequence[object]) -> Columns:
    """The same patients, each followed to an event or a censoring."""
    without = {name: values for name, values in table().items() if name != "died"}
    return {"months": [1 + 11 * i % N for i in range(N)], "status": [0, 1, 1] * 20, **without, **columns}


def changed(values: Sequence[object], **cells: object) -> list[object]:
    """The values, with others in some rows of the file, whose header is row 1: `row5=...`."""
    found = list(values)
    for row, cell in cells.items():
        found[int(row.removeprefix("row")) - 2] = cell
    return found


def with_comma(values: Sequence[object]) -> list[str]:
    return [str(value).replace(".", ",") for value in values]


def picture() -> bytes:
    """A PNG of one grey pixel."""
    header = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(b"\x00\x80")), (b"IEND", b""))
    chunks = (struct.pack(">I", len(x)) + kind + x + struct.pack(">I", zlib.crc32(kind + x)) for kind, x in parts)
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def workbook(*sheets: str) -> bytes:
    """Sheets of the patients and of notes, in this order."""
    frames = {
        "Patients": pd.DataFrame(table()),
        "Notes": pd.DataFrame({"note": ["exported in May", "by the registry"]}),
    }
    out = io.BytesIO()
    with pd.ExcelWriter(out, engine="openpyxl") as book:
        for name in sheets:
            frames[name].to_excel(book, sheet_name=name, index=False)
    return out.getvalue()


@dataclass(frozen=True)
class Mistake:
    """A file and a spec, and words of the answer."""

    content: bytes
    words: Sequence[str]
    place: str | None = None  # of a fault; None for a warning
    spec: dict[str, Any] = field(default_factory=lambda: BINARY)


def read(mistake: Mistake) -> CohortReadResult:
    return read_cohort(mistake.content, parse_spec(mistake.spec))


AGE, DIED, MONTHS = (f"/file/columns/{name}" for name in ("age", "died", "months"))
TEXT = csv_of(table()).decode()
ROWS = TEXT.splitlines()

REFUSED = {
    "empty file": Mistake(b"", ("the file is empty",), "/file"),
    "only a header": Mistake(ROWS[0].encode(), ("a header but no rows",), "/file"),
    "duplicate header": Mistake(
        csv_of(table(age2=table()["age"])).replace(b"age2", b"age"),
        ("column names must differ", "'age' (2 times)"),
        "/file",
    ),
    "ragged row": Mistake(
        "\n".join([*ROWS[:3], ROWS[3] + ",see letter", *ROWS[4:]]).encode(),
        ("1 row has 5 cells where the header has 4: row 4",),
        "/file",
    ),
    "quote that is not closed": Mistake(
        csv_of(table(ward=["A", "B"] * 30)).replace(b"A\n", b'"A\n', 1), ("row 2", "is never closed"), "/file"
    ),
    "wrong case of the outcome's name": Mistake(
        csv_of(table()),
        ("no column 'Died'", "did you mean 'died'?"),
        "/spec/outcome/column",
        {**BINARY, "outcome": {"column": "Died", "positive": 1}},
    ),
    "no column of the outcome": Mistake(
        csv_of({name: values for name, values in table().items() if name != "died"}),
        ("the file has no column 'died'",),
        "/spec/outcome/column",
    ),
    "value of the outcome that no patient has": Mistake(
        csv_of(table()),
        ("'yes' is not a value of column 'died'", "2 values, first in rows 2, 3"),
        "/spec/outcome/positive",
        {**BINARY, "outcome": {"column": "died", "positive": "yes"}},
    ),
    "constant outcome": Mistake(
        csv_of(table(died=[1] * N)), ("the same in every row", "needs two values"), DIED
    ),
    "three classes": Mistake(
        csv_of(table(died=[0, 1, 2] * 20)), ("3 values, first in rows 2, 3, 4", "classification needs two"), DIED
    ),
    "outcome missing in most rows": Mistake(
        csv_of(table(died=[0, 1, "", "", ""] * 12)), ("missing in 36 of 60 rows", "at most half"), DIED
    ),
    "too few with the outcome": Mistake(
        csv_of(table(died=[1] * 4 + [0] * 56)), ("4 patients with the outcome", "at least 5"), DIED
    ),
    "text among numbers": Mistake(
        csv_of(table(age=changed(table()["age"], row6="sixty"))), ("1 cell is no number: row 6", "na_values"), AGE
    ),
    "infinite number": Mistake(
        csv_of(table(age=changed(table()["age"], row9="inf"))), ("1 cell is infinite", "row 9"), AGE
    ),
    "negative time": Mistake(
        csv_of(times(months=changed(times()["months"], row5=-3))), ("1 time is negative: row 5",), MONTHS, TIMES
    ),
    "unknown code of the event": Mistake(
        csv_of(times(status=[0, 1, 1, 2] * 15)),
        ("column 'status' has 1 value, that of row 5 (15 rows)", "name what may come before the event of interest"),
        "/spec/outcome/competing",
        TIMES,
    ),
    "horizon beyond the follow-up": Mistake(
        csv_of(times()),
        ("120 is too far ahead", "0 patients are followed beyond it", "must be below 56"),
        "/spec/outcome/horizons/0",
        {**TIMES, "outcome": {**TIMES["outcome"], "horizons": [120]}},
    ),
    "wrong sheet": Mistake(
        workbook("Notes", "Patients"),
        ("no sheet 'Patient'", "'Notes', 'Patients'", "did you mean 'Patients'?"),
        "/spec/sheet",
        {**BINARY, "sheet": "Patient"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_fault_names_the_place_and_what_to_change(name: str) -> None:
    mistake = REFUSED[name]
    with pytest.raises(InvalidInputError) as caught:
        read(mistake)
    (fault,) = caught.value.faults
    assert fault.pointer == mistake.place
    assert [words for words in mistake.words if words not in fault.detail] == [], fault.detail


NO_TABLE = {
    "picture (PNG)": (picture(), "the file is a picture"),
    "picture (JPEG)": (b"\xff\xd8\xff\xe0\x00\x10JFIF\x00" + bytes(range(256)), "the file is a picture"),
    "PDF": (b"%PDF-1.7\n1 0 obj\n", "the file is a PDF"),
    "old workbook": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500), "save it as .xlsx"),
}


@pytest.mark.parametrize("name", NO_TABLE)
def test_file_that_is_no_table_is_named_with_the_formats_that_are_read(name: str) -> None:
    content, words = NO_TABLE[name]
    with pytest.raises(UnsupportedMediaError) as caught:
        read_cohort(content, parse_spec(BINARY))
    assert words in str(caught.value)
    assert "send CSV, gzipped CSV, Parquet, Excel (.xlsx)" in str(caught.value)


def test_table_without_a_mistake_has_no_warning() -> None:
    for content, spec in ((csv_of(table()), BINARY), (csv_of(times()), TIMES)):
        assert read(Mistake(content, (), None, spec)).warnings == ()


LABORATORY = [1.5, 2.5, 3.25, 4.75, 5.5, 6.25] * 10

WARNED = {
    "time 0": Mistake(
        csv_of(times(months=changed(times()["months"], row5=0))),
        ("1 of 60 rows was dropped", "the time 'months' is 0", "nothing to predict"),
        None,
        TIMES,
    ),
    "outcome missing in a row": Mistake(
        csv_of(table(died=changed(table()["died"], row5=""))), ("1 of 60 rows was dropped", "the outcome 'died'")
    ),
    "column without a value": Mistake(
        csv_of(table(crp=[""] * N)), ("column 'crp' has no value and was left out", "declare it in features")
    ),
    "constant column": Mistake(csv_of(table(country=["N"] * N)), ("column 'country' is constant", "left out")),
    "column of identifiers": Mistake(
        csv_of(table(patient_id=[7 * i * i + 3 for i in range(N)])),
        ("column 'patient_id' looks like an identifier and was left out",),
    ),
    "several rows of a patient who is identified": Mistake(
        csv_of(table(mrn=[1000 + i // 2 * 7 for i in range(N)])),
        ("30 rows have the identifier of an earlier row in column 'mrn'", "stay in one fold", "are copies"),
        None,
        BINARY | {"identifier": "mrn"},
    ),
    "several rows of a patient": Mistake(
        csv_of(table(mrn=[1000 + i // 2 * 7 for i in range(N)])),
        ("column 'mrn' looks like an identifier", "its values repeat: name it in groups if they are patients"),
    ),
    "column of what came later": Mistake(
        csv_of(table(days_in_ward=[i * 37 % 60 / 7 + 9 * (i % 2) for i in range(N)])),
        ("column 'days_in_ward' alone gives the outcome away (AUC 1.000)", "was it recorded after the outcome?"),
    ),
    "dates as text": Mistake(
        csv_of(table(admitted=[f"2020-{1 + i % 12:02}-{1 + i % 28:02}" for i in range(N)])),
        ("column 'admitted' holds dates and was left out", "kind 'date'", "relative_to"),
    ),
    "missing values as 999": Mistake(
        csv_of(table(crp=changed(LABORATORY, row4=999, row9=999))),
        ("column 'crp' is 999 in 2 rows", "far from its other values (1.5 to 6.25)", "name it in na_values"),
    ),
    "words for missing": Mistake(
        csv_of(table(crp=changed(LABORATORY, row4="n/a"))), ("'n/a' was read as missing in 'crp' (1 cell)",)
    ),
    "mostly missing column": Mistake(
        csv_of(table(crp=["" if i % 3 else 1.5 + i / 4 for i in range(N)])),
        ("column 'crp' is missing in 67% of the patients",),
    ),
    "percent signs": Mistake(
        csv_of(table(ejection=[f"{30 + i % 7 * 5} %" for i in range(N)])),
        ("column 'ejection' has percent signs", "each value is a category", "remove the signs"),
    ),
    "units in cells": Mistake(
        csv_of(table(pressure=[f"{90 + i % 12 * 5} mmHg" for i in range(N)])),
        ("column 'pressure' has numbers with the unit 'mmHg'", "each value is a category", "remove the unit"),
    ),
    "limits of detection": Mistake(
        csv_of(table(crp=changed(LABORATORY, row4="<0.5"))),
        ("1 cell of column 'crp' at a limit of detection ('<0.5') was read as the limit",),
    ),
    "duplicate rows": Mistake(
        csv_of({name: [*values, *values[:3]] for name, values in table().items()}),
        ("3 rows repeat an earlier row in every feature and the outcome",),
    ),
    "too few patients": Mistake(
        csv_of({name: values[:20] for name, values in table().items()}),
        ("the cohort has only 20 patients", "a model of so few should not be used"),
    ),
    "sheet that was not chosen": Mistake(
        workbook("Patients", "Notes"),
        ("the first, 'Patients', was read", "the others are 'Notes'", "choose one with `sheet`"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WARNED)
def test_warning_names_the_column_and_what_to_do(name: str) -> None:
    mistake = WARNED[name]
    (warning,) = read(mistake).warnings
    assert [words for words in mistake.words if words not in warning] == [], warning


def test_one_dose_beside_many_words_is_no_unit() -> None:
    result = read(Mistake(csv_of(table(drug=["20mg", "none of it", "as needed", "stopped", "unclear"] * 12)), ()))
    assert result.warnings == ()


@pytest.mark.parametrize("unit", ["mm Hg", "µmol/l", "/min", "kg/m²", "ml/min/1.73m2", "°C"])
def test_numbers_with_a_unit_that_all_differ_are_no_identifiers(unit: str) -> None:
    result = read(Mistake(csv_of(table(lab=[f"{20 + i / 2}{unit}" for i in range(N)])), ()))
    assert "lab" in [feature.name for feature in result.cohort.features]
    assert f"the unit '{unit}'" in result.warnings[0]


def test_percentages_that_all_differ_are_no_identifiers() -> None:
    result = read(Mistake(csv_of(table(ejection=[f"{20 + i / 2}%" for i in range(N)])), ()))
    assert "ejection" in [feature.name for feature in result.cohort.features]
    assert [text.partition(":")[0] for text in result.warnings] == [
        "column 'ejection' has percent signs, so each value is a category",
        "column 'ejection' has 60 levels; most will be rare",
    ]


def test_workbook_whose_first_sheet_is_another_names_the_other_sheets() -> None:
    with pytest.raises(InvalidInputError) as caught:
        read(Mistake(workbook("Notes", "Patients"), ()))
    assert [(fault.pointer, fault.detail) for fault in caught.value.faults] == [
        ("/spec/outcome/column", "the file has no column 'died'"),
        ("/spec/sheet", "only the first sheet, 'Notes', was read; the others are 'Patients'"),
    ]


COMMAS = {name: with_comma(values) if name in {"age", "bmi"} else values for name, values in table().items()}

UNDERSTOOD: dict[str, tuple[bytes, tuple[str, ...]]] = {
    "semicolons": (csv_of(table(), delimiter=";"), ()),
    "tabs": (csv_of(table(), delimiter="\t"), ()),
    "blank lines and blanks around cells": (TEXT.replace(",", " , ").replace("\n", "\n\n").encode(), ()),
    "decimal commas": (csv_of(COMMAS, delimiter=";"), ("commas were read as decimal points in 'age', 'bmi'",)),
    "Windows-1252": (
        TEXT.encode("cp1252"),
        ("the file is not UTF-8 and was read as Windows-1252: check 'ü' in row 4",),
    ),
    "UTF-16": (TEXT.encode("utf-16"), ("the file is UTF-16 and was converted to UTF-8",)),
    "row names of R": (
        csv_of({"": range(1, N + 1), **table()}),
        ("the first column has no name and was left out: it holds row names, as R and pandas write them",),
    ),
}


@pytest.mark.parametrize("name", UNDERSTOOD)
def test_file_in_another_form_gives_the_same_cohort_and_says_what_was_converted(name: str) -> None:
    content, warnings = UNDERSTOOD[name]
    result = read(Mistake(content, ()))
    assert result.warnings == warnings
    assert to_parquet(result.cohort) == to_parquet(read(Mistake(csv_of(table()), ())).cohort)
