"""A file's cells before interpretation: each column as its distinct texts and a code per row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from autoprog.cohort.canonical import short
from autoprog.cohort.messages import count_text, listed
from autoprog.cohort.names import HIDDEN, is_hidden
from autoprog.cohort.spec_values import MAX_COLUMNS, MAX_NAME
from autoprog.errors import Fault


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """Maximum size of a file.

    Attributes
    ----------
    decompressed_bytes : int
        Bytes after decompression.
    cells : int
        Rows times columns.
    rows : int
        Lines of a CSV file, rows of a Parquet file.
    columns : int
        Columns.
    """

    decompressed_bytes: int = 512 * 1024 * 1024
    cells: int = 50_000_000
    rows: int = 5_000_000
    columns: int = MAX_COLUMNS


@dataclass(frozen=True, eq=False)
class Column:
    """One column as distinct texts and codes."""

    name: str  # stripped
    texts: pa.Array  # distinct and stripped; an empty text is an empty cell
    codes: NDArray[np.int64]  # index in `texts`, shape = (n_rows,)

    @classmethod
    def of(cls, name: str, cells: pa.Array) -> Column:
        """Encode cells (null is empty) as distinct texts; raises an Arrow error if their type does not cast to text."""
        if not pa.types.is_dictionary(cells.type):
            cells = cells.dictionary_encode()
        texts = pc.fill_null(pc.cast(cells.dictionary, pa.large_string()), "")
        texts = pa.concat_arrays([pc.utf8_trim_whitespace(texts), pa.array([""], pa.large_string())])
        codes = pc.fill_null(pc.cast(cells.indices, pa.int64()), len(texts) - 1)
        return cls(name, texts, np.asarray(codes)).compact()

    def compact(self) -> Column:
        """Drop the texts that no row has."""
        used = np.bincount(self.codes, minlength=len(self.texts)) > 0
        if used.all():
            return self
        new_codes = np.cumsum(used) - 1
        return Column(self.name, self.texts.filter(pa.array(used)), new_codes[self.codes])

    def take(self, rows: NDArray[np.intp]) -> Column:
        """Select rows, in this order."""
        return Column(self.name, self.texts, self.codes[rows]).compact()


@dataclass(frozen=True, eq=False)
class Table:
    """The readable rows of a file."""

    columns: Mapping[str, Column]
    # line where each row of a CSV file starts (the header is line 1); row number from 1 in Parquet
    lines: NDArray[np.int64]
    decimal_comma: bool = False  # whether commas can be decimal, as they do not separate cells

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.lines)

    def take(self, rows: NDArray[np.intp]) -> Table:
        """Select rows, in this order; the table itself if nothing changes."""
        if np.array_equal(rows, np.arange(self.n_rows)):
            return self
        columns = {name: column.take(rows) for name, column in self.columns.items()}
        return Table(columns, self.lines[rows], self.decimal_comma)


@dataclass(frozen=True, eq=False)
class Parsed:
    """The content of a file and its structural faults."""

    names: tuple[str, ...]  # column names; empty without a readable header
    table: Table | None  # sound rows of uniquely named columns; None if too few to judge
    faults: tuple[Fault, ...]


def name_faults(names: Sequence[str], limits: ReadLimits) -> list[Fault]:
    """List a header's faults: too many columns; names that are empty, too long, repeated or have hidden characters."""
    faults: list[Fault] = []
    if len(names) > limits.columns:
        faults.append(too_many_columns(len(names), limits))
    nameless = [i for i, name in enumerate(names, 1) if not name]
    if nameless:
        which = listed((str(i) for i in nameless), len(nameless))
        faults.append(Fault("/file", f"{count_text(len(nameless), 'column')} without a name: number {which}"))
    long = [i for i, name in enumerate(names, 1) if len(name) > MAX_NAME]
    if long:
        which = listed((str(i) for i in long), len(long))
        faults.append(Fault("/file", f"columns with a name of more than {MAX_NAME} characters: number {which}"))
    hidden = [i for i, name in enumerate(names, 1) if is_hidden(name)]
    if hidden:
        which = listed((str(i) for i in hidden), len(hidden))
        faults.append(Fault("/file", f"a column's name {HIDDEN}: number {which}"))
    places: dict[str, list[int]] = {}
    for i, name in enumerate(names, 1):
        places.setdefault(name, []).append(i)
    repeated = {name: at for name, at in places.items() if name and len(at) > 1}
    if repeated:
        which = listed((f"{short(n, 60)} ({len(at)} times)" for n, at in repeated.items()), len(repeated))
        faults.append(Fault("/file", f"column names must differ; repeated are {which}"))
    return faults


def too_many_columns(n: int, limits: ReadLimits) -> Fault:
    """Fault of a file with too many columns."""
    return Fault("/file", f"the file has {n:,} columns; at most {limits.columns:,} are read")


def usable_columns(names: Sequence[str]) -> dict[str, int]:
    """Index of each usable name's first column; empty and long names are left out."""
    first: dict[str, int] = {}
    for i, name in enumerate(names):
        if name and len(name) <= MAX_NAME:
            first.setdefault(name, i)
    return first
