"""Classify a column's cells: missing, numbers, numbers that are too large, and words."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from autoprog.cohort.canonical import LARGEST, canonical_text, parse_number
from autoprog.cohort.number_texts import NumberTexts, Style, read_number_texts
from autoprog.cohort.table import Column

MISSING_TOKENS = frozenset({"", "na", "n/a", "nan", "null", "?", ".", "-"})
"""Cells that mean missing in any column, in upper or lower case."""

NUMERIC_MISSING_TOKENS = MISSING_TOKENS | {"none"}
"""Cells that mean missing among numbers; among words, `none` is often a level (none, mild, severe)."""

MOSTLY_NUMERIC = 0.8
"""Share of numbers among the observed cells from which words in a column count as mistakes."""

_PLUSES = r"^(?:\++|\(\+\)|\+/-|±)$"  # results of tests, beside which `-` is one, too
_MOSTLY_MEASURED = 0.5  # share of plain numbers from which a text such as `<40` is a limit and no age group


@dataclass(frozen=True, eq=False)
class Cells:
    """One column with each distinct text classified; every array has shape = (n_distinct,)."""

    column: Column
    counts: NDArray[np.int64]  # rows with each text
    missing: NDArray[np.bool_]  # texts that mean missing
    numbers: NDArray[np.float64]  # infinite where the text says so, NaN for a word
    is_numeric: bool
    style: Style | None = None  # how commas and separators were read
    at_limit: NDArray[np.bool_] | None = None  # texts such as `<0.5` that were read as the limit; None without any

    @property
    def name(self) -> str:
        """Name of the column."""
        return self.column.name

    @property
    def words(self) -> NDArray[np.bool_]:
        """Texts that are neither missing nor numbers, shape = (n_distinct,)."""
        return ~self.missing & np.isnan(self.numbers)

    @property
    def too_large(self) -> NDArray[np.bool_]:
        """Texts that are infinite numbers or reach `LARGEST` in size, shape = (n_distinct,)."""
        return ~self.missing & (np.abs(self.numbers) >= LARGEST)

    @property
    def n_observed(self) -> int:
        """Number of rows with a value."""
        return int(self.counts[~self.missing].sum())

    @property
    def missing_fraction(self) -> float:
        """Share of rows without a value."""
        return 1 - self.n_observed / max(len(self.column.codes), 1)

    @property
    def numeric_fraction(self) -> float:
        """Share of numbers among the observed cells; 0 where none was observed."""
        return _numeric_fraction(self.counts, self.numbers, self.missing)

    def rows_with(self, texts: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Row indices, ascending, whose text is selected by a mask of shape = (n_distinct,)."""
        return np.flatnonzero(texts[self.column.codes])

    def canonical(self) -> list[str]:
        """Canonical text of every distinct text, length n_distinct."""
        texts = self.column.texts.to_pylist()
        if self.style is None and self.at_limit is None:
            return [canonical_text(text) for text in texts]
        return [
            canonical_text(number) if math.isfinite(number) else canonical_text(text)
            for number, text in zip(self.numbers.tolist(), texts, strict=True)
        ]

    def missing_words(self) -> dict[str, int]:
        """Non-empty texts that were read as missing, with their row counts."""
        return {
            str(self.column.texts[int(i)].as_py()): int(self.counts[i])
            for i in np.flatnonzero(self.missing)
            if self.column.texts[int(i)].as_py()
        }


def read_cells(
    column: Column,
    *,
    numeric: bool | None = None,  # None: inferred from the share of numbers
    na_values: Collection[str] = (),  # missing, besides the usual tokens
    levels: Collection[str] = (),  # values, even if they are among the usual tokens
    decimal_comma: bool = False,  # whether `1,5` may be a number
) -> Cells:
    """Classify a column's cells; `na_values` and `levels` are canonical texts."""
    read = read_number_texts(column.texts, decimal_comma=decimal_comma)
    counts = np.bincount(column.codes, minlength=len(column.texts))
    # Words are tried last: only in a column of numbers is `1,5` a number, and `none` missing.
    if numeric is not False:
        cells = _as_numbers(column, counts, read, na_values, levels, is_declared=numeric is True)
        if numeric or cells.numeric_fraction >= MOSTLY_NUMERIC:
            return cells
    missing = _missing(column.texts, read.plain, MISSING_TOKENS, na_values, levels)
    return Cells(column, counts, missing, read.plain, is_numeric=False)


def _as_numbers(
    column: Column,
    counts: NDArray[np.int64],
    read: NumberTexts,
    na_values: Collection[str],
    levels: Collection[str],
    *,
    is_declared: bool,
) -> Cells:
    """Classify cells as those of a column of numbers; unless it is declared one, `<40` beside few numbers is a word."""
    missing = _missing(column.texts, read.numbers, NUMERIC_MISSING_TOKENS, na_values, levels)
    numbers, at_limit = read.numbers, read.at_limit & ~missing
    if at_limit.any() and not is_declared:
        measured = np.where(at_limit, np.nan, numbers)
        if _numeric_fraction(counts, measured, missing) < _MOSTLY_MEASURED:
            numbers, at_limit = measured, np.zeros_like(at_limit)
    limits = at_limit if at_limit.any() else None
    return Cells(column, counts, missing, numbers, is_numeric=True, style=read.style, at_limit=limits)


def _numeric_fraction(counts: NDArray[np.int64], numbers: NDArray[np.float64], missing: NDArray[np.bool_]) -> float:
    observed = int(counts[~missing].sum())
    return float(counts[~missing & ~np.isnan(numbers)].sum() / observed) if observed else 0.0


def _missing(
    texts: pa.Array,
    numbers: NDArray[np.float64],
    tokens: Collection[str],
    na_values: Collection[str],
    levels: Collection[str],
) -> NDArray[np.bool_]:
    na_numbers = [number for number in map(parse_number, na_values) if math.isfinite(number)]
    missing: NDArray[np.bool_] = np.isin(numbers, na_numbers)
    missing |= _is_in(pc.utf8_lower(texts), tokens) | _is_in(texts, na_values)
    observed = pc.match_substring_regex(texts.filter(pa.array(~missing)), _PLUSES)
    if len(observed) and pc.all(observed).as_py() and "-" not in na_values:
        missing &= ~_is_in(texts, ["-"])
    if levels:
        missing &= ~_is_in(texts, levels) & ~np.isin(numbers, [parse_number(level) for level in levels])
    return missing


def _is_in(texts: pa.Array, values: Collection[str]) -> NDArray[np.bool_]:
    return np.asarray(pc.is_in(texts, pa.array(sorted(values), texts.type)), dtype=np.bool_)
