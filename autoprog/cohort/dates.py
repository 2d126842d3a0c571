"""Dates in a file's columns, and the times between two of them.

A column of `3/4/2020` does not say which number is the day. Another date of the same file with a number above 12 does;
without one, the order is a fault.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, model_validator

from autoprog.cohort.canonical import canonical_text
from autoprog.cohort.cells import Cells, read_cells
from autoprog.cohort.messages import column_pointer, count_text, examples, rows_text
from autoprog.cohort.spec_values import ColumnName
from autoprog.cohort.table import Column, Table
from autoprog.errors import Fault

Unit = Literal["days", "months", "years"]

DAYS_IN: dict[Unit, float] = {"days": 1.0, "months": 365.25 / 12, "years": 365.25}
"""Days in a unit; months and years are average ones."""

_UNITS = ("minute", "hour", "day", "week", "month", "year")

# The zone is ignored: local time counts.
_CLOCK = r"(?:[T ](\d{1,2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?(?:Z| ?[+-]\d{2}(?::?\d{2})?)?)?"
_ISO = re.compile(rf"(\d{{4}})[-/.](\d{{1,2}})[-/.](\d{{1,2}}){_CLOCK}", re.ASCII)
_NUMBERS = re.compile(rf"(\d{{1,2}})([./-])(\d{{1,2}})\2(\d{{4}}){_CLOCK}", re.ASCII)
_SHORT = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{2})", re.ASCII)  # its century is anybody's guess
_NAMED = re.compile(r"(\d{1,2})[ -]?([A-Za-z]{3})[A-Za-z]*[ -]?(\d{4})", re.ASCII)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DIGITS = 9
_MOSTLY_DATES = 0.8


class FollowUpDates(BaseModel):
    """A time given as the difference of two columns of dates."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_by_name=True, serialize_by_alias=True)

    start: Annotated[ColumnName, Field(alias="from", description="Column of the date from which time counts.")]
    end: Annotated[ColumnName, Field(alias="to", description="Column of the date of the event or of last contact.")]
    unit: Annotated[Unit, Field(description="Unit of the time and of horizons.")] = "days"

    @model_validator(mode="after")
    def _columns_differ(self) -> FollowUpDates:
        if self.start == self.end:
            msg = "from and to are the same column"
            raise ValueError(msg)
        return self

    @property
    def name(self) -> str:
        """Name of the column that is computed: `months from admission to last_contact`."""
        return difference_name(self.start, self.end, self.unit)


def is_unit(text: str) -> bool:
    """Check whether a text names a unit of time, rather than being a word of another language."""
    return text.strip().casefold().removesuffix("s") in _UNITS


def difference_name(start: str, end: str, unit: Unit) -> str:
    """Name of the column that holds the time from one date to another."""
    return f"{unit} from {start} to {end}"


@dataclass(frozen=True, eq=False)
class Difference:
    """A computed column, with the faults of its two dates."""

    column: Column
    faults: tuple[Fault, ...]


def date_difference(table: Table, start: str, end: str, unit: Unit, na_values: Collection[str]) -> Difference:
    """Compute the time from `start` to `end` in every row; empty where a date is missing."""
    columns = [table.columns[start], table.columns[end]]
    orders = [_order(column) for column in columns]
    shared = next((order for order in orders if order in {"day", "month"}), None)
    days: list[NDArray[np.float64]] = []
    faults: list[Fault] = []
    for column, order in zip(columns, orders, strict=True):
        read, found = _read_days(column, (shared or order) if order == "open" else order, table.lines, na_values)
        days.append(read)
        faults += found
    difference = np.round((days[1] - days[0]) / DAYS_IN[unit], _DIGITS)
    texts = pa.array(["" if np.isnan(x) else canonical_text(x) for x in difference.tolist()], pa.large_string())
    return Difference(Column.of(difference_name(start, end, unit), texts), tuple(faults))


def holds_dates(cells: Cells) -> bool:
    """Check whether most of a column's values are written as dates."""
    if cells.is_numeric or cells.n_observed == 0:
        return False
    are_dates = np.array([_is_date(text) for text in cells.column.texts.to_pylist()], dtype=np.bool_)
    return int(cells.counts[are_dates & ~cells.missing].sum()) >= _MOSTLY_DATES * cells.n_observed


def holds_numbers_for_dates(cells: Cells) -> bool:
    """Check whether most of a column's values are numbers such as 20201231."""
    # Hardly any numbers are days of these centuries by chance.
    can_be = ~cells.missing & (cells.numbers > 1900_00_00) & (cells.numbers < 2101_00_00)
    enough = _MOSTLY_DATES * cells.n_observed
    if not cells.is_numeric or cells.n_observed == 0 or cells.counts[can_be].sum() < enough:
        return False
    are_dates = [_is_day(f"{x:.12g}") for x in cells.numbers[can_be].tolist()]
    return int(cells.counts[can_be][are_dates].sum()) >= enough


def _is_day(digits: str) -> bool:
    return not math.isnan(_days(f"{digits[:4]}-{digits[4:6]}-{digits[6:]}", None))


def _is_date(text: str) -> bool:
    return any(form.fullmatch(text) for form in (_ISO, _NUMBERS, _SHORT)) or _named(text) > 0


def _order(column: Column) -> str | None:
    """Find what comes first in `3/4/2020`: `day`, `month`, `open` or `both`; None without such dates."""
    found = [match for text in column.texts.to_pylist() if (match := _NUMBERS.fullmatch(text))]
    if not found:
        return None
    # Points are written between day, month and year only.
    day_first = any(int(m[1]) > 12 for m in found) or all(m[2] == "." for m in found)
    month_first = any(int(m[3]) > 12 for m in found)
    if day_first and month_first:
        return "both"
    return "day" if day_first else "month" if month_first else "open"


def _read_days(
    column: Column, order: str | None, lines: NDArray[np.int64], na_values: Collection[str]
) -> tuple[NDArray[np.float64], list[Fault]]:
    """Read a column as days since 1970, NaN where missing, with its faults."""
    cells = read_cells(column, numeric=False, na_values=na_values)
    texts = column.texts.to_pylist()
    place = column_pointer(column.name)
    if order in {"open", "both"}:
        dates = [text for text in texts if _NUMBERS.fullmatch(text)]
        why = "both orders occur" if order == "both" else "every one could be either"
        detail = f"whether day or month comes first in the dates is not clear: {why}; write them as 2020-12-31"
        return np.full(len(column.codes), np.nan), [Fault(place, detail, examples(dates))]
    by_text = np.array(
        [np.nan if missing else _days(text, order) for missing, text in zip(cells.missing, texts, strict=True)]
    )
    wrong = ~cells.missing & np.isnan(by_text)
    rows = cells.rows_with(wrong)
    if not len(rows):
        return by_text[column.codes], []
    are = "1 cell is no date" if len(rows) == 1 else f"{count_text(len(rows), 'cell')} are no dates"
    shown = examples(text for text, is_wrong in zip(texts, wrong, strict=True) if is_wrong)
    detail = f"{are}: {rows_text(lines[rows])}; write them as 2020-12-31, and name what is missing in na_values"
    return by_text[column.codes], [Fault(place, detail, shown)]


def _days(text: str, order: str | None) -> float:
    """Days since 1970 of a date; NaN for any other text."""
    hours = 0.0
    if match := _ISO.fullmatch(text):
        year, month, day = int(match[1]), int(match[2]), int(match[3])
        hours = _hours(match)
    elif match := _NUMBERS.fullmatch(text):
        first, second, year = int(match[1]), int(match[3]), int(match[4])
        hours = _hours(match)
        day, month = (second, first) if order == "month" else (first, second)
    elif (match := _NAMED.fullmatch(text)) and _named(text):
        day, month, year = int(match[1]), _named(text), int(match[3])
    else:
        return float("nan")
    try:
        whole = (datetime(year, month, day) - datetime(1970, 1, 1)).days  # noqa: DTZ001  a calendar's date has no zone
    except ValueError:
        return float("nan")
    return whole + hours / 24


def _hours(match: re.Match[str]) -> float:
    """Time of the day; 0 without one."""
    hours, minutes, seconds = (int(each or 0) for each in match.groups()[-3:])
    return hours + minutes / 60 + seconds / 3600


def _named(text: str) -> int:
    """Month of a date such as `31-Dec-2020`; 0 if its word is none."""
    match = _NAMED.fullmatch(text)
    name = match[2].lower() if match else ""
    return _MONTHS.index(name) + 1 if name in _MONTHS else 0
