"""A cohort without a patient is the cohort that the file without the patient gives."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import pytest

from autoprog.cohort import (
    CohortReadResult,
    PatientIdentifiers,
    from_parquet,
    parse_spec,
    read_cohort,
    to_parquet,
    without_rows,
)
from autoprog.errors import ArtifactError, InvalidInputError

BINARY = {"name": "c", "outcome": {"column": "died", "positive": "yes"}, "identifier": "mrn"}
SURVIVAL = {
    "name": "c",
    "mode": "survival",
    "outcome": {"time": "days", "event": "status", "event_of_interest": "1", "competing": ["2"], "horizons": [20, 40]},
    "identifier": "mrn",
    "features": {"stage": {"kind": "ordinal", "levels": ["I", "II", "III", "IV"]}},
}
VISIT_LABELS = {
    "name": "c",
    "mode": "temporal",
    "outcome": {"patient": "mrn", "visit_time": "day", "horizon": 5, "column": "died", "positive": "yes"},
}
VISIT_EVENTS = {
    "name": "c",
    "mode": "temporal",
    "outcome": {
        "patient": "mrn", "visit_time": "day", "horizon": 20, "time": "days", "event": "status",
        "event_of_interest": "1", "competing": ["2"],
    },
}  # fmt: skip


def patients(n: int = 60) -> pd.DataFrame:
    """Patients; the seventh alone has an extreme value, a level of her own, and no laboratory value."""
    rng = np.random.default_rng(3)
    table = pd.DataFrame({
        "mrn": [f"P{i:03}" for i in range(n)],
        "age": rng.integers(20, 80, n),
        "stage": rng.choice(["I", "II", "III"], n),
        "lab": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n).round(3)),
        "died": rng.choice(["yes", "no"], n),
        "days": rng.integers(1, 60, n),
        "status": rng.choice([0, 1, 1, 2], n),
    })  # fmt: skip
    return table.assign(age=table.age.where(table.index != 7, 104), stage=table.stage.where(table.index != 7, "IV"))


def visits() -> pd.DataFrame:
    """Four visits of each patient, some without a label."""
    table = patients().loc[lambda t: t.index.repeat(4)].reset_index(drop=True)
    rng = np.random.default_rng(4)
    died = rng.choice(["yes", "no", ""], len(table), p=[0.3, 0.5, 0.2])
    return table.assign(day=np.tile([0.0, 1.5, 2.5, 4.0], 60), died=died, age=table.age + np.tile(range(4), 60))


def read(table: pd.DataFrame, spec: Mapping[str, object]) -> CohortReadResult:
    """Read the columns that a spec names, and three features."""
    named = str(spec["outcome"])
    columns = [name for name in table if name in {"mrn", "age", "stage", "lab"} or f"'{name}'" in named]
    return read_cohort(table[columns].to_csv(index=False).encode(), parse_spec(spec))


CASES = [
    pytest.param(BINARY, patients(), id="binary"),
    pytest.param(SURVIVAL, patients(), id="survival"),
    pytest.param(VISIT_LABELS, visits(), id="labels of visits"),
    pytest.param(VISIT_EVENTS, visits(), id="events after visits"),
]


@pytest.mark.parametrize(("spec", "table"), CASES)
def test_removal_equals_reading_the_file_without_the_patient(spec: Mapping[str, object], table: pd.DataFrame) -> None:
    whole, expected = read(table, spec), read(table[table.mrn != "P007"], spec)
    assert whole.identifiers is not None
    theirs = whole.identifiers.find(" P007 ")
    assert theirs.any()
    rest = without_rows(whole.cohort, theirs)
    assert rest is not None
    assert to_parquet(rest) == to_parquet(expected.cohort)
    left = whole.identifiers.take(~theirs)
    assert not left.find("P007").any()
    assert expected.identifiers is not None
    np.testing.assert_array_equal(left.find("P008"), expected.identifiers.find("P008"))


def test_removal_after_storage_is_the_same() -> None:
    whole = read(visits(), VISIT_LABELS)
    assert whole.identifiers is not None
    stored = from_parquet(to_parquet(whole.cohort))
    found = PatientIdentifiers.from_bytes(whole.identifiers.to_bytes()).find("P007")
    first, second = without_rows(whole.cohort, found), without_rows(stored, found)
    assert first is not None
    assert second is not None
    assert to_parquet(first) == to_parquet(second)


def test_a_rest_that_is_too_small_is_no_cohort() -> None:
    table = patients().assign(died=["yes"] * 5 + ["no"] * 55)
    whole = read(table, BINARY)
    assert whole.identifiers is not None
    assert without_rows(whole.cohort, whole.identifiers.find("P050")) is not None
    assert without_rows(whole.cohort, whole.identifiers.find("P000")) is None


def test_a_cause_that_nobody_has_any_more_is_no_cohort() -> None:
    table = patients().assign(status=lambda t: np.where(t.index == 7, 2, np.minimum(t.status, 1)))
    whole = read(table, SURVIVAL)
    assert whole.identifiers is not None
    assert without_rows(whole.cohort, whole.identifiers.find("P007")) is None


def test_a_cause_that_no_patient_of_the_cohort_had_is_not_missed() -> None:
    table = patients().assign(status=lambda t: np.where(t.index == 8, 2, np.minimum(t.status, 1)))
    whole = read(table.assign(days=table.days.where(table.index != 8, 0)), SURVIVAL)
    assert "the competing event '2' has 0 patients: its risk is hardly known" in whole.warnings
    assert whole.identifiers is not None
    assert without_rows(whole.cohort, whole.identifiers.find("P007")) is not None


def test_a_feature_with_one_value_left_goes() -> None:
    table = patients().assign(lab=lambda t: np.where(t.index == 7, 1.0, 0.0))
    whole = read(table, BINARY)
    assert whole.identifiers is not None
    rest = without_rows(whole.cohort, whole.identifiers.find("P007"))
    assert rest is not None
    assert [feature.name for feature in rest.features] == ["age", "stage"]


def test_digests_hold_no_identifier_and_differ_between_cohorts() -> None:
    first, second = (read(patients(), BINARY).identifiers for _ in range(2))
    assert first is not None
    assert second is not None
    assert b"P007" not in first.to_bytes()
    assert first.to_bytes() != second.to_bytes()
    assert not np.isin(first.digests, second.digests).any()


@pytest.mark.parametrize("damaged", [b"", b"autoprog.identifiers.1\n", b"PAR1" * 100])
def test_a_damaged_file_of_identifiers_is_refused(damaged: bytes) -> None:
    whole = read(patients(), BINARY).identifiers
    assert whole is not None
    with pytest.raises(ArtifactError):
        PatientIdentifiers.from_bytes(damaged)
    with pytest.raises(ArtifactError):
        PatientIdentifiers.from_bytes(whole.to_bytes()[:-1])


@pytest.mark.parametrize(
    ("changes", "pointer", "detail"),
    [
        ({"identifier": "number"}, "/spec/identifier", "no column"),
        ({"identifier": "died"}, "/spec/identifier", "'died' is the outcome"),
        ({"features": {"mrn": {"kind": "categorical"}}}, "/spec/features/mrn", "is the identifier"),
    ],
)
def test_an_identifier_is_a_column_of_its_own(changes: dict[str, object], pointer: str, detail: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        read(patients(), {**BINARY, **changes})
    ((found, said),) = [(fault.pointer, fault.detail) for fault in refused.value.faults]
    assert found == pointer
    assert detail in said


def test_the_identifier_of_visits_is_their_patient() -> None:
    read(visits(), {**VISIT_LABELS, "identifier": "mrn"})
    with pytest.raises(InvalidInputError, match="the outcome's patient"):
        read(visits(), {**VISIT_LABELS, "identifier": "age"})


def test_rows_without_an_identifier_are_a_fault() -> None:
    table = patients().assign(mrn=lambda t: t.mrn.where(t.index != 7))
    with pytest.raises(InvalidInputError, match="1 row without an identifier: row 9"):
        read(table, BINARY)


def test_a_cohort_without_a_column_of_identifiers_has_none() -> None:
    spec = {name: value for name, value in BINARY.items() if name != "identifier"}
    assert read(patients(), spec).identifiers is None
