"""Warnings about doubtful columns and rows of a cohort, and the check that it has a binary outcome."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from autoprog.cohort.canonical import short
from autoprog.cohort.cells import MOSTLY_NUMERIC, Cells
from autoprog.cohort.cohort import Cohort
from autoprog.cohort.dates import holds_dates, holds_numbers_for_dates
from autoprog.cohort.inference import count_values, read_as_missing
from autoprog.cohort.messages import count_text, listed
from autoprog.cohort.number_texts import Style
from autoprog.cohort.outcome import Binary
from autoprog.cohort.schema import Feature
from autoprog.errors import Fault, InvalidInputError

GIVEAWAY_AUC = 0.99
"""Area under the ROC curve above which a single column is suspected of giving the outcome away."""

GIVEAWAY_CORRELATION = 0.99
"""Rank correlation with the follow-up time above which a column is suspected of being derived from it."""

MANY_LEVELS = 50
"""Number of levels above which a categorical column gets a warning."""

MOSTLY_MISSING = 0.5
"""Share of missing cells above which a column gets a warning."""

FEW_PATIENTS = 50
"""Number of patients below which a cohort gets a warning."""

_FEWEST_FOR_IDENTIFIER = 20  # below, all values differ by chance too often
_MOSTLY_DISTINCT = 0.95
_FEWEST_FOR_GIVEAWAY = 50
_FEWEST_OF_A_CLASS_FOR_GIVEAWAY = 10
_PATIENTS_A_LEVEL = 10  # with fewer, the levels' event rates fit noise
_IDENTIFIER_NAME = re.compile(
    r"(?:.*[\W_])?(?:id|uid|uuid|guid|pid|mrn|(?:u?subj|study|pt|r)id)"
    r"|(?:pat|patient|subject|case|record|row|participant|encounter)[\W_]{0,2}(?:id|identifier|n[or]\.?|number|code|#)"
    r"|(?:hospital|nhs)[\W_]?(?:n[or]\.?|number)"
    r"|patient|subject|rownames?|index|unnamed: 0|__index_level_0__",
    re.IGNORECASE,
)
_WITH_UNIT = re.compile(r"[+-]?\d+(?:[.,]\d+)?\s*([%‰]|mm Hg|[°/]?[^\W\d_]\S*)")


def reason_to_leave_out(cells: Cells) -> str | None:
    """Explain why an undeclared column is left out (no value, constant or identifier); None if it is a feature."""
    declare = "declare it in features to keep it"
    name = short(cells.name, 60)
    if cells.n_observed == 0:
        return f"column {name} has no value and was left out; {declare}"
    if holds_dates(cells):
        return (
            f"column {name} holds dates and was left out; declare it in features as kind 'date', relative_to the "
            "column of an index date, to use the time between them"
        )
    n_values = count_values(cells)
    if n_values == 1:
        read_as = read_as_missing(cells)
        beside = f" in every row that has a value{read_as}" if cells.missing_fraction > 0 else ""
        return f"column {name} is constant{beside} and was left out; {declare}"
    if not is_identifier(cells, n_values):
        return None
    repeats = "; its values repeat: name it in groups if they are patients" if n_values < cells.n_observed else ""
    return f"column {name} looks like an identifier and was left out{repeats}; {declare}"


def is_identifier(cells: Cells, n_values: int) -> bool:
    """Check whether a column looks like numbers or names of patients."""
    if cells.n_observed < _FEWEST_FOR_IDENTIFIER:
        return False
    distinct = n_values / cells.n_observed
    has_name = _IDENTIFIER_NAME.fullmatch(cells.name) is not None
    if not cells.is_numeric:
        return not _common_unit(cells) and (distinct >= _MOSTLY_DISTINCT or (has_name and distinct >= MOSTLY_MISSING))
    numbers = cells.numbers[np.isfinite(cells.numbers) & ~cells.missing]
    if cells.words.any() and not has_name:
        return False
    if (numbers != np.floor(numbers)).any():
        return False
    if has_name:
        return distinct >= MOSTLY_MISSING
    return distinct == 1 and np.ptp(numbers) + 1 == n_values


def _common_unit(cells: Cells) -> str:
    """Return the unit, such as `%` or `mmHg`, that follows most of a column's values; empty without one."""
    if cells.is_numeric or cells.n_observed == 0:
        return ""
    rows: dict[str, int] = {}
    for text, count, missing in zip(cells.column.texts.to_pylist(), cells.counts, cells.missing, strict=True):
        found = None if missing else _WITH_UNIT.fullmatch(text)
        if found is not None:
            rows[found[1]] = rows.get(found[1], 0) + int(count)
    unit = max(rows, key=rows.__getitem__, default="")
    return unit if unit and rows[unit] >= MOSTLY_NUMERIC * cells.n_observed else ""


def _unit_warnings(cells: Cells) -> list[str]:
    unit, name = _common_unit(cells), short(cells.name, 60)
    if not unit:
        return []
    if unit == "%":
        return [f"column {name} has percent signs, so each value is a category: remove the signs to have numbers"]
    advice = "so each value is a category: remove the unit to have numbers"
    return [f"column {name} has numbers with the unit {short(unit)}, {advice}"]


def reading_warnings(columns: Sequence[Cells]) -> list[str]:
    """Warn of words read as missing, decimal commas, units in cells, and columns that mix numbers and words."""
    warnings: list[str] = []
    by_token: dict[str, list[str]] = {}
    for cells in columns:
        for token, count in cells.missing_words().items():
            by_token.setdefault(token, []).append(f"{short(cells.name, 60)} ({count_text(count, 'cell')})")
    for token, where in sorted(by_token.items()):
        warnings.append(f"{short(token)} was read as missing in {listed(where, len(where))}")
    for style, what in _STYLES.items():
        names = [short(cells.name, 60) for cells in columns if cells.style == style]
        if names:
            warnings.append(f"{what} in {listed(names, len(names))}")
    warnings += [text for cells in columns for text in _limits_of_detection(cells)]
    warnings += [text for cells in columns for text in _unit_warnings(cells)]
    warnings += [
        f"column {short(cells.name, 60)} holds numbers that look like dates (YYYYMMDD): write them as YYYY-MM-DD, or "
        "name it in ignore to leave it out"
        for cells in columns
        if holds_numbers_for_dates(cells)
    ]
    for cells in columns:
        if not cells.is_numeric and cells.words.any() and 0 < cells.numeric_fraction < MOSTLY_NUMERIC:
            share = f"{cells.numeric_fraction:.0%} of the values of column {short(cells.name, 60)} are numbers"
            warnings.append(f"{share}, the others words: each value is a category")
    return warnings


_STYLES: dict[Style, str] = {
    "decimal commas": "commas were read as decimal points",
    "thousands separators": "commas, points or blanks between digits were read as thousands separators",
}


def _limits_of_detection(cells: Cells) -> list[str]:
    if cells.at_limit is None:
        return []
    n = int(cells.counts[cells.at_limit].sum())
    example = short(cells.column.texts[int(np.flatnonzero(cells.at_limit)[0])].as_py())
    verb = "was" if n == 1 else "were"
    where = f"{count_text(n, 'cell')} of column {short(cells.name, 60)}"
    return [f"{where} at a limit of detection ({example}) {verb} read as the limit"]


_MISSING_CODES = (-1.0, -8.0, -9.0, -88.0, -99.0, -888.0, -999.0, -9999.0, 9.0, 88.0, 99.0, 888.0, 999.0, 9999.0)
_FEWEST_OF_A_CODE = 2
_FEWEST_BESIDE_A_CODE = 10
_FAR = 0.5  # distance from the nearest other value, in ranges of the others


def suspected_codes(columns: Sequence[Cells]) -> list[str]:
    """Warn of numbers such as -9 and 999 that repeat far outside a column's other values: coded missing values."""
    advice = "if it means missing, name it in na_values"
    return [
        f"column {short(cells.name, 60)} is {suspected.code:g} in {count_text(suspected.n_rows, 'row')}, far from its "
        f"other values ({suspected.low:g} to {suspected.high:g}): {advice}"
        for cells in columns
        for suspected in find_missing_codes(cells)
    ]


@dataclass(frozen=True, slots=True)
class MissingCode:
    """A number that probably means missing, the rows that have it, and the range of the other values."""

    code: float
    n_rows: int
    low: float
    high: float


def find_missing_codes(cells: Cells) -> list[MissingCode]:
    """Find the coded missing values of a column of numbers."""
    if not cells.is_numeric:
        return []
    values = np.where(cells.missing, np.nan, cells.numbers)
    others = values[np.isfinite(values) & ~np.isin(values, _MISSING_CODES)]
    if len(others) < 2 or int(cells.counts[np.isin(values, others)].sum()) < _FEWEST_BESIDE_A_CODE:
        return []
    low, high = float(others.min()), float(others.max())
    found = [MissingCode(code, int(cells.counts[values == code].sum()), low, high) for code in _MISSING_CODES]
    return [each for each in found if each.n_rows >= _FEWEST_OF_A_CODE and _is_far(each)]


def _is_far(each: MissingCode) -> bool:
    distance = max(each.low - each.code, each.code - each.high)
    return distance > _FAR * (each.high - each.low) or (each.code < 0 <= each.low)


def cohort_warnings(cohort: Cohort) -> list[str]:
    """Warn of mostly missing columns, very many levels, columns that give the outcome away, and repeated rows."""
    cohort = cohort.unweighted
    warnings: list[str] = []
    for feature in cohort.features:
        name = short(feature.name, 60)
        if feature.missing_fraction > MOSTLY_MISSING:
            rows = "patients" if cohort.visits is None else "visits"
            warnings.append(f"column {name} is missing in {feature.missing_fraction:.0%} of the {rows}")
        if feature.kind == "categorical" and len(feature.levels) > MANY_LEVELS:
            warnings.append(f"column {name} has {len(feature.levels):,} levels; most will be rare")
    warnings += _few_patients(cohort)
    warnings += _giveaways(cohort)
    warnings += _repeated_rows(cohort)
    return warnings


def _few_patients(cohort: Cohort) -> list[str]:
    if cohort.n_patients >= FEW_PATIENTS:
        return []
    patients = count_text(cohort.n_patients, "patient")
    return [f"the cohort has only {patients}: scores are very uncertain, and a model of so few should not be used"]


def _repeated_rows(cohort: Cohort) -> list[str]:
    if cohort.visits is not None:
        return []  # a repeated visit of a patient is a fault, not a warning
    times = () if cohort.time is None else (cohort.time,)
    n = int(pd.DataFrame(np.column_stack([cohort.X, cohort.y, *times])).duplicated().sum())
    verb = "repeats" if n == 1 else "repeat"
    return [f"{count_text(n, 'row')} {verb} an earlier row in every feature and the outcome"] if n else []


def _giveaways(cohort: Cohort) -> Iterable[str]:
    later = "was it recorded after the outcome? It stays a feature; name it in ignore to leave it out"
    has_event = (cohort.y == 1).astype(np.int8)
    for feature, x in zip(cohort.features, cohort.X.T, strict=True):
        name = short(feature.name, 60)
        observed = ~np.isnan(x)
        known = _separation(feature, x[observed], has_event[observed])
        if known > GIVEAWAY_AUC:
            yield f"column {name} alone gives the outcome away (AUC {known:.3f}): {later}"
            continue
        known = _separation(None, observed.astype(np.float64), has_event)
        if known > GIVEAWAY_AUC:
            yield f"whether column {name} is missing gives the outcome away (AUC {known:.3f}): {later}"
            continue
        if feature.kind == "numeric" and cohort.time is not None:
            known = _rank_correlation(x[observed], cohort.time[observed])
            if abs(known) > GIVEAWAY_CORRELATION:
                yield f"column {name} alone gives the follow-up time away (rank correlation {known:.3f}): {later}"


def _rank_correlation(x: NDArray[np.float64], time: NDArray[np.float64]) -> float:
    """Spearman's correlation; 0 with too few patients or no two values."""
    if len(x) < _FEWEST_FOR_GIVEAWAY or np.ptp(x) == 0 or np.ptp(time) == 0:
        return 0.0
    return float(pd.Series(x).corr(pd.Series(time), method="spearman"))


def _separation(feature: Feature | None, x: NDArray[np.float64], y: NDArray[np.int8]) -> float:
    """Area under the ROC curve of one column, in its better direction; 0.5 with too few patients."""
    n_events = int(y.sum())
    if len(y) < _FEWEST_FOR_GIVEAWAY or min(n_events, len(y) - n_events) < _FEWEST_OF_A_CLASS_FOR_GIVEAWAY:
        return 0.5
    values, place = np.unique(x, return_inverse=True)
    events = np.bincount(place, weights=y, minlength=len(values))
    others = np.bincount(place, minlength=len(values)) - events
    if feature is not None and feature.kind == "categorical":
        if len(values) * _PATIENTS_A_LEVEL > len(y):
            return 0.5
        order = np.argsort(events / (events + others))
        events, others = events[order], others[order]
    others_below = np.cumsum(others) - others
    auc = float(events @ (others_below + others / 2)) / (n_events * (len(y) - n_events))
    return max(auc, 1 - auc)


def classified(cohort: Cohort, use: str, place: str = "/cohort_id") -> Binary:
    """Return a cohort's outcome for a use that requires a binary one.

    Parameters
    ----------
    cohort : Cohort
        A cohort of any mode.
    use : str
        The use of the cohort, as the subject of a sentence.
    place : str
        JSON pointer to where the client named the cohort.

    Returns
    -------
    Binary
        The outcome of a cohort of mode `classification`.

    Raises
    ------
    InvalidInputError
        If the cohort has another mode.
    """
    if isinstance(cohort.outcome, Binary):
        return cohort.outcome
    detail = f"{use} takes a cohort of mode classification; this one is of mode {cohort.mode}"
    raise InvalidInputError([Fault(place, detail)])
