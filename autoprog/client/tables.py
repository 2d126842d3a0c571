"""Data frames as what the REST API takes, and its predictions as data frames."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoprog.spreadsheet import is_number

if TYPE_CHECKING:
    import pandas as pd

# Patients of one request: as many as a server takes, and fewer if they have many features.
_MOST_PATIENTS, _MOST_CELLS = 10_000, 200_000


def file_of(data: pd.DataFrame | str | Path | bytes) -> tuple[str, bytes]:
    """The name and content of a cohort's file."""
    if isinstance(data, bytes):
        return "cohort", data
    if isinstance(data, str | Path):
        return Path(data).name, Path(data).read_bytes()
    text = io.StringIO()
    data.to_csv(text, index=False, lineterminator="\n")
    return "cohort.csv.gz", gzip.compress(text.getvalue().encode(), mtime=0)


def kinds_of(data: pd.DataFrame, spec: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Declare what a file cannot tell of a table: the order of categories, and categories that look like numbers."""
    named = set(_texts(spec))  # columns of the outcome, and others that are no findings
    found: dict[str, dict[str, Any]] = {}
    for name in data.select_dtypes(include="category"):
        column = data[name].cat.remove_unused_categories().cat
        levels = [str(level) for level in column.categories]
        if str(name) in named or len(levels) <= 2:  # two levels are alike in any order
            continue
        if column.ordered:
            found[str(name)] = {"kind": "ordinal", "levels": levels}
        elif all(map(is_number, levels)):
            found[str(name)] = {"kind": "categorical"}
    return found


def _texts(document: object) -> Iterator[str]:
    if isinstance(document, str):
        yield document
    elif isinstance(document, Mapping):
        yield from map(str, document)
        for value in document.values():
            yield from _texts(value)
    elif isinstance(document, Sequence):
        for value in document:
            yield from _texts(value)


def patients_of(data: pd.DataFrame | Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Patients as JSON has them: numbers, texts, booleans and None."""
    if isinstance(data, Sequence):
        return [_plain(patient) for patient in data]
    columns = {str(name): [_plain(value) for value in data[name].tolist()] for name in data.columns}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def chunks(patients: Sequence[dict[str, Any]]) -> Iterator[tuple[int, Sequence[dict[str, Any]]]]:
    """Patients by request, each with the number of the first."""
    start = n_cells = 0
    for end, patient in enumerate(patients):
        cells = _count_cells(patient)
        if end > start and (end - start == _MOST_PATIENTS or n_cells + cells > _MOST_CELLS):
            yield start, patients[start:end]
            start, n_cells = end, 0
        n_cells += cells
    if start < len(patients):
        yield start, patients[start:]


def _count_cells(value: object) -> int:
    if isinstance(value, Mapping):
        value = list(value.values())
    return sum(map(_count_cells, value)) if isinstance(value, list) else 1


def _plain(value: Any) -> Any:  # noqa: ANN401  JSON
    """A cell, or a patient with visits; pandas has several values for unknown ones, and numpy numbers of its own."""
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    # The type comes first: whether NA differs from itself is NA, which is neither true nor false.
    if value is None or type(value).__name__ in ("NAType", "NaTType") or value != value:  # noqa: PLR0124  NaN
        return None
    return value.item() if type(value).__module__ == "numpy" else value


def prediction_table(items: Sequence[Mapping[str, Any]], index: Any = None) -> pd.DataFrame:  # noqa: ANN401  pandas
    """Predictions, one per row: risk, interval and stratum, with several horizons each of them, and warnings."""
    import pandas as pd  # noqa: PLC0415  not needed by those who use no tables

    return pd.DataFrame([_row(item) for item in items], index=index)


def _row(item: Mapping[str, Any]) -> dict[str, Any]:
    horizons = item["horizons"]
    if len(horizons) > 1:
        found = [_risk(each, f"_{each['horizon']:g}") for each in horizons]
        row = {name: value for each in found for name, value in each.items()}
    else:
        row = _risk(item, "")
    return {**row, "rules": tuple(item["rules"]), "warnings": "; ".join(item["warnings"])}


def _risk(found: Mapping[str, Any], suffix: str) -> dict[str, Any]:
    lower, upper = found["interval"] or (None, None)
    values = {"risk": found["risk"], "lower": lower, "upper": upper, "stratum": found["stratum"]}
    return {f"{name}{suffix}": value for name, value in values.items()}
