from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from autoprog.cohort import Cohort, Feature, WindowSchema, encode_visits, windowed
from autoprog.errors import InvalidInputError
from tests.cohort.test_windows import simulated
from tests.cohorts import event_cohort

SCHEMA = WindowSchema(
    (
        Feature("bili", "numeric", minimum=0.2, maximum=20),
        Feature("sex", "binary", ("f", "m")),
        Feature("stage", "categorical", ("a", "b")),
    ),
    (True, False, True),
)
VISIT: dict[str, object] = {"day": 0, "bili": 1.5, "sex": "f", "stage": "a"}


def histories(cohort: Cohort) -> tuple[list[dict[str, Any]], list[int]]:
    """Each visit of a cohort as the last one of a patient, as a client would send it; and every patient's last rows."""
    assert cohort.visits is not None
    visits = cohort.visits
    patients: list[dict[str, Any]] = []
    for row in range(cohort.n_rows):
        so_far = np.flatnonzero((visits.patient == visits.patient[row]) & (visits.time <= visits.time[row]))
        patients.append({"visits": [visit_of(cohort, int(r)) for r in so_far]})
    return patients, list(range(cohort.n_rows))


def visit_of(cohort: Cohort, row: int) -> dict[str, object]:
    assert cohort.visits is not None
    cells: dict[str, object] = {"day": float(cohort.visits.time[row])}
    for feature, value in zip(cohort.features, cohort.X[row].tolist(), strict=True):
        known = None if math.isnan(value) else value
        cells[feature.name] = known if known is None or not feature.levels else feature.levels[int(known)]
    return cells


def find_faults(*patients: Any) -> dict[str, str]:
    with pytest.raises(InvalidInputError) as caught:
        encode_visits(SCHEMA, "day", patients, 3)
    return {fault.pointer: fault.detail for fault in caught.value.faults}


@pytest.mark.parametrize("window", [1, 3, 50])
@pytest.mark.parametrize("name", ["simulated", "pbcseq"])
def test_new_patients_get_the_numbers_of_the_cohort(name: str, window: int) -> None:
    cohort = simulated() if name == "simulated" else event_cohort("pbcseq").take(np.arange(200))
    schema = WindowSchema.of(cohort)
    patients, rows = histories(cohort)
    rng = np.random.default_rng(0)
    for patient in patients:
        rng.shuffle(patient["visits"])  # in any order
    encoded = encode_visits(schema, "day", patients, window)
    np.testing.assert_array_equal(encoded.X, windowed(cohort, window, schema).X[rows])


def test_warnings_are_of_the_window_alone() -> None:
    visits = [
        {**VISIT, "day": 0, "bili": 99},
        {**VISIT, "day": 1, "stage": "x"},
        {**VISIT, "day": 2, "bili": 50},
        {**VISIT, "day": 3, "bili": None},
    ]
    (warnings,) = encode_visits(SCHEMA, "day", [{"visits": visits}], 3).warnings
    assert warnings == (
        "stage 'x' was never seen in training and is treated as missing",
        "bili 50 is outside the training range 0.2 to 20",
    )
    (warnings,) = encode_visits(SCHEMA, "day", [{"visits": visits}], 1).warnings
    assert warnings == ("bili was imputed",)


def test_what_never_changes_is_carried_forward_from_any_visit() -> None:
    visits = [VISIT, *({**VISIT, "day": day, "sex": None} for day in (1, 2, 3))]
    encoded = encode_visits(SCHEMA, "day", [{"visits": visits}], 2)
    place = [feature.name for feature in SCHEMA.windowed].index("sex")
    assert encoded.X[0, place] == 0
    assert encoded.warnings == ((),)
    nowhere = [{**visit, "sex": None} for visit in visits]
    assert encode_visits(SCHEMA, "day", [{"visits": nowhere}], 2).warnings == (("sex was imputed",),)


@pytest.mark.parametrize(
    ("patient", "pointer", "words"),
    [
        ({}, "/patients/0/visits", "none is there"),
        ({"visits": None}, "/patients/0/visits", "none is there"),
        ({"visits": []}, "/patients/0/visits", "it is empty"),
        ({"visits": {"day": 0}}, "/patients/0/visits", "it is no list"),
        ({"visits": "none"}, "/patients/0/visits", "it is no list"),
        ({"visits": [3]}, "/patients/0/visits/0", "give a visit as an object"),
        ({"visits": [VISIT], "sex": "f"}, "/patients/0/sex", "unknown; a patient has `visits`"),
        ({"visits": [{**VISIT, "day": None}]}, "/patients/0/visits/0/day", "the time of the visit is missing"),
        (
            {"visits": [{"bili": 1, "sex": "f", "stage": "a"}]},
            "/patients/0/visits/0/day",
            "the time of the visit is missing",
        ),
        (
            {"visits": [{**VISIT, "day": "May"}]},
            "/patients/0/visits/0/day",
            "expected a number, got a text that is no number",
        ),
        ({"visits": [{**VISIT, "day": math.inf}]}, "/patients/0/visits/0/day", "expected a finite number"),
        ({"visits": [VISIT, VISIT, {**VISIT, "day": 2}]}, "/patients/0/visits", "2 visits at one time: numbers 0, 1"),
        ({"visits": [VISIT, {"day": 1, "sex": "f", "stage": "a"}]}, "/patients/0/visits/1/bili", "missing; send null"),
        ({"visits": [{**VISIT, "bilirubin": 1}]}, "/patients/0/visits/0/bilirubin", "no feature of this name"),
        ({"visits": [{**VISIT, "bili": "high"}]}, "/patients/0/visits/0/bili", "expected a number"),
    ],
)
def test_visits_that_cannot_be_read_are_faults(patient: Any, pointer: str, words: str) -> None:
    faults = find_faults(patient)
    assert list(faults) == [pointer]
    assert words in faults[pointer]


def test_all_faults_of_all_patients_come_at_once() -> None:
    faults = find_faults({"visits": [{**VISIT, "day": None, "bili": "x"}]}, {}, {"visits": [{**VISIT, "stage": [1]}]})
    assert faults.keys() == {
        "/patients/0/visits/0/day",
        "/patients/0/visits/0/bili",
        "/patients/1/visits",
        "/patients/2/visits/0/stage",
    }
    assert find_faults() == {"/patients": "send at least one patient"}
