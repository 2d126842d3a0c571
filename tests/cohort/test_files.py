"""Files as they lie on a researcher's disk: the same cohort from each format, and hostile ones."""

from __future__ import annotations

import gzip
import hashlib
import io
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import openpyxl
import pandas as pd
import pyreadstat
import pytest
from sklearn.datasets import load_iris

from autoprog.cohort import (
    CohortReadResult,
    ReadLimits,
    parse_spec,
    read_cohort,
    read_named,
    read_patients,
    to_parquet,
)
from autoprog.cohort.data_file import recognise
from autoprog.errors import AutoprogError, InvalidInputError, TooLargeError, UnsupportedMediaError
from tests.cohort.tables import spec_of

N = 60
CODES = {"no": 1, "yes": 2}


def patients() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "died": [0, 1] * (N // 2),
            "age": rng.normal(60, 9, N).round(1),
            "smoker": rng.choice(["no", "yes"], N),
            "crp": np.where(rng.random(N) < 0.2, np.nan, rng.normal(5, 1, N).round(2)),
        }
    )


def coded() -> pd.DataFrame:
    return patients().assign(smoker=lambda frame: frame["smoker"].map(CODES).astype(float))


LABELS = {"smoker": {code: word for word, code in CODES.items()}}


def write_sav(path: Path) -> None:
    frame = coded()
    frame["crp"] = frame["crp"].fillna(-9.0)
    pyreadstat.write_sav(frame, str(path), variable_value_labels=LABELS, missing_ranges={"crp": [-9.0]})


def write_old_sheets(path: Path) -> None:
    with pd.ExcelWriter(path) as book:
        patients().to_excel(book, sheet_name="Patients", index=False)
        pd.DataFrame({"note": ["x"]}).to_excel(book, sheet_name="Notes", index=False)


WRITERS: dict[str, Callable[[Path], object]] = {
    "csv": lambda path: patients().to_csv(path, index=False),
    "tab": lambda path: patients().to_csv(path, index=False, sep="\t"),
    "decimal commas": lambda path: patients().to_csv(path, index=False, sep=";", decimal=","),
    "quoted decimal commas": lambda path: patients().to_csv(path, index=False, decimal=",", quoting=1),
    "write.csv": lambda path: patients().to_csv(path),
    "utf-16": lambda path: patients().to_csv(path, index=False, encoding="utf-16"),
    "parquet": lambda path: patients().to_parquet(path),
    "xlsx": lambda path: patients().to_excel(path.with_suffix(".xlsx"), index=False),
    "xlsx with row names": lambda path: patients().to_excel(path.with_suffix(".xlsx")),
    "dta": lambda path: patients().to_stata(path, write_index=False),
    "dta 114": lambda path: patients().to_stata(path, write_index=False, version=114),
    "dta with labels": lambda path: pyreadstat.write_dta(coded(), str(path), variable_value_labels=LABELS),
    "sav": write_sav,
}


def digest(result: CohortReadResult) -> str:
    return hashlib.sha256(to_parquet(result.cohort)).hexdigest()


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_same_stored_cohort(name: str, tmp_path: Path) -> None:
    WRITERS[name](tmp_path / "file")
    (path,) = tmp_path.iterdir()
    reference = read_cohort(patients().to_csv(index=False).encode(), spec_of())
    assert digest(read_cohort(path, spec_of())) == digest(reference)
    rows = read_patients(path, reference.cohort.features)
    assert rows == read_patients(patients().to_csv(index=False).encode(), reference.cohort.features)


def test_file_of_sas_gives_the_stored_cohort_of_its_values() -> None:
    """SAS itself wrote this file, as pyreadstat cannot; its words have at most six letters."""
    packed = (Path(__file__).parents[1] / "data" / "iris.sas7bdat.gz").read_bytes()
    content = gzip.decompress(packed)
    iris = load_iris(as_frame=True)
    frame = iris.frame.set_axis(["Sepal_Length", "Sepal_Width", "Petal_Length", "Petal_Width", "Species"], axis=1)
    frame["Species"] = [iris.target_names[code][:6] for code in iris.target]
    table = frame.to_csv(index=False).encode()
    outcome = {
        "time": "Petal_Length",
        "event": "Species",
        "censored": "setosa",
        "event_of_interest": "virgin",
        "competing": ["versic"],
    }
    spec = parse_spec({"name": "iris", "mode": "survival", "outcome": outcome})
    assert recognise(content) == "sas7bdat"
    reference = read_cohort(table, spec)
    assert reference.cohort.n_patients == 150
    assert digest(read_cohort(content, spec)) == digest(read_cohort(packed, spec)) == digest(reference)
    features = reference.cohort.features
    assert read_patients(content, features) == read_patients(table, features)


def test_the_first_sheet_is_read_with_a_warning_unless_another_is_chosen(tmp_path: Path) -> None:
    write_old_sheets(tmp_path / "book.xlsx")
    content = (tmp_path / "book.xlsx").read_bytes()
    warnings = read_cohort(content, spec_of()).warnings
    assert any("the first, 'Patients', was read; the others are 'Notes'" in text for text in warnings)
    assert not read_cohort(content, spec_of(sheet="Patients")).warnings
    with pytest.raises(InvalidInputError, match="no sheet 'Patient'; it has 'Patients', 'Notes'; did you mean"):
        read_cohort(content, spec_of(sheet="Patient"))
    with pytest.raises(InvalidInputError, match="only an Excel workbook has sheets"):
        read_cohort(patients().to_csv(index=False).encode(), spec_of(sheet="Patients"))


def test_patients_are_read_from_the_sheet_that_is_chosen(tmp_path: Path) -> None:
    frame = patients()
    cohort = read_cohort(frame.to_csv(index=False).encode(), spec_of()).cohort
    with pd.ExcelWriter(tmp_path / "book.xlsx") as book:
        for year, part in (("2019", frame[:40]), ("2020", frame[40:])):
            part.to_excel(book, sheet_name=year, index=False)
    first = read_named(tmp_path / "book.xlsx", cohort.outcome, cohort.features)
    assert len(first.patients) == 40
    assert "the first, '2019', was read; the others are '2020'" in first.warnings[0]
    second = read_named(tmp_path / "book.xlsx", cohort.outcome, cohort.features, names="age", sheet="2020")
    assert second.names == tuple(f"{age:g}" for age in frame["age"][40:])
    assert not second.warnings


def test_a_sheet_may_have_blank_rows_dates_errors_and_notes_beside_the_table() -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append([])
    sheet.append(["died", "age", "ok"])
    for i in range(20):
        sheet.append([i % 2, "#N/A" if i == 3 else 40.5 + i % 5, i % 3 == 0])
    out = io.BytesIO()
    book.save(out)
    result = read_cohort(out.getvalue(), spec_of())
    assert [feature.name for feature in result.cohort.features] == ["age", "ok"]
    assert result.cohort.features[1].levels == ("false", "true")
    assert "errors of formulas were read as missing: #N/A (1)" in result.warnings
    sheet["F9"] = "see page 3"
    out = io.BytesIO()
    book.save(out)
    with pytest.raises(InvalidInputError, match="1 row has cells to the right of the header: row 9"):
        read_cohort(out.getvalue(), spec_of())


def test_title_above_the_names_of_the_columns_is_named() -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for row in (["Registry, 2024"], [], ["died", "age"], *([i % 2, 40 + i] for i in range(20))):
        sheet.append(row)
    out = io.BytesIO()
    book.save(out)
    with pytest.raises(InvalidInputError, match=r"21 rows have .* delete titles above them"):
        read_cohort(out.getvalue(), spec_of())


def test_labels_of_some_values_leave_the_codes_and_say_so(tmp_path: Path) -> None:
    path = tmp_path / "a.sav"
    pyreadstat.write_sav(coded(), str(path), variable_value_labels={"smoker": {1: "no"}})
    result = read_cohort(path, spec_of())
    assert (
        "column 'smoker': 1 value has no label, so its codes were kept and its labels were not used" in result.warnings
    )


def archive(**parts: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in parts.items():
            file.writestr(name.replace("__", "/"), content)
    return out.getvalue()


def repacked(change: Callable[[str, bytes], bytes]) -> bytes:
    """A sound workbook whose parts are changed."""
    out = io.BytesIO()
    patients().to_excel(out, index=False)
    made = io.BytesIO()
    with zipfile.ZipFile(out) as old, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as new:
        for part in old.namelist():
            new.writestr(part, change(part, old.read(part)))
    return made.getvalue()


def with_entities(part: str, content: bytes) -> bytes:
    if not part.endswith("sheet1.xml"):
        return content
    lol = b"".join(b'<!ENTITY l%d "%s">' % (i, b"&l%d;" % (i - 1) * 10) for i in range(1, 10))
    return (
        b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY l0 "lol">' + lol + b"]>" + content[content.index(b"<worksheet") :]
    )


def with_gap(part: str, content: bytes) -> bytes:
    row = b'<row r="99999999"><c r="A99999999"><v>1</v></c></row></sheetData>'
    return content.replace(b"</sheetData>", row) if part.endswith("sheet1.xml") else content


def with_zeros(part: str, content: bytes) -> bytes:
    return content + b" " * 20_000_000 if part.endswith("sheet1.xml") else content


@pytest.mark.parametrize(
    ("content", "error", "words"),
    [
        (repacked(with_entities), UnsupportedMediaError, "declares XML entities"),
        (repacked(with_gap), TooLargeError, "more rows than 200,000"),
        (repacked(with_zeros), TooLargeError, "at most 10,000,000 bytes"),
        (repacked(lambda _, content: content)[:-400], UnsupportedMediaError, "damaged"),
        (archive(notes=b"x"), UnsupportedMediaError, "no Excel workbook"),
        (archive(xl__workbook__xml=b"<x/>"), UnsupportedMediaError, "no Excel workbook"),
        (b"\xd0\xcf\x11\xe0" + b"x" * 600, UnsupportedMediaError, "old or a password-protected Excel workbook"),
        (b"$FL2" + b"\x00" * 400, UnsupportedMediaError, "begins as an SPSS file but is damaged"),
        (b"<stata_dta><header>", UnsupportedMediaError, "begins as a Stata file but is damaged"),
        (bytes(12) + bytes.fromhex("c2ea8160b31411cfbd92080009c7318c181f1011") + b"\x00" * 999,
         UnsupportedMediaError, "begins as a SAS file but is damaged"),
    ],
    ids=["entities", "gap", "bomb", "cut", "zip", "empty", "old", "sav", "dta", "sas"],
)  # fmt: skip
def test_hostile_and_damaged_files_are_refused_in_time(content: bytes, error: type[AutoprogError], words: str) -> None:
    limits = ReadLimits(decompressed_bytes=10_000_000, rows=200_000)
    began = time.monotonic()
    with pytest.raises(error, match=words):
        read_cohort(content, spec_of(), limits)
    assert time.monotonic() - began < 30


@pytest.mark.parametrize("kind", ["sav", "dta"])
@pytest.mark.parametrize("share", [0.3, 0.9])
def test_truncated_files_of_statistics_packages_are_refused_or_read_without_inventing(
    kind: str, share: float, tmp_path: Path
) -> None:
    path = tmp_path / f"a.{kind}"
    (write_sav if kind == "sav" else WRITERS["dta"])(path)
    content = path.read_bytes()
    with pytest.raises(AutoprogError):
        read_cohort(content[: int(share * len(content))], spec_of())


def test_limits_hold_for_every_format(tmp_path: Path) -> None:
    for name in ("xlsx", "dta", "sav"):
        folder = tmp_path / name
        folder.mkdir()
        WRITERS[name](folder / "file")
        (path,) = folder.iterdir()
        with pytest.raises(TooLargeError):
            read_cohort(path, spec_of(), ReadLimits(cells=100))
        with pytest.raises(InvalidInputError, match="at most 3 are read"):
            read_cohort(path, spec_of(), ReadLimits(columns=3))


def test_the_format_is_told_by_content() -> None:
    assert recognise(b"\x72\x02\x01\x00\x04\x00") == "dta"
    assert recognise(b"rs\x01\x00") is None
    assert recognise(b"a,b\n1,2\n") is None


def test_cp1252_is_converted_with_a_warning() -> None:
    content = patients().assign(smoker=lambda f: f["smoker"].map({"no": "früher", "yes": "nie"}))
    result = read_cohort(content.to_csv(index=False).encode("cp1252"), spec_of())
    assert result.cohort.features[1].levels == ("früher", "nie")
    assert any(
        text.startswith("the file is not UTF-8 and was read as Windows-1252: check 'ü'") for text in result.warnings
    )
