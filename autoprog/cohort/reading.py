"""A file and what its owner says of it, read into a cohort; every fault found at once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort.canonical import short
from autoprog.cohort.cells import Cells, read_cells
from autoprog.cohort.checks import cohort_warnings, reading_warnings, reason_to_leave_out
from autoprog.cohort.cohort import Cohort
from autoprog.cohort.inference import encode_column, observed_values, sort_levels
from autoprog.cohort.messages import (
    absent_columns,
    capped,
    capped_warnings,
    column_pointer,
    count_text,
    pointer,
    rows_text,
)
from autoprog.cohort.outcome_column import OutcomeColumn, read_outcome
from autoprog.cohort.sample_size import SampleSize, sample_size
from autoprog.cohort.schema import Feature
from autoprog.cohort.source import read_table
from autoprog.cohort.spec import CohortSpec
from autoprog.cohort.table import ReadLimits, Table
from autoprog.errors import Fault, InvalidInputError

_NO_LIMITS_GIVEN = ReadLimits()


@dataclass(frozen=True, eq=False)
class Intake:
    """What became of a file.

    Attributes
    ----------
    cohort : Cohort
        The patients with an outcome.
    n_rows : int
        Rows of the file.
    n_dropped : int
        Rows without an outcome, which are not in the cohort.
    warnings : tuple of str
        What is doubtful, in words.
    sample_size : SampleSize
        Whether there are enough patients.
    """

    cohort: Cohort
    n_rows: int
    n_dropped: int
    warnings: tuple[str, ...]
    sample_size: SampleSize


def read_cohort(source: Path | bytes, spec: CohortSpec, limits: ReadLimits = _NO_LIMITS_GIVEN) -> Intake:
    """Read a cohort from a file.

    Parameters
    ----------
    source : Path or bytes
        The file or its content: CSV, gzipped CSV or Parquet, told by content.
    spec : CohortSpec
        What its columns mean.
    limits : ReadLimits
        Where reading stops.

    Returns
    -------
    Intake
        The cohort, with warnings.

    Raises
    ------
    InvalidInputError
        If the file or the spec cannot be used; names all faults of both.
    TooLargeError
        If the file exceeds a limit.
    UnsupportedMediaError
        If it is no such file.
    """
    parsed = read_table(source, limits)
    faults = list(parsed.faults)
    if parsed.names:
        faults += _spec_faults(spec, parsed.names)
    table = parsed.table
    if table is None:
        raise InvalidInputError(capped(faults, "/file"))
    outcome = _outcome(table, spec)
    known = table if outcome is None else table.take(outcome.known)
    features = _read_features(known, spec)
    groups, group_faults = _read_groups(known, spec)
    faults += [*(outcome.faults if outcome else ()), *features.faults, *group_faults]
    if faults or outcome is None or outcome.outcome is None:
        raise InvalidInputError(capped(faults, "/file"))
    cohort = Cohort(
        name=spec.name,
        outcome=outcome.outcome,
        features=features.features,
        X=features.X,
        y=outcome.y,
        groups=groups,
    )
    n_dropped = table.n_rows - known.n_rows
    warnings = [*_drop_warnings(n_dropped, table.n_rows, spec), *features.warnings, *cohort_warnings(cohort)]
    return Intake(cohort, table.n_rows, n_dropped, capped_warnings(warnings), sample_size(cohort))


def _spec_faults(spec: CohortSpec, names: tuple[str, ...]) -> list[Fault]:
    """Columns that the spec names but the file has not, or that it gives two parts to play."""
    wanted = [("/spec/outcome/column", spec.outcome.column)]
    if spec.groups is not None:
        wanted.append(("/spec/groups", spec.groups))
    faults = absent_columns("/spec", wanted, names)
    faults += absent_columns("/spec/features", [(pointer("spec", "features", n), n) for n in spec.features], names)
    ignored = [(pointer("spec", "ignore", i), name) for i, name in enumerate(spec.ignore)]
    faults += absent_columns("/spec/ignore", ignored, names)
    outcome = short(spec.outcome.column, 60)
    if spec.outcome.column in spec.ignore:
        faults.append(Fault("/spec/ignore", f"{outcome} is the outcome and cannot be ignored"))
    if spec.outcome.column == spec.groups:
        faults.append(Fault("/spec/groups", f"{outcome} is the outcome and cannot be the groups"))
    taken = {spec.outcome.column: "the outcome"}
    if spec.groups is not None:
        taken.setdefault(spec.groups, "the groups")
    for name in spec.ignore:
        taken.setdefault(name, "ignored")
    clashes = [(name, taken[name]) for name in spec.features if name in taken]
    faults += [
        Fault(pointer("spec", "features", name), f"{short(name, 60)} is {role} and cannot be a feature too")
        for name, role in clashes
    ]
    return faults


def _outcome(table: Table, spec: CohortSpec) -> OutcomeColumn | None:
    if spec.outcome.column not in table.columns:
        return None  # _spec_faults has named it
    return read_outcome(table, spec.outcome, spec.na_values)


@dataclass(frozen=True, eq=False)
class _Features:
    features: tuple[Feature, ...]
    X: NDArray[np.float64]
    faults: tuple[Fault, ...]
    warnings: tuple[str, ...]


def _read_features(table: Table, spec: CohortSpec) -> _Features:
    not_features = {spec.outcome.column, spec.groups, *spec.ignore}
    features: list[Feature] = []
    columns: list[NDArray[np.float64]] = []
    kept: list[Cells] = []
    faults: list[Fault] = []
    left_out: list[str] = []
    for name in (name for name in table.columns if name not in not_features):
        cells = _cells_of(table, name, spec)
        reason = None if name in spec.features else reason_to_leave_out(cells)
        if reason is not None:
            left_out.append(reason)
            continue
        kept.append(cells)
        encoded = encode_column(cells, spec.features.get(name), table.lines)
        if isinstance(encoded, list):
            faults += encoded
        else:
            features.append(encoded[0])
            columns.append(encoded[1])
    if not kept:
        why = "".join(f"; {reason}" for reason in left_out[:5])
        faults.append(Fault("/file", f"no column is left as a feature{why}"))
    X = np.column_stack(columns) if columns else np.empty((table.n_rows, 0))
    return _Features(tuple(features), X, tuple(faults), (*left_out, *reading_warnings(kept)))


def _cells_of(table: Table, name: str, spec: CohortSpec) -> Cells:
    declared = spec.features.get(name)
    kind = declared.kind if declared else None
    return read_cells(
        table.columns[name],
        numeric=None if kind is None else kind == "numeric",
        na_values=spec.na_values,
        levels=(declared.levels or ()) if declared else (),
        decimal_comma=table.decimal_comma,
    )


def _read_groups(table: Table, spec: CohortSpec) -> tuple[NDArray[np.int64] | None, list[Fault]]:
    if spec.groups is None or spec.groups not in table.columns:
        return None, []
    cells = read_cells(table.columns[spec.groups], numeric=False, na_values=spec.na_values)
    place = column_pointer(spec.groups)
    lacking = cells.rows_with(cells.missing)
    if len(lacking):
        detail = f"{count_text(len(lacking), 'row')} without a group: {rows_text(table.lines[lacking])}"
        return None, [Fault(place, detail)]
    levels = sort_levels(observed_values(cells))
    if len(levels) < 2:
        return None, [Fault(place, "there is only one group; folds need at least two")]
    codes = {level: code for code, level in enumerate(levels)}
    by_text = np.array([codes[text] for text in cells.canonical()], dtype=np.int64)
    return by_text[cells.column.codes], []


def _drop_warnings(n_dropped: int, n_rows: int, spec: CohortSpec) -> list[str]:
    if not n_dropped:
        return []
    verb = "was" if n_dropped == 1 else "were"
    outcome = short(spec.outcome.column, 60)
    return [f"{n_dropped:,} of {count_text(n_rows, 'row')} {verb} dropped: the outcome {outcome} is missing"]
