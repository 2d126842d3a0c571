"""A column whose cells are told apart: missing ones, numbers, numbers that are too large and words."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from autoprog.cohort.canonical import LARGEST, canonical_text, parse_number, parse_numbers
from autoprog.cohort.table import Column

MISSING_TOKENS = frozenset({"", "na", "n/a", "nan", "null", "?", ".", "-"})
"""Cells that mean missing in any column, whatever their capitals."""

NUMERIC_MISSING_TOKENS = MISSING_TOKENS | {"none"}
"""Cells that mean missing among numbers; among words, `none` is often a level (none, mild, severe)."""

MOSTLY_NUMERIC = 0.8
"""Share of numbers among the observed cells from which on words in a column are taken for mistakes."""

_DECIMAL_COMMA = r"^[+-]?[0-9]*,[0-9]+([eE][+-]?[0-9]+)?$"


@dataclass(frozen=True, eq=False)
class Cells:
    """One column; what is said of a text holds for every row that has it.

    Attributes
    ----------
    column : Column
        The texts and which row has which.
    counts : ndarray, shape = (n_distinct,)
        Rows a text.
    missing : ndarray of bool, shape = (n_distinct,)
        Texts that mean missing.
    numbers : ndarray, shape = (n_distinct,)
        float64; infinite where the text says so, NaN for a word.
    is_numeric : bool
        Whether the column is read as one of numbers.
    has_decimal_commas : bool
        Whether commas were read as decimal points.
    """

    column: Column
    counts: NDArray[np.int64]
    missing: NDArray[np.bool_]
    numbers: NDArray[np.float64]
    is_numeric: bool
    has_decimal_commas: bool

    @property
    def name(self) -> str:
        """The column's name."""
        return self.column.name

    @property
    def words(self) -> NDArray[np.bool_]:
        """Texts that are neither missing nor numbers, shape = (n_distinct,)."""
        return ~self.missing & np.isnan(self.numbers)

    @property
    def too_large(self) -> NDArray[np.bool_]:
        """Texts that are infinite numbers, or of the size of `LARGEST`; shape = (n_distinct,)."""
        return ~self.missing & (np.abs(self.numbers) >= LARGEST)

    @property
    def n_observed(self) -> int:
        """Rows with a value."""
        return int(self.counts[~self.missing].sum())

    @property
    def missing_fraction(self) -> float:
        """Share of rows without a value."""
        return 1 - self.n_observed / max(len(self.column.codes), 1)

    @property
    def numeric_fraction(self) -> float:
        """Share of numbers among the observed cells; 0 where nothing was observed."""
        return _numeric_fraction(self.counts, self.numbers, self.missing)

    def rows_with(self, texts: NDArray[np.bool_]) -> NDArray[np.int64]:
        """The rows that have one of these texts.

        Parameters
        ----------
        texts : ndarray of bool, shape = (n_distinct,)
            Which texts.

        Returns
        -------
        ndarray
            Row indices, ascending.
        """
        return np.flatnonzero(texts[self.column.codes])

    def canonical(self) -> list[str]:
        """The canonical text of every distinct text, length n_distinct."""
        texts = self.column.texts.to_pylist()
        if not self.has_decimal_commas:
            return [canonical_text(text) for text in texts]
        return [
            canonical_text(number) if math.isfinite(number) else canonical_text(text)
            for number, text in zip(self.numbers.tolist(), texts, strict=True)
        ]

    def missing_words(self) -> dict[str, int]:
        """Texts other than the empty one that were read as missing, and in how many rows."""
        return {
            str(self.column.texts[int(i)].as_py()): int(self.counts[i])
            for i in np.flatnonzero(self.missing)
            if self.column.texts[int(i)].as_py()
        }


def read_cells(
    column: Column,
    *,
    numeric: bool | None = None,
    na_values: Collection[str] = (),
    levels: Collection[str] = (),
    decimal_comma: bool = False,
) -> Cells:
    """Tell the cells of a column apart.

    Parameters
    ----------
    column : Column
        The column.
    numeric : bool, optional
        Whether it holds numbers; None judges by whether most of its observed cells are.
    na_values : collection of str
        Canonical texts that mean missing, beside the usual tokens.
    levels : collection of str
        Canonical texts that are values, even if they are among the usual tokens.
    decimal_comma : bool
        Whether `1,5` may be a number.

    Returns
    -------
    Cells
        The column with every distinct text judged.
    """
    plain = parse_numbers(column.texts)
    converted = _decimal_commas(column.texts, plain) if decimal_comma else None
    numbers = plain if converted is None else converted
    counts = np.bincount(column.codes, minlength=len(column.texts))
    missing = _missing(column.texts, numbers, NUMERIC_MISSING_TOKENS, na_values, levels)
    if numeric is None:
        numeric = _numeric_fraction(counts, numbers, missing) >= MOSTLY_NUMERIC
    if numeric:
        return Cells(column, counts, missing, numbers, is_numeric=True, has_decimal_commas=converted is not None)
    missing = _missing(column.texts, plain, MISSING_TOKENS, na_values, levels)
    return Cells(column, counts, missing, plain, is_numeric=False, has_decimal_commas=False)


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
    if levels:
        missing &= ~_is_in(texts, levels) & ~np.isin(numbers, [parse_number(level) for level in levels])
    return missing


def _is_in(texts: pa.Array, values: Collection[str]) -> NDArray[np.bool_]:
    return np.asarray(pc.is_in(texts, pa.array(sorted(values), texts.type)), dtype=np.bool_)


def _decimal_commas(texts: pa.Array, numbers: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """The numbers with decimal commas read; None where there is no such cell or a point is used as well."""
    commas = np.asarray(pc.match_substring_regex(texts, _DECIMAL_COMMA), dtype=np.bool_)
    points = np.asarray(pc.match_substring(texts, "."), dtype=np.bool_) & np.isfinite(numbers)
    if not commas.any() or points.any():
        return None
    numbers = numbers.copy()
    numbers[commas] = parse_numbers(pc.replace_substring(texts.filter(pa.array(commas)), ",", "."))
    return numbers
