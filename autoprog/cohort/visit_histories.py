"""Encode new patients with their visits for a model of windows: one row per patient, at the last visit."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from autoprog.cohort.messages import capped, count_text, listed, pointer
from autoprog.cohort.patients import (
    EncodedPatients,
    UnusableValueError,
    encode_number,
    encode_records,
    imputed_warning,
)
from autoprog.cohort.schema import Feature
from autoprog.cohort.visits import VisitTable
from autoprog.cohort.windows import WindowSchema, last_observed, visit_order, window_columns
from autoprog.errors import Fault, InvalidInputError


@dataclass
class _Histories:
    """Visits of all patients in sequence, filled while they are read."""

    patient: list[int] = field(default_factory=list)
    time: list[float] = field(default_factory=list)
    records: list[Mapping[str, object]] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)


def encode_visits(
    schema: WindowSchema, visit_time: str, patients: Sequence[Mapping[str, object]], window: int
) -> EncodedPatients:
    """Encode patients with their visits for a model.

    Parameters
    ----------
    schema : WindowSchema
        The model's schema.
    visit_time : str
        The key of a visit's time, in the unit and from the origin of the training file.
    patients : sequence of mapping
        Each `{"visits": [...]}`, in any order. Give all visits so far, not only those of the window: their number and
        the time since the first are features. A visit has its time and every feature of the schema; None is unknown.
    window : int
        Number of visits in a window, at least 1.

    Returns
    -------
    EncodedPatients
        One row per patient, at the last visit, as `windowed` makes it, with the columns of `schema.windowed`. Warns of
        unseen values and of values outside the training range in the window, and of features without any value.

    Raises
    ------
    InvalidInputError
        If visits are empty or no list, a visit has no time, two visits of a patient have the same time, a feature is
        absent, a name is unknown or a value is invalid; lists all such places below `/patients`.
    ValueError
        If the window is shorter than 1.
    """
    histories = _Histories()
    if not patients:
        histories.faults.append(Fault("/patients", "send at least one patient"))
    for i, patient in enumerate(patients):
        _read_history(histories, i, patient, visit_time)
    encoded, faults = encode_records(schema.features, histories.records, histories.places)
    if histories.faults or faults:
        raise InvalidInputError(capped([*histories.faults, *faults], "/patients"))
    codes, time = np.array(histories.patient, dtype=np.int64), np.array(histories.time)
    rows = np.lexsort((time, codes))
    visits, X = VisitTable(codes, time).take(rows), encoded.X[rows]
    latest = np.flatnonzero(np.diff(visits.patient, append=len(patients)))
    columns = [x[latest] for _, x in window_columns(schema, X, visits, window)]
    order = visit_order(visits.patient)
    lacking = [
        np.isnan(last_observed(x, order, window if varies else None)[latest])
        for x, varies in zip(X.T, schema.varying, strict=True)
    ]
    imputed = {imputed_warning(feature): lacks for feature, lacks in zip(schema.features, lacking, strict=True)}
    warnings: list[tuple[str, ...]] = []
    for i, last in enumerate(latest.tolist()):
        looked_back_on = rows[last - min(int(order[last]), window - 1) : last + 1]
        texts = [text for row in looked_back_on for text in encoded.warnings[row] if text not in imputed]
        texts += [text for text, lacks in imputed.items() if lacks[i]]
        warnings.append(tuple(dict.fromkeys(texts)))
    return EncodedPatients(np.column_stack(columns), tuple(warnings))


def _read_history(histories: _Histories, i: int, patient: Mapping[str, object], visit_time: str) -> None:
    place = pointer("patients", i)
    visits = patient.get("visits")
    for name in sorted(map(str, patient.keys() - {"visits"})):
        detail = "unknown; a patient has `visits`, and the features stand in each of them"
        histories.faults.append(Fault(place + pointer(name), detail))
    if not isinstance(visits, list | tuple) or not visits:
        given = "none is there" if visits is None else "it is no list" if visits else "it is empty"
        histories.faults.append(Fault(place + "/visits", f"give the patient's visits so far as a list: {given}"))
        return
    numbers: dict[float, list[int]] = {}
    for j, visit in enumerate(visits):
        time = _read_visit(histories, i, place + pointer("visits", j), visit, visit_time)
        if time is not None:
            numbers.setdefault(time, []).append(j)
    for same in numbers.values():
        if len(same) > 1:
            detail = f"{count_text(len(same), 'visit')} at one time: numbers {listed(map(str, same), len(same))}"
            histories.faults.append(Fault(place + "/visits", detail))


def _read_visit(histories: _Histories, i: int, place: str, visit: object, visit_time: str) -> float | None:
    """Add a visit to the histories and return its time; None if that is invalid."""
    if not isinstance(visit, Mapping):
        histories.faults.append(Fault(place, "give a visit as an object: its time and its features"))
        return None
    time = None
    try:
        time = _read_time(visit, visit_time)
    except UnusableValueError as error:
        histories.faults.append(Fault(place + pointer(visit_time), str(error)))
    histories.patient.append(i)
    histories.time.append(math.nan if time is None else time)
    histories.records.append({name: value for name, value in visit.items() if name != visit_time})
    histories.places.append(place)
    return time


def _read_time(visit: Mapping[str, object], visit_time: str) -> float:
    value = visit.get(visit_time)
    if value is None:
        msg = "the time of the visit is missing"
        raise UnusableValueError(msg)
    return encode_number(Feature(visit_time, "numeric"), value, "a number")[0]
