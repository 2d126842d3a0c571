"""Describe the columns of a file before anybody has said what they mean, and guess which of them is the outcome."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort.cells import Cells, read_cells
from autoprog.cohort.checks import find_missing_codes, is_identifier
from autoprog.cohort.dates import FollowUpDates, date_difference, holds_dates
from autoprog.cohort.follow_up import default_horizons, horizon_fault
from autoprog.cohort.inference import count_values, infer_kind, observed_values, places_of_values, sort_levels
from autoprog.cohort.messages import FIRST, capped
from autoprog.cohort.outcome_column import FEWEST_OF_A_CLASS
from autoprog.cohort.schema import FeatureKind
from autoprog.cohort.source import read_table
from autoprog.cohort.table import ReadLimits, Table
from autoprog.errors import Fault

Remark = Literal["empty", "constant", "identifier", "date", "many_levels", "mostly_missing"]
"""A peculiarity of a column; the first four are reasons not to learn from it."""

LEFT_OUT: frozenset[Remark] = frozenset({"empty", "constant", "identifier", "date"})
"""Remarks of columns that are left out unless the client keeps them."""

N_BINS = 12
"""Bins of a numeric column's histogram."""

MAX_LEVELS = 12
"""Number of values, the most frequent first, that are described of a column that is not numeric."""

_MANY_LEVELS = 50
_MOSTLY_MISSING = 0.5
_MAX_EVENT_CODES = 6

_OUTCOME_NAME = re.compile(
    r"(?:.*[\W_])?(?:outcome|death|dead|died|mortality|deceased|event|target|label|class|relapse|recurrence|readmi\w*"
    r"|progression|complication|case|diagnosis|disease|status|survived|stroke|chd|y"
    r"|tod|tot|gestorben|verstorben|exitus|ereignis|zielgröße|rezidiv|überlebt)(?:[\W_].*)?",
    re.IGNORECASE,
)
_EVENT_NAME = re.compile(
    r"(?:.*[\W_])?(?:event|status|cens\w*|died|death|dead|fustat|cause|delta|relapse|recurrence"
    r"|tod|tot|gestorben|verstorben|exitus|ereignis|zensiert|rezidiv)(?:[\W_].*)?",
    re.IGNORECASE,
)
_TIME_NAME = re.compile(
    r"(?:.*[\W_])?(?:time|days|weeks|months|years|futime|follow[\W_]?up|fu|survival|os|pfs|tte|duration"
    r"|zeit|tage|wochen|monate|jahre|nachbeobachtung\w*|beobachtung\w*|überlebenszeit)(?:[\W_].*)?",
    re.IGNORECASE,
)
_PATIENT_NAME = re.compile(
    r"(?:patient|subject|case|participant)s?(?:[\W_]?(?:id|no|nr|number|code))?|id|pid|mrn", re.IGNORECASE
)
_VISIT_TIME_NAME = re.compile(
    r"(?:.*[\W_])?(?:visit|exam|measurement|obs\w*)[\W_]?(?:time|day|days|month|months|year|years)(?:[\W_].*)?",
    re.IGNORECASE,
)
_YES = frozenset({
    "1", "yes", "y", "true", "dead", "died", "death", "deceased", "positive", "pos", "case", "event",
    "ja", "j", "tot", "tod", "gestorben", "verstorben",
})  # fmt: skip
NO = frozenset({
    "0", "no", "n", "false", "alive", "none", "negative", "neg", "control", "censored",
    "nein", "lebt", "lebend", "zensiert",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class ColumnDescription:
    """One column of a file.

    Attributes
    ----------
    name : str
        Its name.
    kind : {"numeric", "binary", "categorical", "ordinal"}
        The kind that is inferred.
    n_values : int
        Number of distinct values.
    missing_fraction : float
        Share of rows without a value, in [0, 1].
    levels : tuple of (str, int)
        Values and their number of rows: all values of at most `MAX_LEVELS`, in order; of more, the most frequent ones
        if the column is not numeric, else none.
    minimum, median, maximum : float or None
        Of a column of numbers; else None.
    bins : tuple of int
        Number of rows in `N_BINS` bins of equal width from minimum to maximum; empty unless numeric.
    missing_codes : tuple of str
        Values such as -9 or 999 that probably mean missing, and the most frequent words among numbers.
    remarks : tuple of Remark
        Peculiarities.
    """

    name: str
    kind: FeatureKind
    n_values: int
    missing_fraction: float
    levels: tuple[tuple[str, int], ...]
    minimum: float | None
    median: float | None
    maximum: float | None
    bins: tuple[int, ...]
    missing_codes: tuple[str, ...]
    remarks: tuple[Remark, ...]

    @property
    def is_left_out(self) -> bool:
        """Whether models do not learn from it unless the client keeps it."""
        return not LEFT_OUT.isdisjoint(self.remarks)


@dataclass(frozen=True, eq=False)
class FileDescription:
    """The columns of a file.

    Attributes
    ----------
    columns : tuple of ColumnDescription
        All columns in the file's order; none if the file cannot be read.
    n_rows : int
        Number of rows.
    faults : tuple of Fault
        Structural faults.
    sheets : tuple of str
        Sheets of an Excel workbook; empty for other files.
    """

    columns: tuple[ColumnDescription, ...]
    n_rows: int
    faults: tuple[Fault, ...]
    sheets: tuple[str, ...] = ()
    _table: Table | None = None
    _na_values: Collection[str] = ()

    def propose_horizons(self, time: str | FollowUpDates, event: str, interest: str) -> tuple[float, ...]:
        """Propose horizons for a follow-up and a value of an event column: rounded quartiles of the event times."""
        table, na_values = self._table, self._na_values
        names = {time} if isinstance(time, str) else {time.start, time.end}
        if table is None or not names | {event} <= set(table.columns):
            return ()
        if isinstance(time, str):
            column = table.columns[time]
        else:
            column = date_difference(table, time.start, time.end, time.unit, na_values).column
        times = read_cells(column, numeric=True, na_values=na_values, decimal_comma=table.decimal_comma)
        t = np.where(times.missing, np.nan, times.numbers)[times.column.codes]
        codes = read_cells(
            table.columns[event], na_values=na_values, levels=(interest,), decimal_comma=table.decimal_comma
        )
        is_event = np.array([text == interest for text in codes.canonical()])[codes.column.codes]
        known = np.isfinite(t) & (t > 0) & ~codes.missing[codes.column.codes]
        followed, events = t[known], t[known & is_event]
        if min(len(events), len(followed)) < FEWEST_OF_A_CLASS:
            return ()
        proposed = []
        for quartile in default_horizons(followed, events)[0]:
            rounded = float(f"{quartile:.2g}")
            proposed.append(rounded if horizon_fault(rounded, followed, events) is None else quartile)
        return tuple(sorted(set(proposed)))


def describe_file(
    source: Path | bytes, limits: ReadLimits, na_values: Collection[str] = (), sheet: str | None = None
) -> FileDescription:
    """Describe the columns of a file.

    Parameters
    ----------
    source : Path or bytes
        The file or its content, as `read_cohort` takes it.
    limits : ReadLimits
        Maximum size of the file.
    na_values : collection of str
        Canonical texts of cells that mean missing, besides the usual ones.
    sheet : str, optional
        Sheet of an Excel workbook. Default: the first.

    Returns
    -------
    FileDescription
        The columns, and the file's structural faults.

    Raises
    ------
    TooLargeError
        If the file exceeds a limit.
    UnsupportedMediaError
        If the file has another format.
    InvalidInputError
        If the file is damaged.
    """
    parsed = read_table(source, limits, sheet)
    faults = capped(parsed.faults, "/file")
    table = parsed.table
    if table is None:
        return FileDescription((), 0, faults, parsed.sheets)
    columns = tuple(_describe(table, name, na_values) for name in table.columns)
    return FileDescription(columns, table.n_rows, faults, parsed.sheets, table, tuple(na_values))


def _describe(table: Table, name: str, na_values: Collection[str]) -> ColumnDescription:
    cells = read_cells(table.columns[name], na_values=na_values, decimal_comma=table.decimal_comma)
    n_values = count_values(cells)
    kind = infer_kind(cells)
    is_number = cells.is_numeric & ~cells.missing & np.isfinite(cells.numbers)
    numbers, counts = cells.numbers[is_number], cells.counts[is_number]
    has_numbers = len(numbers) > 0
    return ColumnDescription(
        name=name,
        kind=kind,
        n_values=n_values,
        missing_fraction=cells.missing_fraction,
        levels=_levels(cells, table, n_values),
        minimum=float(numbers.min()) if has_numbers else None,
        median=float(np.median(np.repeat(numbers, counts))) if has_numbers else None,
        maximum=float(numbers.max()) if has_numbers else None,
        bins=_bins(numbers, counts) if has_numbers and kind == "numeric" else (),
        missing_codes=_missing_codes(cells) if kind == "numeric" else (),
        remarks=tuple(_remarks(cells, n_values)),
    )


def _missing_codes(cells: Cells) -> tuple[str, ...]:
    words = sorted(np.flatnonzero(cells.words), key=lambda i: -int(cells.counts[i]))[:FIRST]
    codes = (f"{each.code:g}" for each in find_missing_codes(cells))
    return (*codes, *(str(cells.column.texts[int(i)].as_py()) for i in words))


def _levels(cells: Cells, table: Table, n_values: int) -> tuple[tuple[str, int], ...]:
    if n_values > MAX_LEVELS and cells.is_numeric:
        return ()
    counts = {value: count for value, (_, count) in places_of_values(cells, table.lines).items()}
    if n_values > MAX_LEVELS:
        return tuple(sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:MAX_LEVELS])
    return tuple((value, counts[value]) for value in sort_levels(observed_values(cells)))


def _bins(numbers: NDArray[np.float64], counts: NDArray[np.int64]) -> tuple[int, ...]:
    low, high = float(numbers.min()), float(numbers.max())
    # Numbers may lie so close together that no bin would have a width.
    if not math.isfinite(high - low) or (np.diff(np.linspace(low, high, N_BINS + 1)) <= 0).any():
        return ()
    return tuple(int(n) for n in np.histogram(numbers, bins=N_BINS, range=(low, high), weights=counts)[0])


def _remarks(cells: Cells, n_values: int) -> Iterator[Remark]:
    if n_values == 0:
        yield "empty"
    elif n_values == 1:
        yield "constant"
    elif holds_dates(cells):
        yield "date"
    elif is_identifier(cells, n_values):
        yield "identifier"
    elif not cells.is_numeric and n_values > _MANY_LEVELS:
        yield "many_levels"
    if n_values and cells.missing_fraction > _MOSTLY_MISSING:
        yield "mostly_missing"


@dataclass(frozen=True, slots=True)
class OutcomeGuess:
    """A guess of what is to be predicted; None for what cannot be guessed.

    Attributes
    ----------
    mode : {"classification", "survival", "temporal"}
        Mode of the cohort.
    column : str or None
        A column with two values.
    time, event : str or None
        Columns of the time to an event and of how it ended.
    patient, visit_time : str or None
        Columns of repeated visits.
    """

    mode: Literal["classification", "survival", "temporal"]
    column: str | None = None
    time: str | None = None
    event: str | None = None
    patient: str | None = None
    visit_time: str | None = None


def guess_outcome(columns: Sequence[ColumnDescription]) -> OutcomeGuess:
    """Guess the outcome of a file by its columns' names and values.

    Parameters
    ----------
    columns : sequence of ColumnDescription
        The columns of the file.

    Returns
    -------
    OutcomeGuess
        The guess; a person should confirm it.
    """
    column = _best([c for c in columns if c.kind == "binary" and len(c.levels) == 2], _OUTCOME_NAME)
    coded = [c for c in columns if 2 <= c.n_values <= _MAX_EVENT_CODES and len(c.levels) == c.n_values]
    event = _best(coded, _EVENT_NAME)
    visit_time = _best([c for c in columns if c.kind == "numeric"], _VISIT_TIME_NAME)
    time = _best([c for c in columns if _can_be_time(c) and c.name != visit_time], _TIME_NAME)
    patient = next((c.name for c in columns if _PATIENT_NAME.fullmatch(c.name) and "identifier" not in c.remarks), None)
    if event is None or time is None:
        time = event = None
    mode: Literal["classification", "survival", "temporal"] = "classification" if time is None else "survival"
    if patient is not None and visit_time is not None:
        mode = "temporal"
    return OutcomeGuess(mode, column, time, event, patient, visit_time)


def _can_be_time(column: ColumnDescription) -> bool:
    return column.kind == "numeric" and column.median is not None and column.median >= 0  # some may be mistakes


def _best(columns: Sequence[ColumnDescription], likely: re.Pattern[str]) -> str | None:
    """Return the name that the pattern matches, the shortest first."""
    names = [column.name for column in columns if likely.fullmatch(column.name)]
    return min(names, key=len) if names else None


def guess_positive(levels: Sequence[tuple[str, int]]) -> str | None:
    """Guess which of two values means that a patient had the outcome.

    Parameters
    ----------
    levels : sequence of (str, int)
        Both values and their number of rows.

    Returns
    -------
    str or None
        The value that says so, the other of one that denies it, or the rarer of the two; None unless there are two.
    """
    if len(levels) != 2:
        return None
    for (value, _), (other, _) in (levels, levels[::-1]):
        if value.casefold() in _YES or other.casefold() in NO:
            return value
    return min(levels, key=lambda level: level[1])[0]


def guess_censored(levels: Sequence[tuple[str, int]]) -> str | None:
    """Guess which value of an event column means that no event was seen.

    Parameters
    ----------
    levels : sequence of (str, int)
        The values and their number of rows.

    Returns
    -------
    str or None
        A value that denies an event, else the first value; None without values.
    """
    denying = [value for value, _ in levels if value.casefold() in NO]
    return denying[0] if denying else (levels[0][0] if levels else None)
