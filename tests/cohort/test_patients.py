from __future__ import annotations

import gzip
import io
import math
from collections.abc import Mapping
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from autoprog.cohort import Cohort, Feature, cleveland, encode_patients, parse_spec, read_cohort, read_patients
from autoprog.cohort.messages import MAX_FAULTS
from autoprog.errors import InvalidInputError

FEATURES = (
    Feature("age", "numeric", minimum=29, maximum=77),
    Feature("chol", "numeric", minimum=126, maximum=564.5),
    Feature("cp", "categorical", ("1", "2", "4")),
    Feature("smoker", "binary", ("false", "true")),
    Feature("pain", "ordinal", ("none", "mild")),
)
PATIENT: dict[str, object] = {"age": 60, "chol": 250.5, "cp": "4", "smoker": True, "pain": "mild"}


@pytest.fixture(scope="module")
def cohort() -> Cohort:
    return read_cohort(*cleveland()).cohort


def find_faults(*patients: Mapping[str, object]) -> dict[str, str]:
    with pytest.raises(InvalidInputError) as caught:
        encode_patients(FEATURES, patients)
    return {fault.pointer: fault.detail for fault in caught.value.faults}


def test_patients_are_encoded_in_the_order_of_the_features_whatever_their_own() -> None:
    backwards = dict(reversed(PATIENT.items()))
    encoded = encode_patients(FEATURES, [PATIENT, backwards])
    np.testing.assert_array_equal(encoded.X, [[60, 250.5, 2, 1, 1]] * 2)
    assert encoded.warnings == ((), ())


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("age", "60", 60),
        ("age", np.float32(60.5), 60.5),
        ("cp", 4, 2),
        ("cp", 4.0, 2),
        ("cp", " 4.0", 2),
        ("smoker", "TRUE", 1),
        ("smoker", False, 0),
        ("pain", "none", 0),
    ],
)
def test_a_value_may_be_written_in_several_ways(name: str, value: object, code: float) -> None:
    encoded = encode_patients(FEATURES, [{**PATIENT, name: value}])
    assert encoded.X[0, [f.name for f in FEATURES].index(name)] == code
    assert encoded.warnings == ((),)


@pytest.mark.parametrize(
    ("changes", "warnings"),
    [
        ({"age": 97}, ("age 97 is outside the training range 29 to 77",)),
        ({"chol": 600.25}, ("chol 600.25 is outside the training range 126 to 564.5",)),
        ({"age": 29, "chol": 564.5}, ()),
        ({"chol": None}, ("chol was imputed",)),
        ({"chol": math.nan}, ("chol was imputed",)),
        ({"chol": np.float32("nan")}, ("chol was imputed",)),
        ({"cp": "x"}, ("cp 'x' was never seen in training and is treated as missing",)),
        ({"cp": 3, "age": None}, ("age was imputed", "cp '3' was never seen in training and is treated as missing")),
    ],
)
def test_what_is_unusual_is_warned_of(changes: dict[str, object], warnings: tuple[str, ...]) -> None:
    encoded = encode_patients(FEATURES, [PATIENT, {**PATIENT, **changes}])
    assert encoded.warnings == ((), warnings)
    n_missing = sum("imputed" in text or "missing" in text for text in warnings)
    assert np.isnan(encoded.X).sum() == n_missing


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("age", "sixty", "expected a number or null, got a text that is no number"),
        ("age", "NA", "expected a number or null, got a text that is no number"),
        ("age", True, "expected a number or null, got a boolean"),
        ("age", [60], "expected a number or null, got an array"),
        ("age", Decimal(60), "expected a number or null, got a Decimal"),
        ("age", math.inf, "expected a finite number"),
        ("age", "1e999", "expected a finite number"),
        ("age", 10**400, "expected a finite number"),
        ("age", -2e155, "expected a number below 1e+100 in size"),
        ("cp", -math.inf, "expected a finite number"),
        pytest.param("cp", 10**5000, "expected a finite number", id="more digits than Python prints"),
        ("cp", {"a": 1}, "expected a text, a number, a boolean or null, got an object"),
    ],
)
def test_values_that_cannot_be_are_faults(name: str, value: object, words: str) -> None:
    assert find_faults(PATIENT, {**PATIENT, name: value}) == {f"/patients/1/{name}": words}


def test_all_faults_of_all_patients_come_at_once() -> None:
    without_age = {name: value for name, value in PATIENT.items() if name != "age"}
    assert find_faults(PATIENT, {**without_age, "aeg": 60}, {**PATIENT, "chol": "high", "a/b": 1}) == {
        "/patients/1/age": "missing; send null when it is not known",
        "/patients/1/aeg": "the model has no feature of this name; did you mean 'age'?",
        "/patients/2/chol": "expected a number or null, got a text that is no number",
        "/patients/2/a~1b": "the model has no feature of this name",
    }
    assert find_faults() == {"/patients": "send at least one patient"}


def test_thousands_of_faults_are_counted() -> None:
    faults = find_faults(*[{}] * 1_000)
    assert len(faults) == MAX_FAULTS + 1
    assert faults["/patients"] == f"{5_000 - MAX_FAULTS:,} more faults of these kinds"


def test_the_training_file_encodes_to_the_training_matrix(cohort: Cohort) -> None:
    content, _ = cleveland()
    patients = read_patients(content, cohort.features)
    encoded = encode_patients(cohort.features, patients)
    np.testing.assert_array_equal(encoded.X, cohort.X)
    assert sum(map(len, encoded.warnings)) == 6
    shuffled = pd.read_csv(io.BytesIO(gzip.decompress(content))).sample(frac=1, axis=1, random_state=0)
    out = io.BytesIO()
    shuffled.to_parquet(out)
    again = encode_patients(cohort.features, read_patients(out.getvalue(), cohort.features))
    np.testing.assert_array_equal(again.X, cohort.X)


@pytest.mark.parametrize(("low", "high"), [("1,0", "0,0"), ("1 000", "2 000"), ("<5", "7"), ("1.000,5", "2,5")])
def test_two_numbers_of_any_style_are_read_as_in_training(low: str, high: str) -> None:
    rows = [f"{30 + i % 40};{(low, high)[i % 3 == 0]};{i % 2}" for i in range(60)]
    content = "\n".join(["age;dm;y", *rows]).encode()
    cohort = read_cohort(content, parse_spec({"name": "c", "outcome": {"column": "y", "positive": 1}})).cohort
    assert [feature.kind for feature in cohort.features] == ["numeric", "binary"]
    encoded = encode_patients(cohort.features, read_patients(content, cohort.features))
    np.testing.assert_array_equal(encoded.X, cohort.X)
    assert not any(encoded.warnings)
    one = encode_patients(cohort.features, read_patients(f"age;dm\n40;{low}\n".encode(), cohort.features))
    assert one.X[0, 1] == cohort.X[1, 1]


def test_results_of_pluses_and_minuses_are_read_as_in_training() -> None:
    content = "\n".join(["age;hbsag;y", *(f"{30 + i % 40};{'+-'[i % 3 == 0]};{i % 2}" for i in range(60))]).encode()
    cohort = read_cohort(content, parse_spec({"name": "c", "outcome": {"column": "y", "positive": 1}})).cohort
    assert cohort.features[1].levels == ("+", "-")
    encoded = encode_patients(cohort.features, read_patients(b"age;hbsag\n40;-\n50;\n", cohort.features))
    np.testing.assert_array_equal(encoded.X[:, 1], [1, np.nan])


def test_words_among_two_numbers_were_never_seen() -> None:
    features = (Feature("fbs", "binary", ("0", "1")),)
    encoded = encode_patients(features, read_patients(b"fbs;n\n1;1\nyes;2\ntrue;3\n?;4\n", features))
    np.testing.assert_array_equal(encoded.X[:, 0], [1, np.nan, 1, np.nan])
    assert encoded.warnings[1] == ("fbs 'yes' was never seen in training and is treated as missing",)


def test_cells_that_mean_missing_in_training_do_so_in_a_file_of_patients() -> None:
    content = b"age;chol;cp;smoker;pain\n60;999;4;unk;none\nunk;200;999;true;mild\n"
    patients = read_patients(content, FEATURES, na_values=("999", "unk"))
    assert [patients[0][name] for name in ("chol", "smoker")] == [None, None]
    assert [patients[1][name] for name in ("age", "cp")] == [None, None]
    assert not {"999", "unk"} & {value for patient in patients for value in patient.values()}


def test_a_file_of_patients_has_one_fault_a_column() -> None:
    content = b"aeg;chol;cp;smoker;pain\n60;250,5;4;true;none\n61;low;x;?;mild\n62;high;1;false;\n"
    with pytest.raises(InvalidInputError) as caught:
        read_patients(content, FEATURES)
    faults = {fault.pointer: fault.detail for fault in caught.value.faults}
    assert faults.keys() == {"/file/columns/age", "/file/columns/chol"}
    assert faults["/file/columns/age"] == "the file has no column 'age'; did you mean 'aeg'?"
    assert faults["/file/columns/chol"] == ("2 cells are no numbers: rows 3, 4; correct them or leave them empty")


def test_cells_of_a_file_of_patients_are_numbers_texts_or_none() -> None:
    content = b"pain;chol;cp;smoker;age;extra\nnone;250,5;4;TRUE;60;1\nmild;NA;4.0;?;-;2\n"
    assert read_patients(content, FEATURES) == [
        {"age": 60, "chol": 250.5, "cp": "4", "smoker": "true", "pain": "none"},
        {"age": None, "chol": None, "cp": "4", "smoker": None, "pain": "mild"},
    ]


def test_booleans_and_zero_and_one_meet_in_binary_features_alone() -> None:
    features = (
        Feature("fbs", "binary", ("0", "1")),
        Feature("smoker", "binary", ("false", "true")),
        Feature("stage", "categorical", ("0", "1", "2")),
    )
    encoded = encode_patients(features, [{"fbs": True, "smoker": 0, "stage": True}])
    np.testing.assert_array_equal(encoded.X, [[1, 0, np.nan]])
    assert encoded.warnings == (("stage 'true' was never seen in training and is treated as missing",),)
