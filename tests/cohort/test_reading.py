from __future__ import annotations

import csv
import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autoprog.cohort import ReadLimits, cleveland, read_cohort
from autoprog.errors import AutoprogError, InvalidInputError
from tests.cohort.tables import csv_of, find_faults, read, spec_of, the_fault, twenty


def test_rows_without_an_outcome_are_dropped_counted_and_warned_of() -> None:
    columns = twenty(x=["a", "b", "c", "a", "only here"] * 4)
    columns["died"] = [*[0, 1] * 2, "", *[0, 1] * 2, "NA", *[0, 1] * 5]
    columns = {name: values[: len(columns["died"])] for name, values in columns.items()}
    columns["x"] = ["a", "b", "c", "a", "only here", *["a", "b", "c", "a"] * 3, "b", "c", "a"]
    intake = read(columns)
    assert (intake.n_rows, intake.n_dropped, intake.cohort.n_patients) == (20, 2, 18)
    assert "2 of 20 rows were dropped: the outcome 'died' is missing" in intake.warnings
    assert intake.cohort.features[1].levels == ("a", "b", "c")
    assert intake.cohort.X.shape == (18, 2)


def test_faults_after_dropped_rows_and_blank_lines_name_the_lines_of_the_file() -> None:
    rows = [["died", "note", "x"], *[[str(i % 2), "two\nlines", str(i)] for i in range(20)]]
    rows[4][0] = ""  # dropped
    rows[10][2] = "bad"
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    content = out.getvalue()
    (fault,) = find_faults(content.encode())
    line = content[: content.index("bad")].count("\n")  # the row starts one line above the end of its note
    assert fault.detail.startswith(f"1 cell is no number: row {line};")


def test_groups_and_ignored_columns_are_no_features() -> None:
    intake = read(twenty(site=["b", "a", 10, 9, "b"] * 4, junk=range(20)), groups="site", ignore=["junk"])
    assert [feature.name for feature in intake.cohort.features] == ["age"]
    assert intake.cohort.groups is not None
    assert intake.cohort.groups.tolist() == [3, 2, 0, 1, 3] * 4


def test_rows_of_an_identified_patient_are_a_group() -> None:
    repeated = read(twenty(mrn=["7", "3", "07", *range(10, 27)]), identifier="mrn").cohort
    assert repeated.groups is not None
    assert repeated.groups[0] == repeated.groups[2]
    assert len(np.unique(repeated.groups)) == 19
    assert read(twenty(mrn=range(20)), identifier="mrn").cohort.groups is None
    of_hospitals = read(twenty(mrn=[1, 1, *range(18)], site=["a", "b"] * 10), identifier="mrn", groups="site").cohort
    assert of_hospitals.groups is not None
    assert of_hospitals.groups.tolist() == [0, 1] * 10


@pytest.mark.parametrize(
    ("values", "words"),
    [(["a"] * 20, "only one group"), (["a", "b", "c", ""] * 5, "5 rows without a group: rows 5, 9, 13, 17, 21")],
)
def test_groups_that_cannot_be_kept_together_are_faults(values: list[object], words: str) -> None:
    assert words in the_fault(twenty(site=values), "/file/columns/site", groups="site")


def test_columns_that_are_not_there_are_named_with_near_ones() -> None:
    faults = find_faults(
        twenty(),
        outcome={"column": "dead", "positive": 1},
        features={"Age ": {"kind": "numeric"}, "xyz": {}},
        ignore=["agee"],
        groups="hospital",
    )
    assert {fault.pointer: fault.detail for fault in faults} == {
        "/spec/outcome/column": "the file has no column 'dead'; did you mean 'died'?",
        "/spec/groups": "the file has no column 'hospital'",
        "/spec/features/Age": "the file has no column 'Age'; did you mean 'age'?",
        "/spec/features/xyz": "the file has no column 'xyz'",
        "/spec/ignore/0": "the file has no column 'agee'; did you mean 'age'?",
    }


def test_a_column_has_one_part_to_play() -> None:
    faults = find_faults(
        twenty(site=["a", "b"] * 10),
        groups="died",
        ignore=["died", "site"],
        features={"died": {}, "site": {}},
    )
    assert [fault.pointer for fault in faults[:4]] == [
        "/spec/ignore",
        "/spec/groups",
        "/spec/features/died",
        "/spec/features/site",
    ]


def test_a_file_without_features_is_a_fault() -> None:
    detail = the_fault({"died": [0, 1] * 10, "patient_id": range(20)}, "/file")
    assert detail.startswith("no column is left as a feature; column 'patient_id' looks like an identifier")


def test_all_faults_of_file_and_spec_come_at_once() -> None:
    values: list[object] = [1.5 * i for i in range(20)]
    values[4], values[9] = "bad", "inf"
    columns = twenty(x=values, kind=["a", "b", "c", "d"] * 5)
    columns["died"] = [0, 1, 2, 0] * 5
    content = csv_of(columns) + b"1,2\n\x81,1,2,b\n"
    faults = find_faults(content, features={"kind": {"kind": "binary"}, "kidn": {}}, groups="grp")
    assert {fault.pointer for fault in faults} == {
        "/file",
        "/file/columns/died",
        "/file/columns/x",
        "/spec/features/kind/kind",
        "/spec/features/kidn",
        "/spec/groups",
    }
    assert len([fault for fault in faults if fault.pointer == "/file"]) == 2


def test_faults_in_thousands_of_columns_are_counted() -> None:
    columns: dict[str, list[object]] = {"died": [0, 1] * 10}
    columns |= {f"x{i}": [*range(19), "bad"] for i in range(1_000)}
    faults = find_faults(dict(columns))
    assert len(faults) == 101
    assert faults[-1].detail == "900 more faults of these kinds"


def test_decimal_commas_and_semicolons_are_read_and_warned_of() -> None:
    content = csv_of(twenty(bmi=["21,5", "30,25", "19", "22,1", "?"] * 4), delimiter=";")
    intake = read_cohort(content, spec_of())
    np.testing.assert_array_equal(intake.cohort.X[:5, 1], [21.5, 30.25, 19, 22.1, np.nan])
    assert "commas were read as decimal points in 'bmi'" in intake.warnings


def test_cleveland_is_read_as_its_authors_describe_it() -> None:
    content, spec = cleveland()
    intake = read_cohort(content, spec)
    cohort = intake.cohort
    assert (cohort.n_patients, len(cohort.features), int(cohort.y.sum())) == (303, 13, 139)
    assert int(np.isnan(cohort.X).sum()) == 6
    by_name = {feature.name: feature for feature in cohort.features}
    assert by_name["thal"].levels == ("3", "6", "7")
    assert by_name["slope"].kind == "ordinal"
    assert (by_name["age"].minimum, by_name["age"].maximum, by_name["age"].unit) == (29, 77, "years")
    assert intake.n_dropped == 0


CELL = st.one_of(
    st.sampled_from(["", "NA", "1", "0", "1.0", "2.5", "x", "true", "inf", "-", "none", "1,5", '"', "a\nb", "\x00"]),
    st.text(max_size=4),
)


@given(
    header=st.lists(st.sampled_from(["died", "age", "sex", "id", "", "x y"]), min_size=1, max_size=5),
    rows=st.lists(st.lists(CELL, min_size=0, max_size=5), max_size=30),
    delimiter=st.sampled_from(",;\t"),
    kind=st.sampled_from([None, "numeric", "binary", "categorical", "ordinal"]),
)
@settings(max_examples=300, deadline=None)
def test_whatever_a_table_holds_the_answer_has_a_name(
    header: list[str], rows: list[list[str]], delimiter: str, kind: str | None
) -> None:
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([*rows, *[[str(i % 2), "5", "m", str(i), "y"][: len(header)] for i in range(20)]])
    try:
        intake = read_cohort(out.getvalue().encode("utf-8", "replace"), spec_of(features={"age": {"kind": kind}}))
    except AutoprogError:
        return
    assert intake.cohort.X.shape == (intake.cohort.n_patients, len(intake.cohort.features))
    assert intake.n_rows == intake.cohort.n_patients + intake.n_dropped
    assert not np.isinf(intake.cohort.X).any()
    for feature, x in zip(intake.cohort.features, intake.cohort.X.T, strict=True):
        if feature.kind != "numeric":
            codes = x[~np.isnan(x)]
            assert set(codes) <= set(range(len(feature.levels)))


@given(st.binary(max_size=200), st.sampled_from([b"", b"\x1f\x8b", b"PAR1", b"\xef\xbb\xbf", b"died,age\n1,2\n"]))
@settings(max_examples=300, deadline=None)
def test_random_bytes_raise_only_errors_with_a_name(content: bytes, start: bytes) -> None:
    with pytest.raises(AutoprogError):
        read_cohort(start + content, spec_of(), ReadLimits(decompressed_bytes=100_000))


@given(st.integers(0, 10_000), st.integers(0, 255), st.integers(0, 30))
@settings(max_examples=150, deadline=None)
def test_a_damaged_real_file_raises_only_errors_with_a_name(at: int, byte: int, cut: int) -> None:
    content, spec = cleveland()
    at %= len(content)
    damaged = content[:at] + bytes([byte]) + content[at + cut :]
    try:
        read_cohort(damaged, spec)
    except InvalidInputError as error:
        assert error.faults  # noqa: PT017  # most, not all, damages are found
