"""Read the event column, which says how each follow-up ended; every value must be explained by the spec."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort.canonical import short
from autoprog.cohort.cells import Cells, read_cells
from autoprog.cohort.inference import places_of_values
from autoprog.cohort.messages import column_pointer, count_text, listed, pointer
from autoprog.cohort.outcome_column import missing_faults
from autoprog.cohort.outcome_spec import EventSpec
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


def read_events(table: Table, spec: EventSpec, na_values: Sequence[str]) -> Events:
    """Read the event column; values that the spec does not explain and causes without a row are faults."""
    named = [spec.censored, *spec.competing, *([spec.event_of_interest] if spec.event_of_interest else [])]
    cells = read_cells(table.columns[spec.event], na_values=na_values, levels=named, decimal_comma=table.decimal_comma)
    texts = cells.canonical()
    places = places_of_values(cells, table.lines)
    unknown = np.full(len(cells.column.codes), UNKNOWN, dtype=np.int8)
    plain = places.keys() <= {"0", "1"} and spec.censored == "0" and "1" not in spec.competing
    interest = spec.event_of_interest or ("1" if plain else None)
    faults = _faults(cells, spec, interest, places)
    if faults or interest is None:
        return Events((), unknown, tuple(faults))
    causes = (interest, *spec.competing)
    codes = {text: code for code, text in enumerate((spec.censored, *causes))}
    by_text = [UNKNOWN if missing else codes[text] for missing, text in zip(cells.missing, texts, strict=True)]
    return Events(causes, np.array(by_text, dtype=np.int8)[cells.column.codes], ())


def _faults(cells: Cells, spec: EventSpec, interest: str | None, places: Mapping[str, tuple[int, int]]) -> list[Fault]:
    place = column_pointer(spec.event)
    if not places:
        return [Fault(place, "the event has no value in any row")]
    found = _values_text(places.values())
    column = short(spec.event, 60)
    faults = missing_faults(cells, "the event")
    if interest is None:
        faults.append(Fault(_INTEREST, f"must be given: column {column} has {found}"))
        return faults
    competing = [(pointer("spec", "outcome", "competing", i), cause) for i, cause in enumerate(spec.competing)]
    faults += [
        Fault(at, f"no row has {short(cause)} in column {column}, which has {found}")
        for at, cause in [(_INTEREST, interest), *competing]
        if cause not in places
    ]
    explained = {spec.censored, interest, *spec.competing}
    unexplained = [places[value] for value in places if value not in explained]
    if unexplained:
        detail = (
            f"beside {short(spec.censored)} (censored) and the events that are named, column {column} has "
            f"{_values_text(unexplained)}: name what may come before the event of interest here, what means censored "
            "in censored, and what is unknown in na_values"
        )
        faults.append(Fault("/spec/outcome/competing", detail))
    return faults


def _values_text(places: Collection[tuple[int, int]]) -> str:
    """Count the values and give each one's first row: `2 values, that of row 2 (30 rows), that of row 5 (1 row)`."""
    each = (f"that of row {line} ({count_text(count, 'row')})" for line, count in sorted(places))
    return f"{count_text(len(places), 'value')}, {listed(each, len(places))}"
