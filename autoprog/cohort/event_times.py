"""Read the columns of event times: follow-up, and how it ended."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort.canonical import short
from autoprog.cohort.cells import Cells, read_cells
from autoprog.cohort.follow_up import default_horizons, horizon_fault
from autoprog.cohort.inference import number_faults, places_of_values
from autoprog.cohort.messages import column_pointer, count_text, examples, listed, pointer, rows_text
from autoprog.cohort.outcome import TimeToEvent
from autoprog.cohort.outcome_column import FEWEST_OF_A_CLASS, OutcomeRows, missing_faults
from autoprog.cohort.outcome_spec import EventSpec, TimeToEventSpec
from autoprog.cohort.table import Table
from autoprog.errors import Fault

UNKNOWN = -1
"""Code of a row whose event is missing."""

_INTEREST = "/spec/outcome/event_of_interest"


@dataclass(frozen=True, eq=False)
class Events:
    """End of follow-up of each row."""

    causes: tuple[str, ...]  # canonical texts, the event of interest first; empty with faults
    y: NDArray[np.int8]  # int8, shape = (n_rows,); 0 censored, 1 and more the causes in order, or `UNKNOWN`
    faults: tuple[Fault, ...]


def read_events(
    table: Table, spec: EventSpec, na_values: Sequence[str], patient: NDArray[np.int64] | None = None
) -> Events:
    """Read the event column; values that the spec does not explain and causes without a row are faults."""
    named = [spec.censored, *spec.competing, *([spec.event_of_interest] if spec.event_of_interest else [])]
    cells = read_cells(table.columns[spec.event], na_values=na_values, levels=named, decimal_comma=table.decimal_comma)
    texts = cells.canonical()
    places = places_of_values(cells, table.lines)
    unknown = np.full(len(cells.column.codes), UNKNOWN, dtype=np.int8)
    plain = places.keys() <= {"0", "1"} and spec.censored == "0" and "1" not in spec.competing
    interest = spec.event_of_interest or ("1" if plain else None)
    faults = _faults(cells, spec, interest, places, patient)
    if faults or interest is None:
        return Events((), unknown, tuple(faults))
    causes = (interest, *spec.competing)
    codes = {text: code for code, text in enumerate((spec.censored, *causes))}
    by_text = [UNKNOWN if missing else codes[text] for missing, text in zip(cells.missing, texts, strict=True)]
    return Events(causes, np.array(by_text, dtype=np.int8)[cells.column.codes], ())


def _faults(
    cells: Cells,
    spec: EventSpec,
    interest: str | None,
    places: Mapping[str, tuple[int, int]],
    patient: NDArray[np.int64] | None,
) -> list[Fault]:
    place = column_pointer(spec.event)
    if not places:
        return [Fault(place, "the event has no value in any row")]
    found = _values_text(places.values())
    column, shown = short(spec.event, 60), examples(sorted(places))
    faults = missing_faults(cells, "the event", patient)
    if interest is None:
        faults.append(Fault(_INTEREST, f"must be given: column {column} has {found}", shown))
        return faults
    competing = [(pointer("spec", "outcome", "competing", i), cause) for i, cause in enumerate(spec.competing)]
    faults += [
        Fault(at, f"no row has {short(cause)} in column {column}, which has {found}", shown)
        for at, cause in [(_INTEREST, interest), *competing]
        if cause not in places
    ]
    explained = {spec.censored, interest, *spec.competing}
    unexplained = {value: places[value] for value in places if value not in explained}
    if unexplained:
        detail = (
            f"beside {short(spec.censored)} (censored) and the events that are named, column {column} has "
            f"{_values_text(unexplained.values())}: name what may come before the event of interest here, what means "
            "censored in censored, and what is unknown in na_values"
        )
        faults.append(Fault("/spec/outcome/competing", detail, examples(sorted(unexplained))))
    return faults


def _values_text(places: Collection[tuple[int, int]]) -> str:
    """Count the values and give each one's first row: `2 values, that of row 2 (30 rows), that of row 5 (1 row)`."""
    each = (f"that of row {line} ({count_text(count, 'row')})" for line, count in sorted(places))
    return f"{count_text(len(places), 'value')}, {listed(each, len(places))}"


@dataclass(frozen=True, eq=False)
class EventTimes:
    """Times and events of all rows; with faults, `time` and `y` are meaningless."""

    causes: tuple[str, ...]  # canonical texts, the event of interest first
    time: NDArray[np.float64]  # float64, shape = (n_rows,); at least 0, NaN where missing
    y: NDArray[np.int8]  # int8, shape = (n_rows,); 0 censored, 1 and more the causes, or `UNKNOWN`
    faults: tuple[Fault, ...]

    @property
    def known(self) -> NDArray[np.bool_]:
        """Rows with a time and an event, shape = (n_rows,)."""
        known: NDArray[np.bool_] = ~np.isnan(self.time) & (self.y != UNKNOWN)
        return known


def read_event_times(
    table: Table, spec: EventSpec, na_values: Sequence[str], patient: NDArray[np.int64] | None = None
) -> EventTimes:
    """Read the time and event columns, with the faults of both; of visits, `patient` has each row's code."""
    time, faults = read_times(table, spec.time, na_values, patient)
    negative = np.flatnonzero(time < 0)
    if len(negative):
        are = "1 time is" if len(negative) == 1 else f"{len(negative):,} times are"
        faults.append(Fault(column_pointer(spec.time), f"{are} negative: {rows_text(table.lines[negative])}"))
    if not np.isfinite(time).any() and not faults:
        faults.append(Fault(column_pointer(spec.time), "the time has no value in any row"))
    events = read_events(table, spec, na_values, patient)
    return EventTimes(events.causes, time, events.y, (*faults, *events.faults))


def read_times(
    table: Table, name: str, na_values: Sequence[str], patient: NDArray[np.int64] | None = None
) -> tuple[NDArray[np.float64], list[Fault]]:
    """Read a time column as float64, NaN where missing, with its faults."""
    cells = read_cells(table.columns[name], numeric=True, na_values=na_values, decimal_comma=table.decimal_comma)
    faults = number_faults(cells, table.lines) + missing_faults(cells, "the time", patient)
    return np.where(cells.missing, np.nan, cells.numbers)[cells.column.codes], faults


def read_survival(table: Table, spec: TimeToEventSpec, na_values: Sequence[str]) -> OutcomeRows:
    """Read a survival outcome: the rows with a time above 0 and an event."""
    times = read_event_times(table, spec, na_values)
    if times.faults:
        return OutcomeRows.refused(times.faults, table.n_rows)
    rows = np.flatnonzero(times.known & (times.time > 0))
    time, y = times.time[rows], times.y[rows]
    faults = few_events_fault(spec, times.causes, y)
    warnings = [*_dropped(times, spec), *uncensored_warning(spec, y), *_rare_causes(times.causes, y)]
    horizons: tuple[float, ...] = spec.horizons or ()
    if not faults and spec.horizons is None:
        horizons, left_out = default_horizons(time, time[y == 1])
        warnings += [f"of the quartiles of the event times {reason}" for reason in left_out]
        if not horizons:
            faults = (Fault("/spec/outcome/horizons", f"no quartile of the event times can be used: {left_out[0]}"),)
    elif not faults:
        reasons = [horizon_fault(h, time, time[y == 1]) for h in horizons]
        places = [pointer("spec", "outcome", "horizons", i) for i in range(len(horizons))]
        faults = tuple(Fault(at, reason) for at, reason in zip(places, reasons, strict=True) if reason)
    if faults:
        return OutcomeRows.refused(faults, table.n_rows)
    outcome = TimeToEvent(
        spec.time, spec.event, times.causes[0], horizons, times.causes[1:], spec.censored, spec.label, spec.time_unit
    )
    return OutcomeRows(outcome, rows, y, time=time, warnings=tuple(warnings))


def few_events_fault(spec: EventSpec, causes: Sequence[str], y: NDArray[np.int8]) -> tuple[Fault, ...]:
    """Report a fault if fewer than `FEWEST_OF_A_CLASS` patients have the event of interest."""
    n = int((y == 1).sum())
    if n >= FEWEST_OF_A_CLASS:
        return ()
    patients = f"{count_text(n, 'patient')} with the event of interest {short(causes[0])} and a time above 0"
    return (Fault(column_pointer(spec.event), f"{patients}; at least {FEWEST_OF_A_CLASS} are needed"),)


def uncensored_warning(spec: EventSpec, y: NDArray[np.int8]) -> list[str]:
    """Warn if nobody is censored, which is rare enough to suggest a mistake in the spec."""
    if (y == 0).any():
        return []
    column = short(spec.event, 60)
    return [f"no patient is censored: column {column} has no {short(spec.censored)} among the rows with a time"]


def _rare_causes(causes: Sequence[str], y: NDArray[np.int8]) -> list[str]:
    counts = np.bincount(y, minlength=len(causes) + 1)[2:].tolist()
    return [
        f"the competing event {short(cause)} has {count_text(n, 'patient')}: its risk is hardly known"
        for cause, n in zip(causes[1:], counts, strict=True)
        if n < FEWEST_OF_A_CLASS
    ]


def _dropped(times: EventTimes, spec: EventSpec) -> list[str]:
    """Warn of rows without a time or event, and of rows with a time of 0."""
    warnings: list[str] = []
    n_rows = len(times.y)
    n_unknown = int((~times.known).sum())
    if n_unknown:
        verb = "was" if n_unknown == 1 else "were"
        columns = f"the time {short(spec.time, 60)} or the event {short(spec.event, 60)} is missing"
        warnings.append(f"{n_unknown:,} of {count_text(n_rows, 'row')} {verb} dropped: {columns}")
    zero = times.known & (times.time == 0)
    if zero.any():
        n, n_events = int(zero.sum()), int((times.y[zero] > 0).sum())
        verb = "was" if n == 1 else "were"
        reason = f"the time {short(spec.time, 60)} is 0, which leaves nothing to predict"
        advice = f"; {count_text(n_events, 'event')} among them: give a small time to what is to count"
        warnings.append(f"{n:,} of {count_text(n_rows, 'row')} {verb} dropped: {reason}{advice if n_events else ''}")
    return warnings
