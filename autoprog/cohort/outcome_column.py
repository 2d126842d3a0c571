"""Read a binary outcome's column: two values, one of them positive, enough patients with each."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort.canonical import short
from autoprog.cohort.cells import Cells, read_cells
from autoprog.cohort.inference import observed_values, read_as_missing, values_text
from autoprog.cohort.messages import column_pointer, count_text, examples
from autoprog.cohort.outcome import Binary
from autoprog.cohort.outcome_spec import BinaryOutcomeSpec
from autoprog.cohort.table import Table
from autoprog.cohort.target import Outcome
from autoprog.cohort.visits import VisitTable
from autoprog.errors import Fault

FEWEST_OF_A_CLASS = 5
"""Minimum number of patients with and without the outcome, at each horizon if there are any."""

MAX_MISSING = 0.5
"""Maximum share of rows without an outcome; of visits, maximum share of patients without one at any visit."""


@dataclass(frozen=True, eq=False)
class EarlierRows:
    """Visits without an outcome that are kept, as the windows of later visits include them."""

    rows: NDArray[np.intp]  # indices in the file, shape = (n_earlier,)
    visits: VisitTable  # with the patient codes of the visits that have an outcome


@dataclass(frozen=True, eq=False)
class OutcomeRows:
    """Rows with an outcome; `y`, `time` and `visits` are as in `Cohort`, without earlier visits."""

    outcome: Outcome | None  # None with faults
    rows: NDArray[np.intp]  # indices in the file, in the cohort's order, shape = (n_kept,)
    y: NDArray[np.int8]
    time: NDArray[np.float64] | None = None
    visits: VisitTable | None = None
    earlier: EarlierRows | None = None  # visits without an outcome that windows of `visits` include
    faults: tuple[Fault, ...] = ()
    warnings: tuple[str, ...] = ()

    @classmethod
    def refused(cls, faults: tuple[Fault, ...], n_rows: int) -> OutcomeRows:
        """Keep the faults and all rows without an outcome, so that faults of other columns are found too."""
        return cls(None, np.arange(n_rows), np.zeros(n_rows, dtype=np.int8), faults=faults)


@dataclass(frozen=True, eq=False)
class Labels:
    """Label of each row from a column of two values."""

    outcome: Binary | None  # None unless the column has two values, one of them the positive one
    known: NDArray[np.bool_]  # rows with a value
    positive: NDArray[np.int8]  # int8; 1 for the positive value, 0 for another or none
    faults: tuple[Fault, ...]


def read_binary(table: Table, spec: BinaryOutcomeSpec, na_values: Sequence[str]) -> OutcomeRows:
    """Read the outcome of a classification cohort: the label of each row that has one, with faults."""
    labels = read_labels(table, spec, na_values)
    rows = np.flatnonzero(labels.known)
    y = labels.positive[rows]
    n_positive = int(y.sum())
    faults = labels.faults
    if labels.outcome is not None:
        faults += class_faults(spec.column, n_positive, len(y) - n_positive)
    outcome = None if faults else labels.outcome
    return OutcomeRows(outcome, rows, y, faults=faults, warnings=dropped_warning(spec.column, labels))


def read_labels(
    table: Table, spec: BinaryOutcomeSpec, na_values: Sequence[str], patient: NDArray[np.int64] | None = None
) -> Labels:
    """Read a column of two values, with its faults except too few patients in a class; `patient` is each visit's."""
    cells = read_cells(
        table.columns[spec.column], na_values=na_values, levels=(spec.positive,), decimal_comma=table.decimal_comma
    )
    values = observed_values(cells)
    faults = tuple(_faults(cells, table.lines, spec, values, patient))
    by_text = np.array([text == spec.positive for text in cells.canonical()], dtype=np.int8)
    known = ~cells.missing[cells.column.codes]
    positive = np.where(known, by_text[cells.column.codes], 0).astype(np.int8)
    if faults:
        return Labels(None, known, positive, faults)
    negative = next(value for value in values if value != spec.positive)
    return Labels(Binary(spec.column, spec.positive, negative, spec.label), known, positive, ())


def class_faults(column: str, n_with: int, n_without: int) -> tuple[Fault, ...]:
    """Report a fault for each class with fewer than `FEWEST_OF_A_CLASS` patients."""
    return tuple(
        Fault(
            column_pointer(column),
            f"{count_text(n, 'patient')} {which}; at least {FEWEST_OF_A_CLASS} are needed",
        )
        for n, which in ((n_with, "with the outcome"), (n_without, "without the outcome"))
        if n < FEWEST_OF_A_CLASS
    )


def dropped_warning(column: str, labels: Labels, n_looked_back_on: int = 0) -> tuple[str, ...]:
    """Warn of rows without a label, and of how many of them later visits still use."""
    n_dropped, n_rows = int((~labels.known).sum()), len(labels.known)
    if not n_dropped:
        return ()
    verb = "was" if n_dropped == 1 else "were"
    text = f"{n_dropped:,} of {count_text(n_rows, 'row')} {verb} dropped: the outcome {short(column, 60)} is missing"
    if n_looked_back_on:
        text = f"{text}; {n_looked_back_on:,} of them are looked back on at later visits"
    return (text,)


def _faults(
    cells: Cells,
    lines: NDArray[np.int64],
    spec: BinaryOutcomeSpec,
    values: Collection[str],
    patient: NDArray[np.int64] | None,
) -> list[Fault]:
    place = column_pointer(spec.column)
    read_as = read_as_missing(cells)
    if not values:
        return [Fault(place, f"the outcome has no value in any row{read_as}")]
    faults = missing_faults(cells, "the outcome", patient, read_as)
    shown = examples(sorted(values))
    if len(values) == 1:
        faults.append(Fault(place, f"the outcome is the same in every row that has one{read_as}; it needs two values"))
    elif len(values) > 2:
        faults.append(
            Fault(place, f"the outcome has {values_text(cells, lines, values)}; classification needs two", shown)
        )
    if spec.positive not in values:
        found = values_text(cells, lines, values)
        detail = f"{short(spec.positive)} is not a value of column {short(spec.column)}, which has {found}"
        faults.append(Fault("/spec/outcome/positive", detail, shown))
    return faults


def missing_faults(cells: Cells, what: str, patient: NDArray[np.int64] | None = None, read_as: str = "") -> list[Fault]:
    """Report a fault if more than half of the rows have no value or, given each row's `patient`, of the patients."""
    lacks = cells.missing[cells.column.codes]
    if patient is not None:
        lacks = np.bincount(patient, ~lacks) == 0
    n = int(lacks.sum())
    if n <= MAX_MISSING * len(lacks):
        return []
    n_in_all = count_text(len(lacks), "row") if patient is None else count_text(len(lacks), "patient")
    detail = f"{what} is missing in {n:,} of {n_in_all}{read_as}; at most half may lack it"
    return [Fault(column_pointer(cells.name), detail)]
