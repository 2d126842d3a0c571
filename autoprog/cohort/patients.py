"""Encode new patients for a model: one row of numbers each, with warnings of unusual values."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort.canonical import LARGEST, TWINS, canonical_text, parse_number, short
from autoprog.cohort.cells import Cells, read_cells
from autoprog.cohort.derived_times import add_named_times
from autoprog.cohort.inference import number_faults
from autoprog.cohort.messages import MAX_FAULTS, absent_columns, capped, column_pointer, near_names, pointer
from autoprog.cohort.outcome import Visits
from autoprog.cohort.schema import Feature
from autoprog.cohort.source import read_table
from autoprog.cohort.table import Parsed, ReadLimits, Table
from autoprog.cohort.target import Outcome
from autoprog.errors import Fault, InvalidInputError

_NO_LIMITS_GIVEN = ReadLimits()
_ADVICE = "correct them or leave them empty"


@dataclass(frozen=True, eq=False)
class EncodedPatients:
    """Encoded patients, ready for a model.

    Attributes
    ----------
    X : ndarray, shape = (n_patients, n_features)
        float64 in the order and coding of the features; NaN where the value is unknown.
    warnings : tuple of tuple of str
        Warnings of unusual values, one tuple per patient.
    """

    X: NDArray[np.float64]
    warnings: tuple[tuple[str, ...], ...]


def encode_patients(features: Sequence[Feature], patients: Sequence[Mapping[str, object]]) -> EncodedPatients:
    """Encode patients for a model.

    Parameters
    ----------
    features : sequence of Feature
        The model's features.
    patients : sequence of mapping
        Name of a feature -> number, text, boolean or None (unknown), in any order; every feature is required.

    Returns
    -------
    EncodedPatients
        One row per patient; warns of missing and unseen values and of values outside the training range.

    Raises
    ------
    InvalidInputError
        If a feature is absent, a name is unknown or a value is invalid; lists all such places below `/patients`.
    """
    if not patients:
        raise InvalidInputError([Fault("/patients", "send at least one patient")])
    places = [pointer("patients", i) for i in range(len(patients))]
    encoded, faults = encode_records(features, patients, places)
    if faults:
        raise InvalidInputError(capped(faults, "/patients"))
    return encoded


def encode_records(
    features: Sequence[Feature], records: Sequence[Mapping[str, object]], places: Sequence[str]
) -> tuple[EncodedPatients, list[Fault]]:
    """Encode records as `encode_patients` does, with faults at their JSON pointers; faulty cells are NaN."""
    known = {feature.name for feature in features}
    codes = [{level: float(i) for i, level in enumerate(feature.levels)} for feature in features]
    X = np.full((len(records), len(features)), math.nan)
    warnings: list[tuple[str, ...]] = []
    faults: list[Fault] = []
    for i, (record, place) in enumerate(zip(records, places, strict=True)):
        unusual: list[str] = []
        for j, feature in enumerate(features):
            try:
                X[i, j], warning = _encode(feature, codes[j], record)
            except UnusableValueError as error:
                faults.append(Fault(place + pointer(feature.name), str(error)))
                continue
            if warning is not None:
                unusual.append(warning)
        warnings.append(tuple(unusual))
        faults += _unknown_names(place, record, known, suggest=len(faults) < MAX_FAULTS)
    return EncodedPatients(X, tuple(warnings)), faults


def imputed_warning(feature: Feature) -> str:
    """Warning that a feature's value is unknown."""
    return f"{feature.name} was imputed"


def is_unknown(value: object) -> bool:
    """Whether a patient's value is missing."""
    return value is None or (isinstance(value, float | np.floating) and math.isnan(value))


class UnusableValueError(ValueError):
    """A value is invalid for its feature."""


def _encode(feature: Feature, codes: Mapping[str, float], patient: Mapping[str, object]) -> tuple[float, str | None]:
    if feature.name not in patient:
        msg = "missing; send null when it is not known"
        raise UnusableValueError(msg)
    value = patient[feature.name]
    if is_unknown(value):
        return math.nan, imputed_warning(feature)
    if feature.kind == "numeric":
        return encode_number(feature, value)
    return _encode_level(feature, codes, value)


def encode_number(feature: Feature, value: object, expected: str = "a number or null") -> tuple[float, str | None]:
    """Encode a numeric feature's value, with a warning outside the training range; may raise UnusableValueError."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real | str):
        msg = f"expected {expected}, got {_type_name(value)}"
        raise UnusableValueError(msg)
    number = parse_number(value.strip()) if isinstance(value, str) else _float(value)
    if math.isnan(number):
        msg = f"expected {expected}, got a text that is no number"
        raise UnusableValueError(msg)
    if math.isinf(number):
        msg = "expected a finite number"
        raise UnusableValueError(msg)
    if abs(number) >= LARGEST:
        msg = f"expected a number below {LARGEST:g} in size"
        raise UnusableValueError(msg)
    low, high = feature.minimum, feature.maximum
    if low is None or high is None or low <= number <= high:
        return number, None
    text, bounds = canonical_text(number), f"{canonical_text(low)} to {canonical_text(high)}"
    return number, f"{feature.name} {text} is outside the training range {bounds}"


def _encode_level(feature: Feature, codes: Mapping[str, float], value: object) -> tuple[float, str | None]:
    if not isinstance(value, bool | np.bool_ | Real | str):
        msg = f"expected a text, a number, a boolean or null, got {_type_name(value)}"
        raise UnusableValueError(msg)
    if isinstance(value, Real) and not math.isfinite(_float(value)):
        msg = "expected a finite number"
        raise UnusableValueError(msg)
    text = canonical_text(value)
    if text in codes:
        return codes[text], None
    if feature.kind == "binary" and TWINS.get(text) in codes:
        return codes[TWINS[text]], None
    return math.nan, f"{feature.name} {short(text)} was never seen in training and is treated as missing"


def _float(value: Real) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _type_name(value: object) -> str:
    names = {"bool": "a boolean", "dict": "an object", "list": "an array"}
    return names.get(type(value).__name__, f"a {type(value).__name__}")


def _unknown_names(place: str, patient: Mapping[str, object], known: set[str], *, suggest: bool) -> list[Fault]:
    faults: list[Fault] = []
    for name in sorted(map(str, patient.keys() - known)):
        suggestion = near_names(name, sorted(known)) if suggest else ""
        faults.append(Fault(place + pointer(name), f"the model has no feature of this name{suggestion}"))
    return faults


def read_patients(
    source: Path | bytes,
    features: Sequence[Feature],
    limits: ReadLimits = _NO_LIMITS_GIVEN,
    na_values: Collection[str] = (),
) -> list[dict[str, object]]:
    """Read patients from a file, for `encode_patients`.

    Parameters
    ----------
    source : Path or bytes
        The file or its content: CSV, Parquet, Excel, Stata, SPSS or SAS, plain or gzipped. Other columns
        than the features (an identifier, the outcome) are ignored.
    features : sequence of Feature
        The model's features.
    limits : ReadLimits
        Maximum size of the file.
    na_values : collection of str
        Canonical texts of cells that mean missing, besides the usual ones.

    Returns
    -------
    list of dict
        One per row: name of a feature -> number, text or None.

    Raises
    ------
    InvalidInputError
        If the file cannot be read, lacks a feature or has words in a numeric one; lists all faults.
    TooLargeError
        If the file exceeds a limit.
    UnsupportedMediaError
        If the file has another format.
    """
    return _read_rows(read_table(source, limits), features, na_values)


def _read_rows(parsed: Parsed, features: Sequence[Feature], na_values: Collection[str]) -> list[dict[str, object]]:
    """Read the rows of a file; raises InvalidInputError."""
    faults = list(parsed.faults)
    table, names = parsed.table, set(parsed.names)
    if table is not None:
        table, found = add_named_times(table, [feature.name for feature in features], na_values)
        faults += found
        names |= table.columns.keys()
    if names:
        wanted = [(column_pointer(feature.name), feature.name) for feature in features]
        faults += absent_columns("/file/columns", wanted, sorted(names))
    columns: dict[str, list[object]] = {}
    for feature in features:
        if table is not None and feature.name in table.columns:
            cells = _read_cells(table, feature, na_values)
            faults += number_faults(cells, table.lines, _ADVICE) if feature.kind == "numeric" else []
            columns[feature.name] = _values(cells, feature)
    if faults:
        raise InvalidInputError(capped(faults, "/file"))
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _read_cells(table: Table, feature: Feature, na_values: Collection[str]) -> Cells:
    # Two numbers may have been `1,0` and `2,0` in the training file, or `<5` and `7`.
    two_numbers = feature.kind == "binary" and all(math.isfinite(parse_number(level)) for level in feature.levels)
    return read_cells(
        table.columns[feature.name],
        numeric=feature.kind == "numeric" or two_numbers,
        na_values=na_values,
        levels=feature.levels,
        decimal_comma=table.decimal_comma,
    )


def _values(cells: Cells, feature: Feature) -> list[object]:
    values: Sequence[object] = cells.numbers.tolist() if feature.kind == "numeric" else cells.canonical()
    by_text = [None if missing else value for missing, value in zip(cells.missing, values, strict=True)]
    return [by_text[code] for code in cells.column.codes]


@dataclass(frozen=True, slots=True)
class NamedPatients:
    """Patients of a file, with their names.

    Attributes
    ----------
    names : tuple of str
        The patients' names.
    patients : tuple of mapping
        As `PrognosticModel.predict` takes them.
    warnings : tuple of str
        Warnings about how the file was read.
    """

    names: tuple[str, ...]
    patients: tuple[Mapping[str, object], ...]
    warnings: tuple[str, ...]


def read_named(
    source: Path | bytes,
    outcome: Outcome,
    features: Sequence[Feature],
    *,
    names: str | None = None,
    na_values: Collection[str] = (),
    sheet: str | None = None,
) -> NamedPatients:
    """Read the patients of a model from a file, with their names.

    Parameters
    ----------
    source : Path or bytes
        The file or its content.
    outcome : Outcome
        The outcome of the model, which says whether a row is a patient or a visit.
    features : sequence of Feature
        The features of a row.
    names : str or None
        The column of the names; of visits that of the patient, otherwise by default numbers from 1.
    na_values : collection of str
        Canonical texts of cells that mean missing, besides the usual ones.
    sheet : str or None
        Sheet of an Excel workbook. Default: the first.

    Returns
    -------
    NamedPatients
        Names and patients; visits in order of the patients' first rows, those without a patient under the name "".

    Raises
    ------
    InvalidInputError, TooLargeError, UnsupportedMediaError
        As `read_patients` does.
    """
    parsed = read_table(source, _NO_LIMITS_GIVEN, sheet)
    if isinstance(outcome, Visits):
        keys = (Feature(outcome.patient, "categorical"), Feature(outcome.visit_time, "numeric"))
        visits: dict[str, list[dict[str, object]]] = {}
        for row in _read_rows(parsed, [*features, *keys], na_values):
            name = row.pop(outcome.patient)
            visits.setdefault("" if name is None else str(name), []).append(row)
        return NamedPatients(tuple(visits), tuple({"visits": each} for each in visits.values()), parsed.warnings)
    patients = _read_rows(parsed, features, na_values)
    named = map(str, range(1, len(patients) + 1)) if names is None else _texts(parsed.table, names)
    return NamedPatients(tuple(named), tuple(patients), parsed.warnings)


def _texts(table: Table | None, name: str) -> list[str]:
    """Texts of a column's rows; raises InvalidInputError without such a column."""
    if table is None or name not in table.columns:
        raise InvalidInputError([Fault("/file/columns", f"there is no column {short(name, 60)}")])
    column = table.columns[name]
    texts = column.texts.to_pylist()
    return [texts[code] for code in column.codes]
