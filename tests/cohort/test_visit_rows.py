from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from autoprog.cohort import Binary, Cohort, CohortReadResult, TimeToEvent, Visits, VisitTable, windowed
from tests.cohort.tables import find_faults, read, the_fault
from tests.cohorts import labelled_visits

OUTCOME = {"patient": "id", "visit_time": "month", "time": "months", "event": "status", "horizon": 12}
LABEL = {"patient": "id", "visit_time": "month", "horizon": 12, "column": "septic", "positive": 1}

Columns = dict[str, Sequence[object]]


def visits(**columns: Sequence[object]) -> Columns:
    """Twenty patients with visits at 0, 3 and 6 months; the even ones have the event at 10, the others none by 30."""
    patient = np.repeat(np.arange(20), 3)
    return {
        "id": [f"p{i}" for i in patient],
        "month": [0, 3, 6] * 20,
        "months": np.where(patient % 2 == 0, 10, 30).tolist(),
        "status": (patient % 2 == 0).astype(int).tolist(),
        "bili": (1.5 + patient / 4 + np.tile([0, 0.5, 1], 20)).tolist(),
        **columns,
    }


def labelled(**columns: Sequence[object]) -> Columns:
    """The same visits, with a label at each: 1 at the last one of every other patient."""
    found = visits()
    del found["months"], found["status"]
    return {**found, "septic": [0, 0, 1, 0, 0, 0] * 10, **columns}


def intake(columns: Columns, **spec: Any) -> CohortReadResult:
    return read(columns, **{"mode": "temporal", "outcome": OUTCOME, **spec})


def refused(columns: Columns, pointer: str, **spec: Any) -> str:
    return the_fault(columns, pointer, **{"mode": "temporal", "outcome": OUTCOME, **spec})


def changed(columns: Columns, **cells: Mapping[int, object]) -> Columns:
    """The columns with some cells changed: name -> row -> value."""
    return {
        name: [cells.get(name, {}).get(i, value) for i, value in enumerate(values)] for name, values in columns.items()
    }


def get_visits(cohort: Cohort) -> VisitTable:
    assert cohort.visits is not None
    return cohort.visits


def test_the_time_of_a_visit_is_what_is_left_of_the_follow_up() -> None:
    cohort = intake(visits()).cohort
    assert cohort.outcome == Visits("id", "month", 12.0, TimeToEvent("months", "status", "1", (12.0,)))
    assert (cohort.mode, cohort.n_rows, cohort.n_patients, cohort.horizons) == ("temporal", 60, 20, (12.0,))
    assert cohort.time is not None
    by_patient = cohort.time.reshape(20, 3)
    left = {tuple(row) for row in by_patient.tolist()}
    assert left == {(10.0, 7.0, 4.0), (30.0, 27.0, 24.0)}
    np.testing.assert_array_equal(cohort.y == 1, cohort.time <= 10)
    assert [feature.name for feature in cohort.features] == ["bili"]
    np.testing.assert_array_equal(get_visits(cohort).time, [0, 3, 6] * 20)
    assert cohort.groups is not None
    np.testing.assert_array_equal(cohort.groups, get_visits(cohort).patient)
    np.testing.assert_array_equal(cohort.groups, np.repeat(np.arange(20), 3))


@pytest.mark.parametrize("seed", range(5))
def test_rows_in_any_order_give_the_same_cohort(seed: int) -> None:
    columns = visits()
    order = np.random.default_rng(seed).permutation(60)
    first = intake(columns).cohort
    second = intake({name: [values[i] for i in order] for name, values in columns.items()}).cohort
    assert first.features == second.features
    for name in ("X", "y", "time", "groups"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))
    np.testing.assert_array_equal(get_visits(first).patient, get_visits(second).patient)
    np.testing.assert_array_equal(get_visits(first).time, get_visits(second).time)


def test_visits_from_the_end_of_the_follow_up_on_are_dropped_and_counted() -> None:
    columns = changed(visits(), month={2: 10, 5: 31, 8: 9.5})
    found = intake(columns)
    assert found.n_dropped == 2
    assert "2 of 60 visits were dropped: not before the end of the patient's follow-up" in found.warnings
    assert found.cohort.time is not None
    assert found.cohort.time.min() == 0.5


def test_visits_without_a_time_or_event_are_dropped_and_counted() -> None:
    columns = changed(visits(), months={0: "", 1: "", 2: "", 4: ""}, status={9: "NA"})
    found = intake(columns)
    assert (found.n_dropped, found.cohort.n_patients) == (3, 19)  # of the fifth and tenth the patient's others tell
    assert "3 of 60 visits were dropped: the time 'months' or the event 'status' is missing" in found.warnings
    assert set(get_visits(found.cohort).patient.tolist()) == set(range(19))


def test_time_and_event_of_a_patient_may_be_in_different_visits() -> None:
    columns = visits()
    apart = {
        **columns,
        "months": [value if i % 3 == 0 else "" for i, value in enumerate(columns["months"])],
        "status": [value if i % 3 == 2 else "" for i, value in enumerate(columns["status"])],
    }
    whole, found = intake(columns), intake(apart)
    assert (found.n_dropped, found.cohort.n_patients) == (0, 20)
    np.testing.assert_array_equal(found.cohort.time, whole.cohort.time)
    np.testing.assert_array_equal(found.cohort.y, whole.cohort.y)
    detail = refused(changed(apart, months={1: 11}), "/file/columns/months")
    assert detail == "changes between the visits of 1 patient: row 3; all visits of a patient have the same"
    detail = refused(changed(apart, status={0: 0}), "/file/columns/status")
    assert detail == "changes between the visits of 1 patient: row 4; all visits of a patient have the same"


def test_single_visits_are_told() -> None:
    columns = {name: [v for i, v in enumerate(values) if i not in {1, 2, 4, 5}] for name, values in visits().items()}
    found = intake(columns)
    assert "2 of 20 patients have a single visit, which shows nothing of their course" in found.warnings


def test_a_time_or_event_that_changes_within_a_patient_is_a_fault() -> None:
    detail = refused(changed(visits(), months={1: 11, 2: 12, 7: 11}), "/file/columns/months")
    assert detail == "changes between the visits of 2 patients: rows 3, 4, 9, 10; all visits of a patient have the same"
    detail = refused(changed(visits(), status={1: 0}), "/file/columns/status")
    assert detail.startswith("changes between the visits of 1 patient: rows 3, 4")


def test_what_tells_patients_and_visits_apart_must_be_there() -> None:
    detail = refused(changed(visits(), id={3: "", 7: "NA"}), "/file/columns/id")
    assert detail == "2 rows without a patient: rows 5, 9"
    detail = refused(changed(visits(), month={3: ""}), "/file/columns/month")
    assert detail == "1 row without a time of the visit: row 5"
    detail = refused(changed(visits(), month={3: "May"}), "/file/columns/month")
    assert detail.startswith("1 cell is no number: row 5;")
    detail = refused(changed(visits(), month={2: 3, 5: 0}), "/file/columns/month")
    assert detail == "2 visits have the time of an earlier row of the same patient: rows 4, 7"


def test_the_horizon_needs_patients_with_the_event_and_beyond_it() -> None:
    assert refused(visits(), "/spec/outcome/horizon", outcome={**OUTCOME, "horizon": 30}) == (
        "30 is too far ahead: 0 patients are followed beyond it, at least 5 are needed; a horizon must be below 30"
    )
    assert refused(visits(), "/spec/outcome/horizon", outcome={**OUTCOME, "horizon": 3}) == (
        "3 is too early: 0 patients with the event of interest by then, at least 5 are needed; a horizon must be 4 or "
        "later"
    )
    few = visits(status=np.repeat([1] * 4 + [0] * 16, 3).tolist(), months=[30] * 60)
    assert refused(few, "/file/columns/status").startswith("4 patients with the event of interest '1'")


def test_groups_are_the_patients_or_coarser() -> None:
    site = np.repeat(np.arange(20) // 5, 3).tolist()
    cohort = intake(visits(site=site), groups="site").cohort
    assert cohort.groups is not None
    by_patient = cohort.groups.reshape(20, 3)
    assert (by_patient == by_patient[:, :1]).all()
    assert len(np.unique(cohort.groups)) == 4
    detail = refused(visits(site=[0, 1, 0, *[1] * 57]), "/file/columns/site", groups="site")
    assert detail == "the group changes between the visits of 1 patient: rows 3, 4; a patient has one group"
    assert intake(visits(), groups="id").cohort.groups is not None


def test_labels_of_visits_are_read() -> None:
    found = read(labelled(), mode="temporal", outcome=LABEL)
    cohort = found.cohort
    assert cohort.outcome == Visits("id", "month", 12.0, Binary("septic", "1", "0"))
    assert (cohort.n_patients, cohort.n_rows, cohort.time, cohort.horizons) == (20, 60, None, ())
    assert cohort.event_rate == pytest.approx(10 / 60)
    assert found.follow_up is None


def test_labels_count_patients_not_visits() -> None:
    columns = labelled(septic=[0, 1, 1] * 4 + [0] * 48)
    assert the_fault(columns, "/file/columns/septic", mode="temporal", outcome=LABEL) == (
        "4 patients with the outcome; at least 5 are needed"
    )
    missing = changed(labelled(), septic={0: "", 1: ""})
    found = read(missing, mode="temporal", outcome=LABEL)
    assert found.n_dropped == 2
    looked_back_on = "; 2 of them are looked back on at later visits"
    assert f"2 of 60 rows were dropped: the outcome 'septic' is missing{looked_back_on}" in found.warnings


def test_visits_without_a_label_are_looked_back_on() -> None:
    """Windows are those of all visits, with the rows of the labelled ones; so are levels and what varies."""
    units: Columns = {"unit": ["icu", "ward", "ward"] * 20, "id": [f"p{i:02}" for i in np.repeat(np.arange(20), 3)]}
    whole = read(labelled(**units), mode="temporal", outcome=LABEL).cohort
    # The first visit of the first patient, the middle one of the second, the last one of the third, all of the fourth.
    lacking = [0, 4, 8, 9, 10, 11]
    part = read(changed(labelled(**units), septic=dict.fromkeys(lacking, "")), mode="temporal", outcome=LABEL).cohort
    kept = np.setdiff1d(np.arange(60), lacking)
    earlier = get_visits(part).earlier
    assert earlier is not None
    assert list(zip(earlier.patient.tolist(), earlier.time.tolist(), strict=True)) == [(0, 0.0), (1, 3.0)]
    np.testing.assert_array_equal(get_visits(part).time, get_visits(whole).time[kept])
    for window in (1, 2, 3):
        expected = windowed(whole, window)
        found = windowed(part, window)
        assert [f.name for f in found.features] == [f.name for f in expected.features]
        np.testing.assert_array_equal(found.X, expected.X[kept])
        assert get_visits(found).earlier is None
    np.testing.assert_array_equal(part.y, whole.y[kept])


def test_a_level_of_an_unlabelled_visit_is_one_of_the_feature() -> None:
    columns = changed(labelled(unit=["ward", "icu", "ward"] * 20), septic={1: ""}, unit={1: "theatre"})
    cohort = read(columns, mode="temporal", outcome=LABEL).cohort
    assert cohort.features[1].levels == ("icu", "theatre", "ward")


def test_a_patient_with_one_labelled_visit_and_earlier_ones_is_no_single_visit() -> None:
    found = read(changed(labelled(), septic={3: "", 4: ""}), mode="temporal", outcome=LABEL)
    assert not [warning for warning in found.warnings if "single visit" in warning]


def test_the_labels_of_real_visits() -> None:
    cohort = labelled_visits()
    assert (cohort.n_rows, cohort.n_patients) == (1945, 312)
    assert (np.diff(get_visits(cohort).patient) >= 0).all()


def test_columns_named_as_what_is_made_of_visits_are_faults() -> None:
    of_patients = np.repeat(np.arange(20) % 7 + 0.5, 3).tolist()
    columns = visits(**{"visit number": of_patients, "bili (last)": of_patients, "age (last)": of_patients})
    faults = find_faults(columns, mode="temporal", outcome=OUTCOME)
    assert {fault.pointer for fault in faults} == {"/file/columns/visit number", "/file/columns/bili (last)"}


def test_all_faults_of_the_columns_come_at_once() -> None:
    columns = changed(visits(age=["old", *range(59)]), id={3: ""}, months={4: -1}, status={5: 7})
    faults = find_faults(columns, mode="temporal", outcome=OUTCOME)
    assert {fault.pointer for fault in faults} == {
        "/file/columns/id",
        "/file/columns/months",
        "/spec/outcome/event_of_interest",
        "/file/columns/age",
    }


def test_what_is_left_at_a_visit_is_no_hair_more_than_the_horizon() -> None:
    """0.8 less 0.1 is 0.7000000000000001 in binary numbers, and no event would lie within 0.7."""
    columns = visits(month=[0.1, 0.3, 0.6] * 20)
    columns["months"] = [0.8 if t == 10 else 30.5 for t in columns["months"]]
    cohort = intake(columns, outcome={**OUTCOME, "horizon": 0.7}).cohort
    assert cohort.time is not None
    first = get_visits(cohort).time == 0.1
    events = cohort.time[first & (cohort.y == 1)]
    assert (events <= 0.7).all()
    assert len(events) == 10


def test_a_visit_without_its_patient_s_outcome_has_that_of_the_others() -> None:
    whole = intake(visits()).cohort
    lacking = intake(changed(visits(), months={1: None, 5: None}, status={1: None, 7: None})).cohort
    np.testing.assert_array_equal(lacking.time, whole.time)
    np.testing.assert_array_equal(lacking.y, whole.y)
    np.testing.assert_array_equal(lacking.X, whole.X)


@pytest.mark.parametrize("first", [0, 1, 2])
def test_one_row_a_patient_may_have_the_time_and_event_of_all(first: int) -> None:
    without = dict.fromkeys([i for i in range(60) if i % 3 != first], "")
    found = intake(changed(visits(), months=without, status=without))
    whole = intake(visits()).cohort
    np.testing.assert_array_equal(found.cohort.time, whole.time)
    np.testing.assert_array_equal(found.cohort.y, whole.y)
    assert found.n_dropped == 0


def test_more_than_half_of_the_patients_without_a_time_or_event_are_a_fault() -> None:
    lacking = dict.fromkeys(range(33), "")  # all visits of 11 patients
    detail = refused(changed(visits(), months=lacking), "/file/columns/months")
    assert detail == "the time is missing in 11 of 20 patients; at most half may lack it"
    detail = refused(changed(visits(), status=lacking), "/file/columns/status")
    assert detail == "the event is missing in 11 of 20 patients; at most half may lack it"
    assert intake(changed(visits(), months=dict.fromkeys(range(30), ""))).cohort.n_patients == 10
    faults = find_faults(changed(visits(), months=lacking, id={59: ""}), mode="temporal", outcome=OUTCOME)
    assert {fault.pointer for fault in faults} == {"/file/columns/months", "/file/columns/id"}


def test_one_row_a_patient_may_have_the_only_label() -> None:
    found = read(
        changed(labelled(), septic=dict.fromkeys([i for i in range(60) if i % 3 != 2], "")),
        mode="temporal",
        outcome=LABEL,
    )
    assert (found.cohort.n_patients, found.cohort.n_rows, found.n_dropped) == (20, 20, 40)
    earlier = get_visits(found.cohort).earlier
    assert earlier is not None
    assert len(earlier.time) == 40


def test_more_than_half_of_the_patients_without_a_label_are_a_fault() -> None:
    lacking = changed(labelled(), septic=dict.fromkeys(range(33), ""))
    assert the_fault(lacking, "/file/columns/septic", mode="temporal", outcome=LABEL) == (
        "the outcome is missing in 11 of 20 patients; at most half may lack it"
    )
