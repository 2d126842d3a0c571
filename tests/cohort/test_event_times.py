from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

from autoprog.cohort import Cohort, CohortReadResult, TimeToEvent
from tests.cohort.tables import find_faults, read, the_fault
from tests.cohorts import EVENT_SPECS, event_cohort

N = 40


def times(**columns: Sequence[object]) -> dict[str, Sequence[object]]:
    """Forty patients: event 1 at 1, 3, 5, ..., censored at 2, 4, 6, ...; and an age."""
    return {"days": range(1, N + 1), "status": [1, 0] * (N // 2), "age": [40.5, 50, 60, 70.5] * 10, **columns}


def survival(**outcome: Any) -> dict[str, Any]:
    return {"mode": "survival", "outcome": {"time": "days", "event": "status", **outcome}}


def intake(columns: dict[str, Sequence[object]], **outcome: Any) -> CohortReadResult:
    return read(columns, **survival(**outcome))


def test_times_and_events_are_read_and_the_horizons_are_the_quartiles_of_the_event_times() -> None:
    cohort = intake(times()).cohort
    assert cohort.outcome == TimeToEvent("days", "status", "1", (10.5, 20.0, 29.5))
    assert cohort.mode == "survival"
    assert cohort.time is not None
    np.testing.assert_array_equal(cohort.time, np.arange(1.0, N + 1))
    np.testing.assert_array_equal(cohort.y, [1, 0] * (N // 2))
    assert (cohort.y.dtype, cohort.time.dtype) == (np.int8, np.float64)
    assert [feature.name for feature in cohort.features] == ["age"]
    assert (cohort.n_rows, cohort.n_patients, cohort.event_rate, cohort.has_times) == (N, N, 0.5, True)


def test_causes_are_numbered_in_the_order_of_the_spec() -> None:
    columns = times(status=["relapse", "alive", "other", "died"] * 10)
    outcome = {"event_of_interest": "died", "competing": ["other", "relapse"], "censored": "alive"}
    cohort = intake(columns, horizons=[20], **outcome).cohort
    np.testing.assert_array_equal(cohort.y, [3, 0, 2, 1] * 10)
    assert cohort.outcome == TimeToEvent("days", "status", "died", (20.0,), ("other", "relapse"), "alive")
    assert isinstance(cohort.outcome, TimeToEvent)
    assert (cohort.outcome.causes, cohort.outcome.n_causes) == (("died", "other", "relapse"), 3)
    assert cohort.event_rate == 0.25


def test_rows_without_a_time_or_event_are_dropped_counted_and_warned_of() -> None:
    days: list[object] = [*range(1, N - 2), "", "NA", 38]
    found = intake(times(days=days, status=[*[1, 0] * 18, "", 1, 0, 1]))
    assert (found.n_rows, found.n_dropped, found.cohort.n_rows) == (N, 3, N - 3)
    assert "3 of 40 rows were dropped: the time 'days' or the event 'status' is missing" in found.warnings
    np.testing.assert_array_equal(found.cohort.time, [*range(1, 37), 38])


def test_times_of_zero_are_dropped_and_their_events_counted() -> None:
    found = intake(times(days=[0, 0, 0, *range(4, N + 1)]))
    assert found.n_dropped == 3
    assert (
        "3 of 40 rows were dropped: the time 'days' is 0, which leaves nothing to predict; 2 events among them: give a "
        "small time to what is to count"
    ) in found.warnings
    assert found.cohort.time is not None
    assert found.cohort.time.min() == 4


def test_times_that_cannot_be_are_faults() -> None:
    detail = the_fault(times(days=[-1, 2, -3, *range(4, N + 1)]), "/file/columns/days", **survival())
    assert detail == "2 times are negative: rows 2, 4"
    detail = the_fault(times(days=["soon", *range(2, N + 1)]), "/file/columns/days", **survival())
    assert detail.startswith("1 cell is no number: row 2;")
    detail = the_fault(times(days=["inf", *range(2, N + 1)]), "/file/columns/days", **survival())
    assert detail == "1 cell is infinite or beyond 1e+100: row 2"
    detail = the_fault(times(days=[""] * 21 + list(range(1, 20))), "/file/columns/days", **survival())
    assert detail == "the time is missing in 21 of 40 rows; at most half may lack it"
    detail = the_fault(times(status=[""] * 21 + [0, 1] * 9 + [1]), "/file/columns/status", **survival())
    assert detail == "the event is missing in 21 of 40 rows; at most half may lack it"
    detail = the_fault(times(status=[""] * N), "/file/columns/status", **survival())
    assert detail == "the event has no value in any row"


def test_events_that_nobody_has_explained_are_named_with_their_counts() -> None:
    columns = times(status=[0, 1, 2, 3] * 10)
    detail = the_fault(columns, "/spec/outcome/competing", **survival(event_of_interest=1))
    assert detail.startswith(
        "beside '0' (censored) and the events that are named, column 'status' has 2 values, that of row 4 (10 rows), "
        "that of row 5 (10 rows): name "
    )
    detail = the_fault(columns, "/spec/outcome/event_of_interest", **survival())
    assert detail == (
        "must be given: column 'status' has 4 values, that of row 2 (10 rows), that of row 3 (10 rows), that of row 4 "
        "(10 rows), that of row 5 (10 rows)"
    )


@pytest.mark.parametrize("outcome", [{}, {"competing": ["1"]}, {"censored": "1"}])
def test_the_event_of_interest_has_a_default_only_where_the_codes_are_plain(outcome: dict[str, Any]) -> None:
    columns = times(status=[1, 2] * 20)
    (fault,) = find_faults(columns, **survival(**outcome))
    assert (fault.pointer, fault.detail[:13]) == ("/spec/outcome/event_of_interest", "must be given")


def test_causes_that_no_row_has_are_faults() -> None:
    faults = find_faults(times(), **survival(event_of_interest="died", competing=[3]))
    assert {fault.pointer for fault in faults} == {
        "/spec/outcome/event_of_interest",
        "/spec/outcome/competing/0",
        "/spec/outcome/competing",
    }
    expected = "no row has '3' in column 'status', which has 2 values, that of row 2 (20 rows), that of row 3 (20 rows)"
    assert expected in {f.detail for f in faults}


def test_too_few_events_of_interest_are_a_fault() -> None:
    columns = times(status=[1] * 4 + [0] * 36)
    assert the_fault(columns, "/file/columns/status", **survival()) == (
        "4 patients with the event of interest '1' and a time above 0; at least 5 are needed"
    )
    zero = times(days=[0, *range(2, N + 1)], status=[1] * 5 + [0] * 35)
    assert "4 patients" in the_fault(zero, "/file/columns/status", **survival())


def test_horizons_that_the_follow_up_does_not_bear_are_faults_with_the_bound() -> None:
    faults = find_faults(times(), **survival(horizons=[8.9, 9, 35, 36, 400]))
    assert {fault.pointer: fault.detail for fault in faults} == {
        "/spec/outcome/horizons/0": (
            "8.9 is too early: 4 patients with the event of interest by then, at least 5 are needed; a horizon must be "
            "9 or later"
        ),
        "/spec/outcome/horizons/3": (
            "36 is too far ahead: 4 patients are followed beyond it, at least 5 are needed; a horizon must be below 36"
        ),
        "/spec/outcome/horizons/4": (
            "400 is too far ahead: 0 patients are followed beyond it, at least 5 are needed; a horizon must be below 36"
        ),
    }


def test_default_horizons_are_those_quartiles_that_can_be_used() -> None:
    found = intake(times(status=[1] * 10 + [0] * 30))
    assert found.cohort.horizons == (5.5, 7.75)
    assert any(text.startswith("of the quartiles of the event times 3.25 is too early") for text in found.warnings)
    late = times(status=[0] * 35 + [1] * 5)
    detail = the_fault(late, "/spec/outcome/horizons", **survival())
    assert detail.startswith("no quartile of the event times can be used: 37 is too far ahead")


def test_doubtful_follow_up_is_warned_of() -> None:
    found = intake(times(status=[1] * N))
    assert "no patient is censored: column 'status' has no '0' among the rows with a time" in found.warnings
    rare = intake(times(status=[1, 0] * 18 + [2] * 4), event_of_interest=1, competing=[2], horizons=[20])
    assert "the competing event '2' has 4 patients: its risk is hardly known" in rare.warnings
    told = intake(times(weeks=[day / 7 for day in range(1, N + 1)]))
    assert not any("gives the follow-up time away" in text for text in told.warnings)  # of so few nobody can say
    many = {name: list(values) * 2 for name, values in times().items()}
    many["weeks"] = [day / 7 for day in range(1, N + 1)] * 2
    many["days"] = list(range(1, 2 * N + 1))[::2] + list(range(2, 2 * N + 2))[::2]
    told = intake(dict(many))
    assert any(text.startswith("column 'weeks' alone gives the follow-up time away") for text in told.warnings)


def test_a_column_of_the_outcome_has_one_part_to_play() -> None:
    faults = find_faults(times(), **survival(), ignore=["days"], groups="status", features={"days": {}})
    assert {fault.pointer: fault.detail for fault in faults} == {
        "/spec/ignore": "'days' is the outcome's time and cannot be ignored",
        "/spec/groups": "'status' is the outcome's event and cannot be the groups",
        "/spec/features/days": "'days' is the outcome's time and cannot be a feature too",
    }


def test_columns_that_are_not_there_and_bad_cells_come_at_once() -> None:
    columns = times(age=["old", *range(39)])
    faults = find_faults(columns, mode="survival", outcome={"time": "dyas", "event": "stats"})
    assert {fault.pointer: fault.detail for fault in faults}.items() >= {
        "/spec/outcome/time": "the file has no column 'dyas'; did you mean 'days'?",
        "/spec/outcome/event": "the file has no column 'stats'; did you mean 'status'?",
    }.items()
    faults = find_faults(times(days=[-1, *range(2, N + 1)], status=[0, 2] * 20, age=["old", *range(39)]), **survival())
    assert {fault.pointer for fault in faults} == {
        "/file/columns/days",
        "/spec/outcome/event_of_interest",
        "/file/columns/age",
    }


@pytest.mark.parametrize("name", sorted(EVENT_SPECS))
def test_real_cohorts_are_read_as_they_are_described(name: str) -> None:
    described = {
        "whas500": (500, 500, {"1": 215}, 285), "gbsg2": (686, 686, {"1": 299}, 387),
        "veteran": (137, 137, {"1": 128}, 9), "lung": (228, 228, {"1": 165}, 63),
        "mgus2": (1384, 1384, {"1": 115, "2": 860}, 409), "framingham_cr": (4215, 4215, {"1": 996, "2": 753}, 2466),
        "pbc_cr": (418, 418, {"1": 161, "2": 25}, 232), "bmt137": (137, 137, {"1": 42, "2": 41}, 54),
        "pbcseq": (1945, 312, {"1": 140, "2": 29}, 143),
    }  # fmt: skip
    cohort = event_cohort(name)
    n_rows, n_patients, events, n_censored = described[name]
    assert (cohort.n_rows, cohort.n_patients) == (n_rows, n_patients)
    per_patient = cohort.y if cohort.visits is None else pd.Series(cohort.y).groupby(cohort.visits.patient).first()
    counts = np.bincount(per_patient)
    assert counts.tolist() == [n_censored, *events.values()]


def test_rows_in_any_order_give_the_same_patients() -> None:
    columns = times()
    shuffled = np.random.default_rng(0).permutation(N)
    first, second = intake(columns).cohort, intake({k: [v[i] for i in shuffled] for k, v in columns.items()}).cohort
    assert_same_rows(first, second, shuffled)


def assert_same_rows(first: Cohort, second: Cohort, order: np.ndarray[Any, Any]) -> None:
    assert (first.outcome, first.features) == (second.outcome, second.features)
    taken = first.take(order)
    np.testing.assert_array_equal(taken.X, second.X)
    np.testing.assert_array_equal(taken.y, second.y)
    assert taken.time is not None
    assert second.time is not None
    np.testing.assert_array_equal(taken.time, second.time)
