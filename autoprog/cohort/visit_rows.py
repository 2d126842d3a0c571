"""Read a file of visits: check and sort patients and times, and read the outcome at each visit.

Arrays have a value for each row of the file, in its order, or for each visit of the cohort, by patient and time:

kept      rows of the file that are visits of the cohort, in its order: `x[kept]` brings the former to the latter
earlier   rows of the file that are no visits of the cohort, but in windows of later ones
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort.canonical import short
from autoprog.cohort.cells import read_cells
from autoprog.cohort.event_times import UNKNOWN, EventTimes, few_events_fault, read_event_times, uncensored_warning
from autoprog.cohort.follow_up import horizon_fault
from autoprog.cohort.inference import number_faults, observed_values, sort_levels
from autoprog.cohort.messages import column_pointer, count_text, rows_text
from autoprog.cohort.outcome import TimeToEvent, Visits
from autoprog.cohort.outcome_column import EarlierRows, OutcomeRows, class_faults, dropped_warning, read_labels
from autoprog.cohort.outcome_spec import VisitEventSpec, VisitLabelSpec
from autoprog.cohort.table import Table
from autoprog.cohort.visits import VisitTable
from autoprog.errors import Fault

_DIGITS = 10  # precision of the follow-up left at a visit


@dataclass(frozen=True, eq=False)
class _Keys:
    """Patient and time of each row's visit; with faults they may be missing, the patient as -1."""

    patient: NDArray[np.int64]
    visit_time: NDArray[np.float64]
    faults: tuple[Fault, ...]


def read_visit_events(table: Table, spec: VisitEventSpec, na_values: Sequence[str]) -> OutcomeRows:
    """Read visits before the end of follow-up, by patient and time, with the follow-up left at each."""
    keys = _read_keys(table, spec, na_values)
    times = read_event_times(table, spec, na_values, _renumber(keys.patient))
    faults = keys.faults + times.faults
    if not keys.faults and not times.faults:
        faults = _inconstant(table, spec, keys, times)
    if faults:
        return OutcomeRows.refused(faults, table.n_rows)
    times = _of_patients(keys, times)
    left = _difference(times.time, keys.visit_time)
    kept = _select(keys, times.known & (left > 0))
    visits = VisitTable(_renumber(keys.patient[kept]), keys.visit_time[kept])
    time, y = left[kept], times.y[kept]
    faults = _horizon_faults(spec, times.causes, visits, time, y)
    if faults:
        return OutcomeRows.refused(faults, table.n_rows)
    warnings = [
        *_dropped(times, left, spec),
        *uncensored_warning(spec, y),
        *_single_visits(np.bincount(visits.patient)),
    ]
    causes, unit = times.causes, spec.time_unit
    event = TimeToEvent(spec.time, spec.event, causes[0], (spec.horizon,), causes[1:], spec.censored, spec.label, unit)
    outcome = Visits(spec.patient, spec.visit_time, spec.horizon, event, unit)
    return OutcomeRows(outcome, kept, y, time=time, visits=visits, warnings=tuple(warnings))


def read_visit_labels(table: Table, spec: VisitLabelSpec, na_values: Sequence[str]) -> OutcomeRows:
    """Read visits with a label, by patient and time, and the unlabelled ones that their windows include."""
    keys = _read_keys(table, spec, na_values)
    labels = read_labels(table, spec, na_values, _renumber(keys.patient))
    faults = keys.faults + labels.faults
    if faults or labels.outcome is None:
        return OutcomeRows.refused(faults, table.n_rows)
    kept = _select(keys, labels.known)
    visits = VisitTable(_renumber(keys.patient[kept]), keys.visit_time[kept])
    earlier = _find_earlier(keys, kept, labels.known)
    y = labels.positive[kept]
    n_with, n_without = (len(np.unique(visits.patient[y == label])) for label in (1, 0))
    faults = class_faults(spec.column, n_with, n_without)
    if faults:
        return OutcomeRows.refused(faults, table.n_rows)
    outcome = Visits(spec.patient, spec.visit_time, spec.horizon, labels.outcome, spec.time_unit)
    n_visits = np.bincount(visits.patient) + np.bincount(earlier.visits.patient, minlength=visits.n_patients)
    dropped = dropped_warning(spec.column, labels, n_looked_back_on=len(earlier.rows))
    warnings = (*dropped, *_single_visits(n_visits))
    found = earlier if len(earlier.rows) else None
    return OutcomeRows(outcome, kept, y, visits=visits, earlier=found, warnings=warnings)


def _read_keys(table: Table, spec: VisitEventSpec | VisitLabelSpec, na_values: Sequence[str]) -> _Keys:
    cells = read_cells(table.columns[spec.patient], numeric=False, na_values=na_values)
    names = sort_levels(observed_values(cells))
    codes = {name: code for code, name in enumerate(names)}
    by_text = np.array([codes.get(text, -1) for text in cells.canonical()], dtype=np.int64)
    patient = np.where(cells.missing, -1, by_text)[cells.column.codes]
    times = read_cells(
        table.columns[spec.visit_time], numeric=True, na_values=na_values, decimal_comma=table.decimal_comma
    )
    faults = number_faults(times, table.lines)
    visit_time = np.where(times.missing, np.nan, times.numbers)[times.column.codes]
    for name, lacking, what in (
        (spec.patient, np.flatnonzero(patient < 0), "a patient"),
        (spec.visit_time, times.rows_with(times.missing), "a time of the visit"),
    ):
        if len(lacking):
            detail = f"{count_text(len(lacking), 'row')} without {what}: {rows_text(table.lines[lacking])}"
            faults.append(Fault(column_pointer(name), detail))
    if not faults:
        faults = _repeated_visits(table, spec, patient, visit_time)
    return _Keys(patient, visit_time, tuple(faults))


def _repeated_visits(
    table: Table,
    spec: VisitEventSpec | VisitLabelSpec,
    patient: NDArray[np.int64],
    visit_time: NDArray[np.float64],
) -> list[Fault]:
    order = np.lexsort((np.arange(len(patient)), visit_time, patient))
    p, t = patient[order], visit_time[order]
    again = np.sort(order[1:][(p[1:] == p[:-1]) & (t[1:] == t[:-1])])
    if not len(again):
        return []
    repeat = "1 visit has" if len(again) == 1 else f"{len(again):,} visits have"
    detail = f"{repeat} the time of an earlier row of the same patient: {rows_text(table.lines[again])}"
    return [Fault(column_pointer(spec.visit_time), detail)]


def _of_patients(keys: _Keys, times: EventTimes) -> EventTimes:
    """Copy a patient's time and event, each from the rows that have it, to all of their visits."""
    n = int(keys.patient.max(initial=-1)) + 1
    time, y = np.full(n, np.nan), np.full(n, UNKNOWN, dtype=times.y.dtype)
    has_time, has_event = np.isfinite(times.time), times.y != UNKNOWN
    time[keys.patient[has_time]], y[keys.patient[has_event]] = times.time[has_time], times.y[has_event]
    return replace(times, time=time[keys.patient], y=y[keys.patient])


def _difference(later: NDArray[np.float64], earlier: NDArray[np.float64]) -> NDArray[np.float64]:
    """Subtract times, rounded to ten digits of the longest."""
    # 0.8 - 0.1 must be 0.7 and not slightly more, which no horizon would reach.
    largest = float(np.nanmax(np.abs(later), initial=1e-9))
    difference: NDArray[np.float64] = np.round(later - earlier, max(0, _DIGITS - 1 - int(np.floor(np.log10(largest)))))
    return difference


def _inconstant(table: Table, spec: VisitEventSpec, keys: _Keys, times: EventTimes) -> tuple[Fault, ...]:
    """List faults for patients whose time or event differs between the rows that have it."""
    faults: list[Fault] = []
    event = np.where(times.y == UNKNOWN, np.nan, times.y)
    for name, values in ((spec.time, times.time), (spec.event, event)):
        known = np.flatnonzero(np.isfinite(values))
        by_patient = known[np.argsort(keys.patient[known], kind="stable")]
        p, v = keys.patient[by_patient], values[by_patient]
        changes = by_patient[1:][(p[1:] == p[:-1]) & (v[1:] != v[:-1])]
        if len(changes):
            n = len(np.unique(keys.patient[changes]))
            where = f"between the visits of {count_text(n, 'patient')}: {rows_text(np.sort(table.lines[changes]))}"
            faults.append(Fault(column_pointer(name), f"changes {where}; all visits of a patient have the same"))
    return tuple(faults)


def _horizon_faults(
    spec: VisitEventSpec, causes: Sequence[str], visits: VisitTable, time: NDArray[np.float64], y: NDArray[np.int8]
) -> tuple[Fault, ...]:
    """Report a fault if too few patients have the event, at all or within the horizon, or are followed beyond it."""
    first = np.flatnonzero(np.diff(visits.patient, prepend=-1))
    faults = few_events_fault(spec, causes, y[first])
    if faults:
        return faults
    last = np.append(first[1:], len(y)) - 1
    # A patient counts once: with the longest time left for the follow-up, with the shortest for the event.
    reason = horizon_fault(spec.horizon, time[first], time[last][y[last] == 1])
    return (Fault("/spec/outcome/horizon", reason),) if reason else ()


def _select(keys: _Keys, is_selected: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return the rows of the file that a mask selects, by patient and time."""
    selected = np.flatnonzero(is_selected)
    return selected[np.lexsort((keys.visit_time[selected], keys.patient[selected]))]


def _find_earlier(keys: _Keys, kept: NDArray[np.intp], known: NDArray[np.bool_]) -> EarlierRows:
    """Select the visits without a label before their patient's last labelled one."""
    last = np.full(int(keys.patient.max(initial=-1)) + 1, -np.inf)
    last[keys.patient[kept]] = keys.visit_time[kept]  # ascending within a patient
    earlier = _select(keys, ~known & (keys.visit_time < last[keys.patient]))
    codes = np.searchsorted(np.unique(keys.patient[kept]), keys.patient[earlier])
    return EarlierRows(earlier, VisitTable(codes.astype(np.int64), keys.visit_time[earlier]))


def _renumber(patient: NDArray[np.int64]) -> NDArray[np.int64]:
    """Renumber patients without gaps, in the same order."""
    codes: NDArray[np.int64] = np.unique(patient, return_inverse=True)[1].astype(np.int64)
    return codes


def _dropped(times: EventTimes, left: NDArray[np.float64], spec: VisitEventSpec) -> list[str]:
    warnings: list[str] = []
    n_rows, n_unknown = len(times.y), int((~times.known).sum())
    late = times.known & (left <= 0)
    columns = f"the time {short(spec.time, 60)} or the event {short(spec.event, 60)} is missing"
    for n, reason in ((n_unknown, columns), (int(late.sum()), "not before the end of the patient's follow-up")):
        if n:
            verb = "was" if n == 1 else "were"
            warnings.append(f"{n:,} of {count_text(n_rows, 'visit')} {verb} dropped: {reason}")
    return warnings


def _single_visits(n_visits: NDArray[np.int64]) -> list[str]:
    n = int((n_visits == 1).sum())
    if not n:
        return []
    have = "has" if n == 1 else "have"
    return [
        f"{n:,} of {count_text(len(n_visits), 'patient')} {have} a single visit, which shows nothing of their course"
    ]
