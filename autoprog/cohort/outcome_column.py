"""The outcome as the file has it: two values, one of them positive, enough patients with each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort.canonical import short
from autoprog.cohort.cells import Cells, read_cells
from autoprog.cohort.inference import observed_values, sort_levels
from autoprog.cohort.messages import column_pointer, count_text, listed
from autoprog.cohort.outcome import Binary
from autoprog.cohort.spec import BinaryOutcomeSpec
from autoprog.cohort.table import Table
from autoprog.errors import Fault

FEWEST_OF_A_CLASS = 5
"""Patients with, and without, the outcome that a cohort needs at least."""

MOST_MISSING = 0.5
"""Share of rows without an outcome that a cohort has at most."""


@dataclass(frozen=True, eq=False)
class OutcomeColumn:
    """What the outcome's column says.

    Attributes
    ----------
    outcome : Binary or None
        None where the column cannot be an outcome.
    known : ndarray of bool, shape = (n_rows,)
        Rows with an outcome.
    y : ndarray, shape = (n_known,)
        int8; 1 for the positive value.
    faults : tuple of Fault
        Why it cannot be an outcome.
    """

    outcome: Binary | None
    known: NDArray[np.bool_]
    y: NDArray[np.int8]
    faults: tuple[Fault, ...]


def read_outcome(table: Table, spec: BinaryOutcomeSpec, na_values: Sequence[str]) -> OutcomeColumn:
    """Read the outcome's column.

    Parameters
    ----------
    table : Table
        Holds the column.
    spec : BinaryOutcomeSpec
        Its name and positive value.
    na_values : sequence of str
        Canonical texts that mean missing.

    Returns
    -------
    OutcomeColumn
        The outcome of each row that has one, and what is wrong.
    """
    cells = read_cells(
        table.columns[spec.column], na_values=na_values, levels=(spec.positive,), decimal_comma=table.decimal_comma
    )
    values = sort_levels(observed_values(cells))
    faults = _faults(cells, spec, values)
    positive = np.array([text == spec.positive for text in cells.canonical()], dtype=np.int8)
    known = ~cells.missing[cells.column.codes]
    y = positive[cells.column.codes][known]
    if len(values) == 2 and spec.positive in values:
        faults += _class_faults(spec, y)
    if faults:
        return OutcomeColumn(None, known, y, tuple(faults))
    negative = next(value for value in values if value != spec.positive)
    return OutcomeColumn(Binary(spec.column, spec.positive, negative), known, y, ())


def _faults(cells: Cells, spec: BinaryOutcomeSpec, values: Sequence[str]) -> list[Fault]:
    place = column_pointer(spec.column)
    tokens = cells.missing_words()
    read_as = f" ({listed(map(short, tokens), len(tokens))} read as missing)" if tokens else ""
    if not values:
        return [Fault(place, f"the outcome has no value in any row{read_as}")]
    found = listed(map(short, values), len(values))
    faults: list[Fault] = []
    if cells.missing_fraction > MOST_MISSING:
        n, n_rows = len(cells.column.codes) - cells.n_observed, len(cells.column.codes)
        faults.append(
            Fault(place, f"the outcome is missing in {n:,} of {n_rows:,} rows{read_as}; at most half may lack it")
        )
    if len(values) == 1:
        faults.append(Fault(place, f"the outcome is {found} in every row that has one{read_as}; it needs two values"))
    elif len(values) > 2:
        faults.append(Fault(place, f"the outcome has {len(values):,} values: {found}; classification needs two"))
    if spec.positive not in values:
        detail = f"{short(spec.positive)} is not a value of column {short(spec.column)}; its values are {found}"
        faults.append(Fault("/spec/outcome/positive", detail))
    return faults


def _class_faults(spec: BinaryOutcomeSpec, y: NDArray[np.int8]) -> list[Fault]:
    n_positive = int(y.sum())
    return [
        Fault(
            column_pointer(spec.column),
            f"{count_text(n, 'patient')} {which} the outcome; at least {FEWEST_OF_A_CLASS} are needed",
        )
        for n, which in ((n_positive, "with"), (len(y) - n_positive, "without"))
        if n < FEWEST_OF_A_CLASS
    ]
