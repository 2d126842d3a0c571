"""Read a file and its spec into a cohort; all faults are found at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort.canonical import short
from autoprog.cohort.cells import Cells, read_cells
from autoprog.cohort.checks import cohort_warnings, reading_warnings, reason_to_leave_out, suspected_codes
from autoprog.cohort.cohort import Cohort
from autoprog.cohort.derived_times import derive_times
from autoprog.cohort.event_times import read_survival
from autoprog.cohort.follow_up import FollowUpSummary, follow_up
from autoprog.cohort.identifiers import PatientIdentifiers
from autoprog.cohort.inference import count_values, encode_column, observed_values, sort_levels
from autoprog.cohort.messages import capped, capped_warnings, column_pointer, count_text, listed, rows_text
from autoprog.cohort.outcome_column import OutcomeRows, read_binary
from autoprog.cohort.outcome_spec import TimeToEventSpec, VisitEventSpec, VisitLabelSpec, outcome_columns
from autoprog.cohort.sample_size import SampleSize, sample_size
from autoprog.cohort.schema import Feature
from autoprog.cohort.source import read_table
from autoprog.cohort.spec import CohortSpec, spec_faults
from autoprog.cohort.table import ReadLimits, Table
from autoprog.cohort.visit_rows import read_visit_events, read_visit_labels
from autoprog.cohort.visits import EarlierVisits, VisitTable
from autoprog.cohort.weights import read_weights, weigh
from autoprog.cohort.windows import WindowSchema, name_faults
from autoprog.errors import Fault, InvalidInputError

_NO_LIMITS_GIVEN = ReadLimits()


@dataclass(frozen=True, eq=False)
class CohortReadResult:
    """A cohort read from a file, with warnings.

    Attributes
    ----------
    cohort : Cohort
        The patients with an outcome, or their visits.
    n_rows : int
        Rows of the file.
    n_dropped : int
        Rows without an outcome, which are not in the cohort.
    warnings : tuple of str
        Warnings about doubtful columns and rows.
    sample_size : SampleSize
        Whether there are enough patients.
    follow_up : FollowUpSummary or None
        Events and length of follow-up; None for an outcome without a time.
    identifiers : PatientIdentifiers or None
        Digests of the patients' identifiers; None without a column of them.
    """

    cohort: Cohort
    n_rows: int
    n_dropped: int
    warnings: tuple[str, ...]
    sample_size: SampleSize
    follow_up: FollowUpSummary | None = None
    identifiers: PatientIdentifiers | None = None


def read_cohort(source: Path | bytes, spec: CohortSpec, limits: ReadLimits = _NO_LIMITS_GIVEN) -> CohortReadResult:
    """Read a cohort from a file.

    Parameters
    ----------
    source : Path or bytes
        The file or its content: CSV, Parquet, Excel, Stata, SPSS or SAS, plain or gzipped; content decides.
    spec : CohortSpec
        The meaning of its columns.
    limits : ReadLimits
        Maximum size of the file.

    Returns
    -------
    CohortReadResult
        The cohort, with warnings.

    Raises
    ------
    InvalidInputError
        If the file or the spec is invalid; lists all faults of both.
    TooLargeError
        If the file exceeds a limit.
    UnsupportedMediaError
        If the file has another format.
    """
    parsed = read_table(source, limits, spec.sheet)
    faults = list(parsed.faults)
    if 0 < len(parsed.names) <= limits.columns:
        faults += spec_faults(spec, parsed.names)
    table = parsed.table
    if table is None:
        raise InvalidInputError(capped(faults, "/file"))
    derived = derive_times(table, spec)
    table, spec = derived.table, derived.spec
    faults += derived.faults
    outcome = _read_outcome(table, spec)
    if outcome is None and spec.sheet is None:
        faults += _other_sheets(parsed.sheets)
    known = table if outcome is None else table.take(outcome.rows)
    earlier = None if outcome is None else outcome.earlier
    # Visits without an outcome may have levels that no other visit has.
    seen = known if outcome is None or earlier is None else table.take(np.concatenate([outcome.rows, earlier.rows]))
    features = _read_features(seen, spec)
    groups, group_faults = _read_groups(known, spec, None if outcome is None else outcome.visits)
    weights, weight_faults = read_weights(known, spec, limits)
    identifiers, identifier_faults = _read_identifiers(seen, spec, weights)
    faults += [
        *(outcome.faults if outcome else ()),
        *features.faults,
        *group_faults,
        *weight_faults,
        *identifier_faults,
    ]
    if faults or outcome is None or outcome.outcome is None:
        raise InvalidInputError(capped(faults, "/file"))
    n, visits = known.n_rows, outcome.visits
    if visits is not None and earlier is not None:
        looked_back_on = EarlierVisits(features.X[n:], earlier.visits.patient, earlier.visits.time)
        visits = replace(visits, earlier=looked_back_on)
    cohort = Cohort(
        name=spec.name,
        outcome=outcome.outcome,
        features=features.features,
        X=features.X[:n],
        y=outcome.y,
        groups=groups,
        time=outcome.time,
        visits=visits,
        na_values=spec.na_values,
    )
    if weights is not None:
        cohort = weigh(cohort, weights)
    if cohort.visits is not None and (clashes := name_faults([f.name for f in WindowSchema.of(cohort).windowed])):
        raise InvalidInputError(capped(clashes, "/file"))
    repeated = [] if visits is not None else _repeated_patients(known, spec, groups)
    warnings = [*parsed.warnings, *outcome.warnings, *features.warnings, *repeated, *cohort_warnings(cohort)]
    return CohortReadResult(
        cohort,
        table.n_rows,
        table.n_rows - n,
        capped_warnings(warnings),
        sample_size(cohort),
        follow_up(cohort),
        identifiers,
    )


def reduce_cohort(cohort: Cohort, n_rows: int, n_dropped: int, identifiers: PatientIdentifiers) -> CohortReadResult:
    """Describe a cohort that rows were removed from; the warnings about its file's cells are not repeated."""
    warnings = capped_warnings(cohort_warnings(cohort))
    return CohortReadResult(cohort, n_rows, n_dropped, warnings, sample_size(cohort), follow_up(cohort), identifiers)


def file_faults(source: Path | bytes, limits: ReadLimits = _NO_LIMITS_GIVEN) -> tuple[Fault, ...]:
    """List a file's structural faults, whatever its columns mean; raises as `read_cohort` does."""
    return capped(read_table(source, limits).faults, "/file")


def _other_sheets(sheets: Sequence[str]) -> list[Fault]:
    """Name the sheets of a workbook that were not read: one may have the columns that the first lacks."""
    if len(sheets) < 2:
        return []
    others = listed((short(name, 60) for name in sheets[1:]), len(sheets) - 1)
    return [Fault("/spec/sheet", f"only the first sheet, {short(sheets[0], 60)}, was read; the others are {others}")]


def _read_outcome(table: Table, spec: CohortSpec) -> OutcomeRows | None:
    """Read the outcome's columns; None if one is absent, which `spec_faults` has reported."""
    outcome, na_values = spec.outcome, spec.na_values
    if any(name not in table.columns for name in outcome_columns(outcome).values()):
        return None
    if isinstance(outcome, VisitEventSpec):
        return read_visit_events(table, outcome, na_values)
    if isinstance(outcome, VisitLabelSpec):
        return read_visit_labels(table, outcome, na_values)
    if isinstance(outcome, TimeToEventSpec):
        return read_survival(table, outcome, na_values)
    return read_binary(table, outcome, na_values)


@dataclass(frozen=True, eq=False)
class _Features:
    features: tuple[Feature, ...]
    X: NDArray[np.float64]
    faults: tuple[Fault, ...]
    warnings: tuple[str, ...]


def _read_features(table: Table, spec: CohortSpec) -> _Features:
    not_features = {*outcome_columns(spec.outcome).values(), spec.groups, spec.weights, spec.identifier, *spec.ignore}
    features: list[Feature] = []
    columns: list[NDArray[np.float64]] = []
    kept: list[Cells] = []
    faults: list[Fault] = []
    left_out: list[str] = []
    for name in (name for name in table.columns if name not in not_features):
        cells = _read_cells(table, name, spec)
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
    return _Features(tuple(features), X, tuple(faults), (*left_out, *reading_warnings(kept), *suspected_codes(kept)))


def _read_cells(table: Table, name: str, spec: CohortSpec) -> Cells:
    declared = spec.features.get(name)
    kind = declared.kind if declared else None
    return read_cells(
        table.columns[name],
        numeric=None if kind is None else kind == "numeric",
        na_values=spec.na_values,
        levels=(declared.levels or ()) if declared else (),
        decimal_comma=table.decimal_comma,
    )


def _read_identifiers(
    table: Table, spec: CohortSpec, weights: NDArray[np.int64] | None
) -> tuple[PatientIdentifiers | None, list[Fault]]:
    """Read the identifiers of a cohort's rows; those of visits are their patients."""
    name = outcome_columns(spec.outcome).get("patient", spec.identifier)
    if name is None or name not in table.columns:
        return None, []
    cells = read_cells(table.columns[name], numeric=False, na_values=spec.na_values)
    lacking = cells.rows_with(cells.missing)
    if len(lacking):
        if name != spec.identifier:
            return None, []  # reading the visits has reported it
        detail = f"{count_text(len(lacking), 'row')} without an identifier: {rows_text(table.lines[lacking])}"
        return None, [Fault(column_pointer(name), detail)]
    codes = cells.column.codes if weights is None else np.repeat(cells.column.codes, weights)
    return PatientIdentifiers.of(cells.canonical(), codes), []


def _read_groups(
    table: Table, spec: CohortSpec, visits: VisitTable | None
) -> tuple[NDArray[np.int64] | None, list[Fault]]:
    """Read the client's groups; without any, visits are grouped by patient, and rows by a repeated identifier."""
    patients = None if visits is None else visits.patient
    name = spec.groups or (_repeated_identifier(table, spec) if visits is None else None)
    if name is None or name not in table.columns:
        return patients, []
    cells = read_cells(table.columns[name], numeric=False, na_values=spec.na_values)
    place = column_pointer(name)
    lacking = cells.rows_with(cells.missing)
    if len(lacking):
        detail = f"{count_text(len(lacking), 'row')} without a group: {rows_text(table.lines[lacking])}"
        return None, [Fault(place, detail)]
    levels = sort_levels(observed_values(cells))
    if len(levels) < 2:
        return None, [Fault(place, "there is only one group; folds need at least two")]
    codes = {level: code for code, level in enumerate(levels)}
    by_text = np.array([codes[text] for text in cells.canonical()], dtype=np.int64)
    groups = by_text[cells.column.codes]
    if patients is not None:
        changes = np.flatnonzero((np.diff(patients) == 0) & (np.diff(groups) != 0)) + 1
        if len(changes):
            n = count_text(len(np.unique(patients[changes])), "patient")
            detail = f"the group changes between the visits of {n}: {rows_text(np.sort(table.lines[changes]))}"
            return None, [Fault(place, f"{detail}; a patient has one group")]
    return groups, []


def _repeated_identifier(table: Table, spec: CohortSpec) -> str | None:
    """Name the column of identifiers if a patient has several rows; None also where a row lacks its identifier."""
    if spec.identifier is None or spec.identifier not in table.columns:
        return None
    cells = read_cells(table.columns[spec.identifier], numeric=False, na_values=spec.na_values)
    return spec.identifier if not cells.missing.any() and count_values(cells) < table.n_rows else None


def _repeated_patients(table: Table, spec: CohortSpec, groups: NDArray[np.int64] | None) -> list[str]:
    """Warn of rows with the identifier of an earlier row."""
    if spec.groups is not None or spec.identifier is None or groups is None:
        return []
    n = table.n_rows - len(np.unique(groups))
    has = "has" if n == 1 else "have"
    name = short(spec.identifier, 60)
    advice = "the rows of a patient stay in one fold; keep one row of each patient if the others are copies"
    return [f"{count_text(n, 'row')} {has} the identifier of an earlier row in column {name}: {advice}"]
