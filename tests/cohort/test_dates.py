from __future__ import annotations

import io
from typing import Any

import numpy as np
import pandas as pd
import pytest

from autoprog.cohort import CohortReadResult, encode_patients, parse_spec, read_cohort, read_patients
from autoprog.errors import InvalidInputError

N = 80
SPEC: dict[str, Any] = {
    "name": "dates",
    "mode": "survival",
    "outcome": {"time": {"from": "admission", "to": "last", "unit": "months"}, "event": "status", "horizons": [24, 36]},
    "features": {"diagnosis": {"kind": "date", "relative_to": "admission"}},
}


def frame(style: str = "%Y-%m-%d") -> pd.DataFrame:
    rng = np.random.default_rng(0)
    admission = pd.Timestamp("2015-01-01") + pd.to_timedelta(rng.integers(0, 900, N), "D")
    last = admission + pd.to_timedelta(rng.integers(30, 1500, N), "D")
    diagnosis = admission - pd.to_timedelta(rng.integers(1, 400, N), "D")
    columns = {"admission": admission, "last": last, "diagnosis": diagnosis}
    table = pd.DataFrame({name: days.strftime(style) for name, days in columns.items()})
    return table.assign(status=rng.integers(0, 2, N), age=rng.normal(60, 9, N).round(1))


def read(table: pd.DataFrame, **changes: Any) -> CohortReadResult:
    return read_cohort(table.to_csv(index=False).encode(), parse_spec({**SPEC, **changes}))


def test_the_unit_of_the_dates_is_that_of_the_times() -> None:
    event = read(frame()).cohort.time_to_event
    assert event is not None
    assert event.time_unit == "months"
    named = read(frame(), outcome={**SPEC["outcome"], "time_unit": "lunar months"}).cohort.time_to_event
    assert named is not None
    assert named.time_unit == "lunar months"


@pytest.mark.parametrize("style", ["%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%b-%Y", "%d%b%Y"])
def test_follow_up_and_a_feature_are_differences_of_dates_however_they_are_written(style: str) -> None:
    cohort = read(frame(style)).cohort
    days = [pd.to_datetime(frame()[name]) for name in ("admission", "last", "diagnosis")]
    assert cohort.time is not None
    np.testing.assert_allclose(cohort.time, (days[1] - days[0]).dt.days / (365.25 / 12), rtol=1e-6)
    feature = next(i for i, f in enumerate(cohort.features) if f.name == "days from admission to diagnosis")
    np.testing.assert_array_equal(cohort.X[:, feature], (days[2] - days[0]).dt.days)
    assert len(cohort.features) == 2


def test_new_patients_are_read_from_their_dates() -> None:
    table = frame()
    cohort = read(table).cohort
    rows = read_patients(table.to_csv(index=False).encode(), cohort.features)
    np.testing.assert_array_equal(encode_patients(cohort.features, rows).X, cohort.X)


def test_words_that_mean_missing_among_dates_do_so_among_those_of_new_patients() -> None:
    table = frame()
    table.loc[3, "diagnosis"] = "unknown"
    cohort = read(table, na_values=["unknown"]).cohort
    rows = read_patients(table.to_csv(index=False).encode(), cohort.features, na_values=cohort.na_values)
    np.testing.assert_array_equal(encode_patients(cohort.features, rows).X, cohort.X)
    assert np.isnan(cohort.X).sum() == 1


def test_a_date_keeps_its_label() -> None:
    date = {"kind": "date", "relative_to": "admission", "unit": "years", "label": "Time since diagnosis"}
    cohort = read(frame(), features={"diagnosis": date}).cohort
    labels = {feature.name: (feature.label, feature.unit) for feature in cohort.features}
    assert labels["years from admission to diagnosis"] == ("Time since diagnosis", "years")


def test_dates_of_the_follow_up_may_be_groups_and_identifiers() -> None:
    table = frame()
    found = read(table, groups="admission", identifier="last")
    assert found.cohort.groups is not None
    assert len(np.unique(found.cohort.groups)) == table["admission"].nunique()
    assert found.identifiers is not None
    assert found.identifiers.find(table["last"][0])[0]


def test_an_order_that_no_date_decides_is_a_fault_that_shows_examples() -> None:
    table = frame().assign(admission="01/02/2015", last="03/04/2018")
    with pytest.raises(InvalidInputError) as caught:
        read(table)
    faults = {fault.pointer: fault for fault in caught.value.faults}
    assert "whether day or month comes first" in faults["/file/columns/last"].detail
    assert faults["/file/columns/last"].values == ("'03/04/2018'",)
    assert "03/04" not in str(caught.value)


def test_words_and_impossible_dates_are_faults_with_their_rows() -> None:
    table = frame()
    table.loc[3, "last"], table.loc[7, "last"] = "alive", "2016-02-31"
    with pytest.raises(InvalidInputError) as caught:
        read(table)
    (fault,) = caught.value.faults
    assert (fault.pointer, fault.values) == ("/file/columns/last", ("'alive'", "'2016-02-31'"))
    assert "2 cells are no dates: rows 5, 9" in fault.detail
    assert read(table, na_values=["alive", "2016-02-31"]).n_dropped == 2


def test_an_end_before_the_start_is_a_negative_time() -> None:
    table = frame()
    table.loc[3, "last"] = "2010-01-01"
    with pytest.raises(InvalidInputError, match="1 time is negative: row 5"):
        read(table)


def test_columns_that_are_not_there_are_named_where_the_spec_names_them() -> None:
    with pytest.raises(InvalidInputError) as caught:
        read(frame().rename(columns={"last": "lost", "admission": "start"}))
    places = {fault.pointer for fault in caught.value.faults}
    assert {"/spec/outcome/time/to", "/spec/outcome/time/from", "/spec/features/diagnosis/relative_to"} <= places


@pytest.mark.parametrize(
    "style", ["%Y-%m-%dT10:30:00+01:00", "%Y-%m-%d 10:30:00.123456789+01", "%d.%m.%Y 10:30", "%m/%d/%Y 10:30:00"]
)
def test_dates_may_have_a_clock_and_a_zone(style: str) -> None:
    table = frame(style)
    cohort = read(table).cohort
    days = [pd.to_datetime(frame()[name]) for name in ("admission", "last")]
    assert cohort.time is not None
    np.testing.assert_allclose(cohort.time, (days[1] - days[0]).dt.days / (365.25 / 12), rtol=1e-6)
    assert any("column 'diagnosis' holds dates" in text for text in read(table, features={}).warnings)


def test_dates_of_pandas_with_a_zone_are_left_out() -> None:
    table = frame()
    table["diagnosis"] = pd.to_datetime(table["diagnosis"] + " 10:00").dt.tz_localize("Europe/Berlin")
    out = io.BytesIO()
    table.to_parquet(out)
    found = read_cohort(out.getvalue(), parse_spec({**SPEC, "features": {}})).warnings
    assert any("column 'diagnosis' holds dates and was left out" in text for text in found)


def test_numbers_that_look_like_dates_are_warned_of() -> None:
    table = frame()
    numbers = pd.to_datetime(table["diagnosis"]).dt.strftime("%Y%m%d").astype(float)
    numbers[:9] = np.nan
    found = read(table.assign(diagnosis=numbers), features={}).warnings
    assert any("column 'diagnosis' holds numbers that look like dates (YYYYMMDD)" in text for text in found)
    others = np.random.default_rng(1).integers(19_000_000, 21_000_000, N)
    assert not any("YYYYMMDD" in text for text in read(table.assign(diagnosis=others), features={}).warnings)


def test_an_undeclared_column_of_dates_is_left_out_with_advice() -> None:
    found = read(frame(), features={}).warnings
    assert any("column 'diagnosis' holds dates and was left out" in text for text in found)


def test_the_spec_survives_its_own_json() -> None:
    spec = parse_spec(SPEC)
    assert parse_spec(spec.model_dump(mode="json")) == spec


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        ({"time": {"from": "a", "to": "a"}, "event": "e"}, "from and to are the same column"),
        ({"time": {"from": "a", "to": "e"}, "event": "e"}, "the event and a date are both column 'e'"),
        ({"time": {"from": "a"}, "event": "e"}, "Field required"),
        ({"time": {"from": "a", "to": "b", "unit": "weeks"}, "event": "e"}, "days"),
        ({"time": "t", "dates": {"from": "a", "to": "b"}, "event": "e"}, "either a column time or dates"),
        (
            {"time": {"from": "a", "to": "b"}, "time_unit": "Months", "event": "e"},
            "time_unit is Months, and the dates make times in days",
        ),
    ],
)
def test_dates_that_make_no_time_are_faults(outcome: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInputError, match=words):
        parse_spec({"name": "x", "mode": "survival", "outcome": outcome})
