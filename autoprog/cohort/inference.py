"""The kind of a column, inferred or declared, and the numbers that its cells become.

Whole numbers with few values (chest pain 1 to 4) stay numeric unless declared: a code and a count look alike.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort.bands import sort_bands
from autoprog.cohort.canonical import LARGEST, parse_number, short
from autoprog.cohort.cells import Cells
from autoprog.cohort.messages import column_pointer, count_text, examples, listed, pointer, rows_text
from autoprog.cohort.schema import Feature, FeatureKind
from autoprog.cohort.spec import CohortSpec, FeatureSpec, parse_spec
from autoprog.errors import Fault


def encode_column(
    cells: Cells, declared: FeatureSpec | None, lines: NDArray[np.int64]
) -> tuple[Feature, NDArray[np.float64]] | list[Fault]:
    """Encode a column as a feature and its numbers, shape = (n_rows,), or list the faults of its cells."""
    declared = declared or FeatureSpec()
    faults = number_faults(cells, lines) if cells.is_numeric else []
    if faults:
        return faults
    # A date that could not be computed keeps its kind; its fault is known by now.
    kind = infer_kind(cells) if declared.kind is None or declared.kind == "date" else declared.kind
    if kind == "numeric":
        return _numeric(cells, declared)
    values = observed_values(cells)
    if kind == "binary" and len(values) == 1:
        kind = "categorical"  # nobody here has the other value, as of patients on dialysis
    faults = _kind_faults(cells, lines, kind, declared, values)
    if faults:
        return faults
    levels = declared.levels or sort_levels(values)
    codes = {level: float(code) for code, level in enumerate(levels)}
    by_text = np.array(
        [math.nan if missing else codes[text] for missing, text in zip(cells.missing, cells.canonical(), strict=True)]
    )
    feature = Feature(
        name=cells.name,
        kind=kind,
        levels=levels,
        unit=declared.unit,
        label=declared.label,
        meta_group=declared.meta_group,
        missing_fraction=cells.missing_fraction,
    )
    return feature, by_text[cells.column.codes]


def infer_kind(cells: Cells) -> FeatureKind:
    """Infer the kind of an undeclared column; ordinal only if it has ranges, as only the client knows another order."""
    n_values = count_values(cells)
    if n_values == 2:
        return "binary"
    if cells.is_numeric or not n_values:
        return "numeric"
    return "categorical" if sort_bands(observed_values(cells)) is None else "ordinal"


def count_values(cells: Cells) -> int:
    """Count the distinct values of a column, without missing ones."""
    if cells.is_numeric:
        return len(np.unique(cells.numbers[~cells.missing]))
    return len(observed_values(cells))


def observed_values(cells: Cells) -> set[str]:
    """Canonical texts that occur in a column, without missing ones."""
    return {text for missing, text in zip(cells.missing, cells.canonical(), strict=True) if not missing}


def values_text(cells: Cells, lines: NDArray[np.int64], values: Collection[str]) -> str:
    """Count the values and list their first rows: `3 values, first in rows 2, 3, 17`."""
    # Only rows are named: a fault's text must not repeat a patient's value; its `values` may.
    first = sorted(line for value, (line, _) in places_of_values(cells, lines).items() if value in values)
    return f"{count_text(len(first), 'value')}, first in {rows_text(first)}"


def read_as_missing(cells: Cells) -> str:
    """Words of a column that were read as missing: ` ('NA', '?' read as missing)`; empty without any."""
    tokens = cells.missing_words()
    return f" ({listed(map(short, tokens), len(tokens))} read as missing)" if tokens else ""


def places_of_values(cells: Cells, lines: NDArray[np.int64]) -> dict[str, tuple[int, int]]:
    """First line and number of rows of every value of a column, by its canonical text."""
    codes, rows = np.unique(cells.column.codes, return_index=True)
    texts = cells.canonical()
    places: dict[str, tuple[int, int]] = {}
    for code, line in zip(codes.tolist(), lines[rows].tolist(), strict=True):
        if not cells.missing[code]:
            first, count = places.get(texts[code], (line, 0))
            places[texts[code]] = min(first, line), count + int(cells.counts[code])
    return places


def sort_levels(values: Collection[str]) -> tuple[str, ...]:
    """Sort canonical texts into levels: by number if all are numbers, or ranges, else by text."""
    if (bands := sort_bands(values)) is not None:
        return bands
    if all(math.isfinite(parse_number(value)) for value in values):
        return tuple(sorted(values, key=parse_number))
    return tuple(sorted(values))


_ADVICE = "correct them, name them in na_values, or declare the column categorical"


def number_faults(cells: Cells, lines: NDArray[np.int64], advice: str = _ADVICE) -> list[Fault]:
    """List the faults of a numeric column: words and numbers that are too large, with the first rows of each."""
    faults: list[Fault] = []
    place = column_pointer(cells.name)
    rows = cells.rows_with(cells.words)
    if len(rows):
        cells_are = "1 cell is no number" if len(rows) == 1 else f"{len(rows):,} cells are no numbers"
        words = (str(cells.column.texts[int(i)].as_py()) for i in np.flatnonzero(cells.words))
        faults.append(Fault(place, f"{cells_are}: {rows_text(lines[rows])}; {advice}", examples(words)))
    rows = cells.rows_with(cells.too_large)
    if len(rows):
        cells_are = "1 cell is" if len(rows) == 1 else f"{len(rows):,} cells are"
        faults.append(Fault(place, f"{cells_are} infinite or beyond {LARGEST:g}: {rows_text(lines[rows])}"))
    return faults


def _numeric(cells: Cells, declared: FeatureSpec) -> tuple[Feature, NDArray[np.float64]]:
    by_text = np.where(cells.missing, math.nan, cells.numbers)
    observed = by_text[~cells.missing]
    feature = Feature(
        name=cells.name,
        kind="numeric",
        unit=declared.unit,
        label=declared.label,
        meta_group=declared.meta_group,
        missing_fraction=cells.missing_fraction,
        minimum=float(observed.min()) if len(observed) else None,
        maximum=float(observed.max()) if len(observed) else None,
    )
    return feature, by_text[cells.column.codes]


def _kind_faults(
    cells: Cells, lines: NDArray[np.int64], kind: FeatureKind, declared: FeatureSpec, values: Collection[str]
) -> list[Fault]:
    place = pointer("spec", "features", cells.name)
    if not values and not declared.levels:
        return [Fault(place + "/kind", f"the column has no value, so the levels of kind {kind!r} cannot be known")]
    if kind == "binary" and len(values) != 2:
        found = values_text(cells, lines, values)
        return [
            Fault(place + "/kind", f"a binary column has two values; this one has {found}", examples(sorted(values)))
        ]
    if kind == "ordinal":
        return _order_faults(place + "/levels", cells, lines, declared, values)
    return []


def _order_faults(
    place: str, cells: Cells, lines: NDArray[np.int64], declared: FeatureSpec, values: Collection[str]
) -> list[Fault]:
    if declared.levels is None:
        if all(math.isfinite(parse_number(value)) for value in values) or sort_bands(values) is not None:
            return []
        return [Fault(place, "an ordinal column of words needs its levels in order, lowest first")]
    uncovered = set(values) - set(declared.levels)
    if not uncovered:
        return []
    return [Fault(place, f"the levels do not name {values_text(cells, lines, uncovered)}", examples(sorted(uncovered)))]


def cleveland() -> tuple[bytes, CohortSpec]:
    """Load the Cleveland heart disease cohort: 303 patients, 13 findings, a few missing cells.

    Returns
    -------
    (bytes, CohortSpec)
        The gzipped CSV file and its spec; source and licence (CC BY 4.0) are in `data/heart_cleveland.txt`.
    """
    content = (files("autoprog.cohort") / "data" / "heart_cleveland.csv.gz").read_bytes()
    features: dict[str, dict[str, object]] = {
        "age": {"kind": "numeric", "unit": "years", "meta_group": "demographics"},
        "sex": {"kind": "binary", "meta_group": "demographics"},
        "cp": {"kind": "categorical", "meta_group": "symptoms"},
        "trestbps": {"kind": "numeric", "unit": "mm Hg", "meta_group": "vital signs"},
        "chol": {"kind": "numeric", "unit": "mg/dl", "meta_group": "laboratory"},
        "fbs": {"kind": "binary", "meta_group": "laboratory"},
        "restecg": {"kind": "categorical", "meta_group": "electrocardiogram"},
        "thalach": {"kind": "numeric", "unit": "1/min", "meta_group": "exercise test"},
        "exang": {"kind": "binary", "meta_group": "exercise test"},
        "oldpeak": {"kind": "numeric", "unit": "mm", "meta_group": "exercise test"},
        "slope": {"kind": "ordinal", "levels": [1, 2, 3], "meta_group": "exercise test"},
        "ca": {"kind": "numeric", "unit": "vessels", "meta_group": "imaging"},
        "thal": {"kind": "categorical", "meta_group": "imaging"},
    }
    spec = {"name": "Cleveland heart disease", "outcome": {"column": "outcome", "positive": 1}, "features": features}
    return content, parse_spec(spec)
