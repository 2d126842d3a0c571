"""Whatever a file of times or visits holds: a cohort that keeps its word, or an error with a name."""

from __future__ import annotations

import csv
import io
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autoprog.cohort import (
    Cohort,
    CohortSpec,
    follow_up,
    from_parquet,
    parse_spec,
    read_cohort,
    sample_size,
    to_parquet,
    windowed,
)
from autoprog.errors import AutoprogError, Fault, InvalidInputError

SURVIVAL: dict[str, Any] = {"time": "days", "event": "status", "event_of_interest": 1}
VISITS: dict[str, Any] = {**SURVIVAL, "patient": "id", "visit_time": "visit", "horizon": 12}
LABELS: dict[str, Any] = {"patient": "id", "visit_time": "visit", "horizon": 12, "column": "status", "positive": 1}

_CELLS = ["", "NA", "0", "1", "2", "1.0", "3.5", "-1", "inf", "x", "1e300", "1e-300"]
CELL = st.one_of(st.sampled_from(_CELLS), st.text(max_size=3))
ROWS = st.lists(st.tuples(*[CELL] * 5), max_size=12)


def spec_of(mode: str, outcome: dict[str, Any]) -> CohortSpec:
    ignore = ["id"] if mode == "survival" else []
    return parse_spec({"name": "test", "mode": mode, "outcome": outcome, "ignore": ignore})


def content_of(rows: list[tuple[str, ...]]) -> bytes:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["id", "visit", "days", "status", "age"])
    sound = [(f"p{i // 3}", str(i % 3), str(i // 3 + 3), str(i // 3 % 2), str(i % 7 + 0.5)) for i in range(90)]
    writer.writerows([*sound, *rows])
    return out.getvalue().encode("utf-8", "replace")


def assert_keeps_its_word(cohort: Cohort) -> None:
    n = cohort.n_rows
    assert cohort.X.shape == (n, len(cohort.features))
    assert cohort.y.shape == (n,)
    assert cohort.y.min() >= 0
    event = cohort.time_to_event
    if event is None:
        assert cohort.time is None
    else:
        assert cohort.time is not None
        assert np.isfinite(cohort.time).all()
        assert cohort.time.min() > 0
        assert cohort.y.max() <= event.n_causes
        assert follow_up(cohort) is not None
    if cohort.visits is not None:
        patient, time = cohort.visits.patient, cohort.visits.time
        same = np.diff(patient) == 0
        assert (np.diff(patient) >= 0).all()
        assert (np.diff(time)[same] > 0).all()
        assert patient.tolist() == np.unique(patient, return_inverse=True)[1].tolist()
        assert not np.isinf(windowed(cohort, 2).X).any()
    assert sample_size(cohort).riley_minimum > 0
    assert to_parquet(from_parquet(to_parquet(cohort))) == to_parquet(cohort)


@pytest.mark.parametrize(
    ("mode", "outcome"),
    [
        ("survival", SURVIVAL),
        ("survival", {**SURVIVAL, "competing": [2], "horizons": [8]}),
        ("temporal", VISITS),
        ("temporal", LABELS),
    ],
    ids=["survival", "competing", "visits", "labels"],
)
@given(rows=ROWS)
@settings(max_examples=60, deadline=None)
def test_whatever_a_table_holds_the_answer_has_a_name(
    mode: str, outcome: dict[str, Any], rows: list[tuple[str, ...]]
) -> None:
    faults: tuple[Fault, ...] = ()
    try:
        intake = read_cohort(content_of(rows), spec_of(mode, outcome))
    except InvalidInputError as error:
        faults = error.faults
    except AutoprogError:
        return
    assert all(fault.pointer.startswith(("/file", "/spec")) for fault in faults)
    if not faults:
        assert intake.n_rows == intake.cohort.n_rows + intake.n_dropped
        assert_keeps_its_word(intake.cohort)


@pytest.mark.parametrize("outcome", [SURVIVAL, VISITS, LABELS], ids=["survival", "visits", "labels"])
def test_the_sound_rows_alone_are_a_cohort(outcome: dict[str, Any]) -> None:
    mode = "temporal" if "patient" in outcome else "survival"
    intake = read_cohort(content_of([]), spec_of(mode, outcome))
    assert (intake.cohort.n_rows, intake.n_dropped) == (90, 0)
    assert intake.cohort.n_patients == (90 if mode == "survival" else 30)
    assert_keeps_its_word(intake.cohort)
