"""What a file seems to hold, before anybody has said what its columns mean."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort.cells import Cells, read_cells
from autoprog.cohort.checks import reading_warnings, reason_to_leave_out
from autoprog.cohort.inference import count_values, infer_kind, sort_levels
from autoprog.cohort.messages import capped, capped_warnings
from autoprog.cohort.schema import FeatureKind
from autoprog.cohort.source import read_table
from autoprog.cohort.table import ReadLimits
from autoprog.errors import Fault

_BINS = 20
_MOST_LEVELS = 12
_MOST_CODES = 12
_OUTCOME = re.compile(
    r"(outcome|death|dead|died|deceased|mortality|event|status|fustat|vital[\W_]?status|relapse|recurrence|target|label"
    r"|class|y|delta|readmitted|readmission)\d?",
    re.IGNORECASE,
)
_LIKELY = re.compile(r"outcome|death|dead|died|mortal|event|relapse|recurr|readmi|surviv|cens", re.IGNORECASE)
_TIME = re.compile(
    r"((survival|follow[\W_]?up|fu|event|obs|os|pfs|rfs|dfs|death)[\W_]?)?(time|days|months|years|duration|yrs)"
    r"|futime|os|pfs|rfs|dfs|tte|tstop|follow[\W_]?up|duration|t",
    re.IGNORECASE,
)
_PATIENT = re.compile(
    r"((patient|subject|person|case|participant)[\W_]?)?(id|no|nr|number)|patient|subject", re.IGNORECASE
)
_YES = ("1", "yes", "true", "y", "dead", "died", "death", "deceased", "event", "case", "positive", "ja", "relapse")
_NO = ("0", "no", "false", "n", "alive", "censored", "none", "control", "negative", "nein")


@dataclass(frozen=True, slots=True)
class ColumnProfile:
    """One column, as far as its cells tell.

    Attributes
    ----------
    name : str
        Its name.
    kind : FeatureKind
        What it is taken for unless the spec says otherwise.
    n_missing : int
        Rows without a value.
    n_values : int
        Distinct values.
    bounds : tuple of float or None
        Smallest and largest number; None if not numeric.
    levels : tuple of (str, int)
        Most frequent values with their numbers of rows, at most 12.
    histogram : tuple of int
        Rows in 20 classes of equal width between the bounds; empty if not numeric.
    note : str or None
        Why it is left out unless the spec keeps it.
    """

    name: str
    kind: FeatureKind
    n_missing: int
    n_values: int
    bounds: tuple[float, float] | None
    levels: tuple[tuple[str, int], ...]
    histogram: tuple[int, ...]
    note: str | None


@dataclass(frozen=True, slots=True)
class OutcomeGuess:
    """A column that may say who had the outcome.

    Attributes
    ----------
    column : str
        Its name.
    values : tuple of str
        Its values, at most 12.
    positive : str
        The value that is likeliest to mean that a patient had the outcome.
    censored : str
        The one that is likeliest to mean the opposite, or the end of follow-up.
    is_named : bool
        Whether its name speaks of an outcome.
    """

    column: str
    values: tuple[str, ...]
    positive: str
    censored: str
    is_named: bool


@dataclass(frozen=True, slots=True)
class FileProfile:
    """A file, as far as its cells tell.

    Attributes
    ----------
    n_rows : int
        Number of rows.
    columns : tuple of ColumnProfile
        Its columns, in order.
    faults : tuple of Fault
        What makes the file unreadable; if there are any, the rest is empty.
    warnings : tuple of str
        What was read in a way that one should know.
    outcomes : tuple of OutcomeGuess
        Columns that may hold the outcome, the likeliest first.
    times : tuple of str
        Columns that may hold the time to it, the likeliest first.
    patients : tuple of str
        Columns whose values repeat and look like patients' identifiers.
    """

    n_rows: int
    columns: tuple[ColumnProfile, ...]
    faults: tuple[Fault, ...] = ()
    warnings: tuple[str, ...] = ()
    outcomes: tuple[OutcomeGuess, ...] = ()
    times: tuple[str, ...] = ()
    patients: tuple[str, ...] = ()

    @property
    def has_times(self) -> bool:
        """Whether a pair of columns seems to hold a time to an event."""
        named = [guess for guess in self.outcomes if guess.is_named]
        return bool(named) and any(_TIME.fullmatch(name) for name in self.times)


def profile_file(source: Path | bytes, limits: ReadLimits) -> FileProfile:
    """Profile a file's columns.

    Parameters
    ----------
    source : Path or bytes
        The file or its content, in any format that `read_cohort` takes.
    limits : ReadLimits
        Maximum size of the file.

    Returns
    -------
    FileProfile
        Its columns, and guesses at the outcome.

    Raises
    ------
    TooLargeError
        If the file exceeds a limit.
    UnsupportedMediaError
        If the file has another format.
    """
    parsed = read_table(source, limits)
    table = parsed.table
    if parsed.faults or table is None:
        return FileProfile(0, (), capped(list(parsed.faults), "/file"))
    cells = [read_cells(column, decimal_comma=table.decimal_comma) for column in table.columns.values()]
    columns = tuple(_profile(each) for each in cells)
    warnings = tuple(capped_warnings(reading_warnings(cells)))
    return FileProfile(
        table.n_rows, columns, (), warnings, _guess_outcomes(cells), _guess_times(columns), _guess_patients(columns)
    )


def _profile(cells: Cells) -> ColumnProfile:
    n_values = count_values(cells)
    numbers, counts = cells.numbers[~cells.missing], cells.counts[~cells.missing]
    finite = np.isfinite(numbers)
    bounds = None
    histogram: tuple[int, ...] = ()
    if cells.is_numeric and finite.any():
        bounds = float(numbers[finite].min()), float(numbers[finite].max())
        histogram = _histogram(numbers[finite], counts[finite], bounds)
    return ColumnProfile(
        cells.name,
        infer_kind(cells),
        int(cells.counts.sum()) - cells.n_observed,
        n_values,
        bounds,
        tuple(_count_levels(cells)[:_MOST_LEVELS]),
        histogram,
        reason_to_leave_out(cells),
    )


def _histogram(numbers: NDArray[np.float64], counts: NDArray[np.int64], bounds: tuple[float, float]) -> tuple[int, ...]:
    if bounds[0] == bounds[1]:
        return ()
    rows, _ = np.histogram(numbers, bins=_BINS, range=bounds, weights=counts)
    return tuple(int(n) for n in rows)


def _count_levels(cells: Cells) -> list[tuple[str, int]]:
    """Count the rows of every value, the most frequent first."""
    counts: dict[str, int] = {}
    for missing, text, n in zip(cells.missing, cells.canonical(), cells.counts, strict=True):
        if not missing:
            counts[text] = counts.get(text, 0) + int(n)
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def _guess_outcomes(cells: Sequence[Cells]) -> tuple[OutcomeGuess, ...]:
    found: list[tuple[tuple[bool, bool, bool, int], OutcomeGuess]] = []
    for i, each in enumerate(cells):
        if not 2 <= count_values(each) <= _MOST_CODES:
            continue
        counts = dict(_count_levels(each))
        values = sort_levels(list(counts))
        named = _OUTCOME.fullmatch(each.name) is not None
        lower = {value.lower(): value for value in reversed(values)}
        censored = next((lower[no] for no in _NO if no in lower), values[0])
        others = [value for value in values if value != censored]
        positive = next((lower[yes] for yes in _YES if lower.get(yes) in others), None)
        positive = positive or min(others, key=lambda value: (counts[value], value))
        # A binary column with a likely name first; of several the last, as outcomes often end a table.
        order = (not named, len(values) > 2, -i)
        found.append((order, OutcomeGuess(each.name, values, positive, censored, named)))
    return tuple(guess for _, guess in sorted(found, key=lambda item: item[0]))


def _guess_times(columns: Sequence[ColumnProfile]) -> tuple[str, ...]:
    able = [c for c in columns if c.bounds is not None and c.bounds[0] >= 0 and c.n_values > _MOST_CODES]
    return tuple(c.name for c in sorted(able, key=lambda c: _TIME.fullmatch(c.name) is None))


def _guess_patients(columns: Sequence[ColumnProfile]) -> tuple[str, ...]:
    return tuple(c.name for c in columns if c.n_values > 1 and _PATIENT.fullmatch(c.name))
